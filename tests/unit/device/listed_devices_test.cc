// Which devices of drivers the library lists, in which order and with which facts, from drivers that the test
// describes.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "device/opencl/opencl_context.h"
#include "device/vulkan/vulkan_context.h"

namespace opd {
namespace {

// ---- Vulkan

struct Physical {
  std::string name = "one";
  uint32_t device_type = vk::kDiscrete, api_version = vk::version(1, 2);
  bool has_timelines = true;
  std::vector<vk::QueueFamily> families = {{vk::kQueueCompute, 1, 64, {}}};
  std::vector<std::string> extensions = {"VK_KHR_other", vk::kCalibratedTimes};
  std::vector<uint32_t> domains = {1, vk::kDeviceDomain};
  vk::Result of_extensions = vk::kSuccess, of_domains = vk::kSuccess;
};

class ListedVulkan : public testing::Test {
 protected:
  ListedVulkan() : real_(vk::Api::get()) {
    auto &api = const_cast<vk::Api &>(vk::Api::get());
    api.vkEnumeratePhysicalDevices = [](vk::Instance *, uint32_t *count, vk::PhysicalDevice **out) -> vk::Result {
      const std::vector<Physical> &all = *listed();
      for (size_t i = 0; out && i < all.size(); ++i)
        out[i] = reinterpret_cast<vk::PhysicalDevice *>(const_cast<Physical *>(&all[i]));
      return *count = static_cast<uint32_t>(all.size()), vk::kSuccess;
    };
    api.vkGetPhysicalDeviceProperties2 = [](vk::PhysicalDevice *physical, vk::Properties *out) {
      out->api_version = of(physical).api_version, out->device_type = of(physical).device_type;
      std::strcpy(out->name, of(physical).name.c_str());
      if (!out->next) return;
      auto *const more = static_cast<vk::Properties11 *>(out->next);
      more->subgroup_size = 7;
      std::strcpy(static_cast<vk::Properties12 *>(more->next)->driver_info, "a driver");
    };
    api.vkGetPhysicalDeviceFeatures2 = [](vk::PhysicalDevice *physical, vk::Features *out) {
      out->flags[vk::kInt64] = 1;
      auto *const more = static_cast<vk::Features11 *>(out->next);
      more->flags[vk::kPush16] = 1;
      static_cast<vk::Features12 *>(more->next)->flags[vk::kTimelines] = of(physical).has_timelines;
    };
    api.vkGetPhysicalDeviceMemoryProperties = [](vk::PhysicalDevice *, vk::MemoryProperties *out) {
      out->type_count = 3;
    };
    api.vkGetPhysicalDeviceQueueFamilyProperties = [](vk::PhysicalDevice *physical, uint32_t *count,
                                                      vk::QueueFamily *out) {
      const auto &families = of(physical).families;
      for (uint32_t i = 0; out && i < *count; ++i) out[i] = families.at(i);
      *count = static_cast<uint32_t>(families.size());
    };
    api.vkEnumerateDeviceExtensionProperties = [](vk::PhysicalDevice *physical, const char *, uint32_t *count,
                                                  vk::ExtensionProperties *out) {
      const auto &names = of(physical).extensions;
      for (uint32_t i = 0; out && i < *count; ++i) std::strcpy(out[i].name, names.at(i).c_str());
      *count = static_cast<uint32_t>(names.size());
      return of(physical).of_extensions;
    };
    api.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT = [](vk::PhysicalDevice *physical, uint32_t *count,
                                                            uint32_t *out) {
      const auto &domains = of(physical).domains;
      for (uint32_t i = 0; out && i < *count; ++i) out[i] = domains.at(i);
      *count = static_cast<uint32_t>(domains.size());
      return of(physical).of_domains;
    };
    api.vkGetCalibratedTimestampsEXT = [](vk::LogicalDevice *, uint32_t, const vk::CalibratedTimeInfo *, uint64_t *,
                                          uint64_t *) -> vk::Result { return vk::kSuccess; };
  }
  ~ListedVulkan() override {
    auto &api = const_cast<vk::Api &>(vk::Api::get());
#define OPD_RESTORE(name, result, parameters) api.name = real_.name;
    OPD_VULKAN_FUNCTIONS(OPD_RESTORE)
    OPD_VULKAN_EXTENSION_FUNCTIONS(OPD_RESTORE)
#undef OPD_RESTORE
  }
  static std::vector<vk::DeviceFacts> list(const std::vector<Physical> &all) {
    listed() = &all;
    return vk::list_devices(vk::Api::get());
  }
  static vk::DeviceFacts facts_of(const Physical &one) { return list({one}).at(0); }

