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
  VkPhysicalDeviceType device_type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  uint32_t api_version = VK_API_VERSION_1_2;
  bool has_timelines = true;
  std::vector<VkQueueFamilyProperties> families = {{VK_QUEUE_COMPUTE_BIT, 1, 64, {}}};
  std::vector<std::string> extensions = {"VK_KHR_other", VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME};
  std::vector<VkTimeDomainEXT> domains = {VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT, VK_TIME_DOMAIN_DEVICE_EXT};
  VkResult of_extensions = VK_SUCCESS, of_domains = VK_SUCCESS;
};

class ListedVulkan : public testing::Test {
 protected:
  ListedVulkan() : real_(vk::Api::get()) {
    auto &api = const_cast<vk::Api &>(vk::Api::get());
    api.vkEnumeratePhysicalDevices = [](VkInstance, uint32_t *count, VkPhysicalDevice *out) -> VkResult {
      const std::vector<Physical> &all = *listed();
      for (size_t i = 0; out && i < all.size(); ++i)
        out[i] = reinterpret_cast<VkPhysicalDevice>(const_cast<Physical *>(&all[i]));
      return *count = static_cast<uint32_t>(all.size()), VK_SUCCESS;
    };
    api.vkGetPhysicalDeviceProperties2 = [](VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *out) {
      out->properties.apiVersion = of(physical).api_version, out->properties.deviceType = of(physical).device_type;
      std::strcpy(out->properties.deviceName, of(physical).name.c_str());
      if (!out->pNext) return;
      auto *const more = static_cast<VkPhysicalDeviceVulkan11Properties *>(out->pNext);
      more->subgroupSize = 7;
      std::strcpy(static_cast<VkPhysicalDeviceVulkan12Properties *>(more->pNext)->driverInfo, "a driver");
    };
    api.vkGetPhysicalDeviceFeatures2 = [](VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *out) {
      out->features.shaderInt64 = 1;
      auto *const more = static_cast<VkPhysicalDeviceVulkan11Features *>(out->pNext);
      more->storagePushConstant16 = 1;
      static_cast<VkPhysicalDeviceVulkan12Features *>(more->pNext)->timelineSemaphore = of(physical).has_timelines;
    };
    api.vkGetPhysicalDeviceMemoryProperties = [](VkPhysicalDevice, VkPhysicalDeviceMemoryProperties *out) {
      out->memoryTypeCount = 3;
    };
    api.vkGetPhysicalDeviceQueueFamilyProperties = [](VkPhysicalDevice physical, uint32_t *count,
                                                      VkQueueFamilyProperties *out) {
      const auto &families = of(physical).families;
      for (uint32_t i = 0; out && i < *count; ++i) out[i] = families.at(i);
      *count = static_cast<uint32_t>(families.size());
    };
    api.vkEnumerateDeviceExtensionProperties = [](VkPhysicalDevice physical, const char *, uint32_t *count,
                                                  VkExtensionProperties *out) {
      const auto &names = of(physical).extensions;
      for (uint32_t i = 0; out && i < *count; ++i) std::strcpy(out[i].extensionName, names.at(i).c_str());
      *count = static_cast<uint32_t>(names.size());
      return of(physical).of_extensions;
    };
    api.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT = [](VkPhysicalDevice physical, uint32_t *count,
                                                            VkTimeDomainEXT *out) {
      const auto &domains = of(physical).domains;
      for (uint32_t i = 0; out && i < *count; ++i) out[i] = domains.at(i);
      *count = static_cast<uint32_t>(domains.size());
      return of(physical).of_domains;
    };
    api.vkGetCalibratedTimestampsEXT = [](VkDevice, uint32_t, const VkCalibratedTimestampInfoEXT *, uint64_t *,
                                          uint64_t *) -> VkResult { return VK_SUCCESS; };
  }
  ~ListedVulkan() override {
    auto &api = const_cast<vk::Api &>(vk::Api::get());
#define OPD_RESTORE(name) api.name = real_.name;
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
  static const Physical &of(VkPhysicalDevice physical) { return *reinterpret_cast<const Physical *>(physical); }
  const vk::Api real_;
};

TEST_F(ListedVulkan, BeginsWithTheDevicesThatAreLikelyTheFastest) {
  std::vector<Physical> all;
  const auto add = [&](const std::string &name, int type) {
    all.emplace_back(), all.back().name = name, all.back().device_type = static_cast<VkPhysicalDeviceType>(type);
  };
  add("processor", VK_PHYSICAL_DEVICE_TYPE_CPU), add("unknown", 77), add("other", VK_PHYSICAL_DEVICE_TYPE_OTHER),
      add("first", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
  add("virtual", VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU), add("integrated", VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU),
      add("second", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
  std::string names;
  for (const vk::DeviceFacts &facts : list(all)) names += std::string(facts.properties.deviceName) + " ";
  EXPECT_EQ(names, "first second integrated virtual other processor unknown ");
  EXPECT_TRUE(list({}).empty());
}

TEST_F(ListedVulkan, NamesTheMissingFeatureOfADevice) {
  EXPECT_EQ(facts_of({}).unsupported, "");
  EXPECT_EQ(facts_of({.api_version = VK_API_VERSION_1_1}).unsupported, "Vulkan 1.2, but has 1.1");
  EXPECT_EQ(facts_of({.has_timelines = false}).unsupported, "timeline semaphores");
  EXPECT_EQ(facts_of({.families = {{1, 1, 64, {}}}}).unsupported, "a queue for compute work");
  EXPECT_EQ(facts_of({.families = {{VK_QUEUE_COMPUTE_BIT, 0, 64, {}}}}).unsupported, "a queue for compute work");
}

TEST_F(ListedVulkan, HasTheFactsOfEachDevice) {
  const vk::DeviceFacts facts = facts_of({.families = {{1, 1, 64, {}},
                                                       {VK_QUEUE_COMPUTE_BIT, 0, 63, {}},
                                                       {VK_QUEUE_COMPUTE_BIT | 4, 1, 36, {}},
                                                       {VK_QUEUE_COMPUTE_BIT, 1, 64, {}}}});
  EXPECT_EQ(facts.family, 2u) << "the first that can compute";
  EXPECT_EQ(facts.time_bits, 36u);
  EXPECT_NE(facts.physical, nullptr);
  EXPECT_EQ(facts.properties11.subgroupSize, 7u);
  EXPECT_STREQ(facts.properties12.driverInfo, "a driver");
  EXPECT_EQ(facts.features.shaderInt64, 1u);
  EXPECT_EQ(facts.features11.storagePushConstant16, 1u);
  EXPECT_EQ(facts.memory.memoryTypeCount, 3u);
  EXPECT_EQ(facts.properties11.pNext, nullptr) << "facts are copied";
  EXPECT_EQ(facts.features11.pNext, nullptr);
}

TEST_F(ListedVulkan, DetectsDevicesThatCanReportTheirTime) {
  EXPECT_TRUE(facts_of({}).tells_time);
  EXPECT_FALSE(facts_of({.families = {{VK_QUEUE_COMPUTE_BIT, 1, 0, {}}}}).tells_time);
  EXPECT_FALSE(facts_of({.extensions = {"VK_KHR_other"}}).tells_time);
  EXPECT_FALSE(
      facts_of({.domains = {VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT, VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT}}).tells_time);
  EXPECT_FALSE(facts_of({.of_extensions = VK_ERROR_OUT_OF_HOST_MEMORY}).tells_time);
  EXPECT_FALSE(facts_of({.of_domains = VK_ERROR_OUT_OF_HOST_MEMORY}).tells_time);
  auto &api = const_cast<vk::Api &>(vk::Api::get());
  const auto function = std::exchange(api.vkGetCalibratedTimestampsEXT, nullptr);
  EXPECT_FALSE(facts_of({}).tells_time) << "an older loader";
  api.vkGetCalibratedTimestampsEXT = function;
  api.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT = nullptr;
  EXPECT_FALSE(facts_of({}).tells_time);
}

// ---- OpenCL: platforms are numbers from 1 on, and devices those of their platform and kind

cl_device_id device_of(uintptr_t platform, uintptr_t kind, uintptr_t number) {
  return reinterpret_cast<cl_device_id>(100 * platform + 10 * kind + number);
}

class ListedOpenCl : public testing::Test {
 protected:
  static uint32_t num_platforms;
  ListedOpenCl() {
    api_.clGetPlatformIDs = [](uint32_t count, cl_platform_id *out, uint32_t *out_count) -> cl_int {
      if (!num_platforms) return -1001;
      for (uintptr_t i = 0; out && i < count; ++i) out[i] = reinterpret_cast<cl_platform_id>(i + 1);
      if (out_count) *out_count = num_platforms;
      return CL_SUCCESS;
    };
    // The first platform has processors only; the second has both; the third cannot list its GPUs.
    api_.clGetDeviceIDs = [](cl_platform_id given, uint64_t type, uint32_t count, cl_device_id *out,
                             uint32_t *out_count) -> cl_int {
      const auto platform = reinterpret_cast<uintptr_t>(given);
      const bool is_cpu = type == CL_DEVICE_TYPE_CPU;
      EXPECT_TRUE(is_cpu || type == (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR)) << type;
      const uint32_t there = platform == 1 ? is_cpu : platform == 2 ? (is_cpu ? 1 : 2) : 1;
      if (!there) return -1;
      if (out && platform == 3 && !is_cpu) return -5;
      for (uint32_t i = 0; out && i < count; ++i) out[i] = device_of(platform, is_cpu, i);
      if (out_count) *out_count = there;
      return CL_SUCCESS;
    };
  }
  cl::Api api_;
};
uint32_t ListedOpenCl::num_platforms = 3;

TEST_F(ListedOpenCl, BeginsWithTheGpusOfAllPlatforms) {
  num_platforms = 3;
  EXPECT_EQ(cl::list_devices(api_),
            (std::vector<cl_device_id>{device_of(2, 0, 0), device_of(2, 0, 1), device_of(1, 1, 0), device_of(2, 1, 0),
                                       device_of(3, 1, 0)}));
}

TEST_F(ListedOpenCl, IsEmptyWithoutADriver) {
  num_platforms = 0;
  EXPECT_TRUE(cl::list_devices(api_).empty());
}

}  // namespace
}  // namespace opd