 private:
  static const std::vector<Physical> *&listed() {
    static const std::vector<Physical> *all = nullptr;
    return all;
  }
  static const Physical &of(vk::PhysicalDevice *physical) { return *reinterpret_cast<const Physical *>(physical); }
  const vk::Api real_;
};

TEST_F(ListedVulkan, BeginsWithTheDevicesThatAreLikelyTheFastest) {
  std::vector<Physical> all;
  const auto add = [&](const std::string &name, uint32_t type) {
    all.emplace_back(), all.back().name = name, all.back().device_type = type;
  };
  add("processor", vk::kProcessor), add("unknown", 77), add("other", vk::kOther), add("first", vk::kDiscrete);
  add("virtual", vk::kVirtual), add("integrated", vk::kIntegrated), add("second", vk::kDiscrete);
  std::string names;
  for (const vk::DeviceFacts &facts : list(all)) names += std::string(facts.properties.name) + " ";
  EXPECT_EQ(names, "first second integrated virtual other processor unknown ");
  EXPECT_TRUE(list({}).empty());
}

TEST_F(ListedVulkan, SaysWhatADeviceLacks) {
  EXPECT_EQ(facts_of({}).unsupported, "");
  EXPECT_EQ(facts_of({.api_version = vk::version(1, 1)}).unsupported, "Vulkan 1.2, but has 1.1");
  EXPECT_EQ(facts_of({.has_timelines = false}).unsupported, "timeline semaphores");
  EXPECT_EQ(facts_of({.families = {{1, 1, 64, {}}}}).unsupported, "a queue for compute work");
  EXPECT_EQ(facts_of({.families = {{vk::kQueueCompute, 0, 64, {}}}}).unsupported, "a queue for compute work");
}

TEST_F(ListedVulkan, HasTheFactsOfEachDevice) {
  const vk::DeviceFacts facts = facts_of({.families = {{1, 1, 64, {}},
                                                       {vk::kQueueCompute, 0, 63, {}},
                                                       {vk::kQueueCompute | 4, 1, 36, {}},
                                                       {vk::kQueueCompute, 1, 64, {}}}});
  EXPECT_EQ(facts.family, 2u) << "the first that can compute";
  EXPECT_EQ(facts.time_bits, 36u);
  EXPECT_NE(facts.physical, nullptr);
  EXPECT_EQ(facts.properties11.subgroup_size, 7u);
  EXPECT_STREQ(facts.properties12.driver_info, "a driver");
  EXPECT_EQ(facts.features.flags[vk::kInt64], 1u);
  EXPECT_EQ(facts.features11.flags[vk::kPush16], 1u);
  EXPECT_EQ(facts.memory.type_count, 3u);
  EXPECT_EQ(facts.properties.next, nullptr) << "facts are copied";
  EXPECT_EQ(facts.properties11.next, nullptr);
  EXPECT_EQ(facts.features.next, nullptr);
  EXPECT_EQ(facts.features11.next, nullptr);
}

TEST_F(ListedVulkan, KnowsWhetherADeviceTellsItsTime) {
  EXPECT_TRUE(facts_of({}).tells_time);
  EXPECT_FALSE(facts_of({.families = {{vk::kQueueCompute, 1, 0, {}}}}).tells_time);
  EXPECT_FALSE(facts_of({.extensions = {"VK_KHR_other"}}).tells_time);
  EXPECT_FALSE(facts_of({.domains = {1, 2}}).tells_time);
  EXPECT_FALSE(facts_of({.of_extensions = -1}).tells_time);
  EXPECT_FALSE(facts_of({.of_domains = -1}).tells_time);
  auto &api = const_cast<vk::Api &>(vk::Api::get());
  const auto function = std::exchange(api.vkGetCalibratedTimestampsEXT, nullptr);
  EXPECT_FALSE(facts_of({}).tells_time) << "an older loader";
  api.vkGetCalibratedTimestampsEXT = function;
  api.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT = nullptr;
  EXPECT_FALSE(facts_of({}).tells_time);
}

// ---- OpenCL: platforms are numbers from 1 on, and devices those of their platform and kind

cl::Device *device_of(uintptr_t platform, uintptr_t kind, uintptr_t number) {
  return reinterpret_cast<cl::Device *>(100 * platform + 10 * kind + number);
}

class ListedOpenCl : public testing::Test {
 protected:
  static uint32_t num_platforms;
  ListedOpenCl() {
    api_.clGetPlatformIDs = [](uint32_t count, cl::Platform **out, uint32_t *out_count) -> cl::Status {
      if (!num_platforms) return -1001;
      for (uintptr_t i = 0; out && i < count; ++i) out[i] = reinterpret_cast<cl::Platform *>(i + 1);
      if (out_count) *out_count = num_platforms;
      return cl::kSuccess;
    };
    // The first platform has processors only; the second has both; the third cannot list its GPUs.
    api_.clGetDeviceIDs = [](cl::Platform *given, uint64_t type, uint32_t count, cl::Device **out,
                             uint32_t *out_count) -> cl::Status {
      const auto platform = reinterpret_cast<uintptr_t>(given);
      const bool is_cpu = type == cl::kCpu;
      EXPECT_TRUE(is_cpu || type == (cl::kGpu | cl::kAccelerator)) << type;
      const uint32_t there = platform == 1 ? is_cpu : platform == 2 ? (is_cpu ? 1 : 2) : 1;
      if (!there) return -1;
      if (out && platform == 3 && !is_cpu) return -5;
      for (uint32_t i = 0; out && i < count; ++i) out[i] = device_of(platform, is_cpu, i);
      if (out_count) *out_count = there;
      return cl::kSuccess;
    };
  }
  cl::Api api_;
};
uint32_t ListedOpenCl::num_platforms = 3;

TEST_F(ListedOpenCl, BeginsWithTheGpusOfAllPlatforms) {
  num_platforms = 3;
  EXPECT_EQ(cl::list_devices(api_),
            (std::vector<cl::Device *>{device_of(2, 0, 0), device_of(2, 0, 1), device_of(1, 1, 0), device_of(2, 1, 0),
                                       device_of(3, 1, 0)}));
}

TEST_F(ListedOpenCl, IsEmptyWithoutADriver) {
  num_platforms = 0;
  EXPECT_TRUE(cl::list_devices(api_).empty());
}

}  // namespace
}  // namespace opd
