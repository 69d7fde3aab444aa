// Bytes of kernels for Vulkan that may be anything: they are read and checked without the driver, which compiles at the
// first launch.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>

#include "device/device.h"
#include "device/vulkan/vulkan_stream.h"
#include "unit/device/empty_kernel.h"

namespace opd {
namespace {

constexpr DLDevice kVulkanDevice = {kDLVulkan, 0};

std::string text(const std::string &content) { return raw(uint64_t{content.size()}) + content; }

// The shortest kernel: its entry point and an empty function.
std::string spirv() {
  const uint32_t words[] = {0x07230203,    0x10300, 0,  10,         0,                     // header
                            2u << 16 | 17, 1,                                              // capability Shader
                            3u << 16 | 14, 0,       1,                                     // memory model
                            5u << 16 | 15, 5,       1,  0x6C616373, 0x65,                  // entry point "scale"
                            6u << 16 | 16, 1,       17, 1,          1,    1,               // a block of one thread
                            5u << 16 | 54, 2,       1,  0,          3,    1u << 16 | 56};  // a function and its end
  return {reinterpret_cast<const char *>(words), sizeof words};
}
std::string packed_kernel() { return raw(uint32_t{0}) + raw(uint64_t{spirv().size() / 4}) + spirv(); }
std::string one_kernel(bool has_size) {
  return raw(uint64_t{1}) + text("scale") + (has_size ? text(packed_kernel()) : packed_kernel());
}

class KernelsForVulkan : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (const std::string absence = absence_of(kVulkanDevice); !absence.empty()) GTEST_SKIP() << absence;
  }
  static void read(const std::string &code) {
    device_backend(kVulkanDevice).build(0, {"vulkan", code, "m.so"})->find("scale");
  }
};

TEST_P(KernelsForVulkan, AreRefusedWhereverTheyEnd) {
  const std::string good = one_kernel(GetParam());
  EXPECT_NO_THROW(read(good));
  for (size_t size = 0; size < good.size(); ++size) {
    const std::vector<char> part(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));  // sanitizers see its end
    EXPECT_THROW(read({part.begin(), part.end()}), Exception) << size;
  }
  EXPECT_THROW(read(good + "?"), Exception);
}

TEST_P(KernelsForVulkan, MayHaveAnyBytes) {
  const std::string good = one_kernel(GetParam());
  size_t refused = 0;
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
      try {
        read(changed);
      } catch (const Exception &e) {
        EXPECT_FALSE(std::string(e.what()).empty());
        ++refused;
      }
    }
  EXPECT_GT(refused, 4 * good.size());
}

TEST_P(KernelsForVulkan, HaveNamesOfTheirOwn) {
  const std::string kernels = GetParam() ? text("scale") + text(packed_kernel()) : text("scale") + packed_kernel();
  try {
    read(raw(uint64_t{2}) + kernels + kernels);
    ADD_FAILURE() << "accepted";
  } catch (const Exception &e) {
    EXPECT_NE(std::string(e.what()).find("a kernel's name"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("is there a second time"), std::string::npos) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, KernelsForVulkan, testing::Bool(),
                         [](const auto &info) { return info.param ? "WithSize" : "WithoutSize"; });

// A device whose limits are the test's. Contexts of devices are never destroyed.
class VulkanLimits : public testing::Test {
 protected:
  static constexpr int32_t kNumber = 7;
  void SetUp() override {
    if (const std::string absence = absence_of(kVulkanDevice); !absence.empty()) GTEST_SKIP() << absence;
    facts_ = vk::list_devices(vk::Api::get())[0];
  }
  void TearDown() override {
    if (main_) main_->sync();
  }
  VkPhysicalDeviceLimits &limits() { return facts_.properties.limits; }
  vk::DeviceContext &context() {
    static auto &all = *new std::vector<vk::DeviceContext *>;
    if (!main_) {
      all.push_back(new vk::DeviceContext(facts_, kNumber));
      main_.emplace(*all.back());
    }
    return *all.back();
  }
  std::unique_ptr<DeviceProgram> built(const EmptyKernel &kernel, bool has_uniform = false) {
    return vk::build_program(context(), *main_, {"vulkan", kernel.program(has_uniform), "m.so"});
  }
  static std::string refusal(opd_code code, const std::function<void()> &body) {
    try {
      body();
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->code, code) << e.what();
      return e.error()->message;
    }
    return "";
  }
  std::string found(const EmptyKernel &kernel) {
    return refusal(OPD_UNSUPPORTED, [&] { built(kernel)->find("scale"); });
  }
  std::string launched(opd_code code, const KernelLaunch &launch, bool has_uniform = false) {
    const auto program = built({}, has_uniform);
    return refusal(code, [&] { program->find("scale")->launch(nullptr, launch); });
  }
  // With tensors of 512 bytes from the offset on, and scalars.
  std::string launched_with(opd_code code, size_t num_tensors, size_t num_scalars, bool has_uniform = false,
                            size_t offset = 0) {
    constexpr size_t kBytes = 512;
    void *const begin =
        vk::buffers().add(vk::DeviceBuffer::make(context(), kBytes, vk::DeviceBuffer::Use::kTensor), kBytes, kNumber);
    const void *const address = static_cast<char *>(begin) + offset;
    const int64_t scalar = 5;
    std::vector<KernelArg> args(num_tensors, {&address, sizeof address, true});
    args.resize(num_tensors + num_scalars, {&scalar, sizeof scalar, false});
    KernelLaunch launch;
    launch.block = {4, 1, 1}, launch.args = args;
    std::string message = launched(code, launch, has_uniform);
    vk::buffers().remove(begin);
    return message;
  }
  vk::DeviceFacts facts_;

 private:
  std::optional<vk::Stream> main_;
};

TEST_F(VulkanLimits, AllowCodeOfTheDevicesVersion) {
  facts_.properties.apiVersion = VK_API_VERSION_1_2;
  EXPECT_EQ(found({.version = 0x10500}), "");
  EXPECT_EQ(found({.version = 0x10600}), "kernel scale of m.so is SPIR-V 1.6; vulkan:7 reads up to 1.5");
}

TEST_F(VulkanLimits, AllowNewerCodeOnANewerDevice) {
  facts_.properties.apiVersion = VK_API_VERSION_1_3;
  EXPECT_EQ(found({.version = 0x10600}), "");
  EXPECT_EQ(found({.version = 0x10700}), "kernel scale of m.so is SPIR-V 1.7; vulkan:7 reads up to 1.6");
}

TEST_F(VulkanLimits, RefuseCapabilitiesThatTheDeviceLacks) {
  facts_.features.shaderInt64 = 0, facts_.features.shaderFloat64 = 1;
  EXPECT_EQ(found({.capability = 10}), "");
  EXPECT_EQ(found({.capability = 11}),
            "kernel scale of m.so needs the SPIR-V capability Int64, which vulkan:7 does not have here");
}

TEST_F(VulkanLimits, ApplyToTheSizesAndTheThreadsOfABlock) {
  const uint32_t sizes[] = {4, 8, 2};
  std::copy_n(sizes, 3, limits().maxComputeWorkGroupSize);
  limits().maxComputeWorkGroupInvocations = 16;
  using Block = std::array<uint32_t, 3>;
  for (const Block &good : {Block{4, 4, 1}, {1, 8, 2}, {4, 1, 2}}) EXPECT_EQ(found({.block = good}), "");
  for (const Block &bad : {Block{5, 1, 1}, {1, 9, 1}, {1, 1, 3}, {4, 5, 1}, {4, 4, 2}, {65536, 65536, 1}})
    EXPECT_EQ(found({.block = bad}), concat("kernel scale of m.so has blocks of ", bad[0], " x ", bad[1], " x ", bad[2],
                                            " threads; vulkan:7 takes 16"));
}

TEST_F(VulkanLimits, RefuseLaunchesThatTheDriverWouldNotTake) {
  const uint32_t counts[] = {3, 4, 5};
  std::copy_n(counts, 3, limits().maxComputeWorkGroupCount);
  KernelLaunch launch;
  launch.block = {4, 1, 1};
  using Grid = std::array<uint32_t, 3>;
  for (const Grid &bad : {Grid{4, 1, 1}, {1, 5, 1}, {1, 1, 6}}) {
    launch.grid = bad;
    EXPECT_EQ(launched(OPD_INVALID_ARGUMENT, launch),
              concat("kernel scale cannot be launched with ", bad[0], " x ", bad[1], " x ", bad[2],
                     " blocks: vulkan:7 has at most 3 x 4 x 5"));
  }
  launch.grid = {3, 4, 5};
  EXPECT_EQ(launched(OPD_OK, launch), "");
  launch.dynamic_shared_bytes = 1;
  EXPECT_EQ(launched(OPD_UNSUPPORTED, launch),
            "kernel scale is launched with 1 bytes of shared memory; on Vulkan its size is part of the code");
  launch.block = {4, 1, 2};
  EXPECT_EQ(launched(OPD_INVALID_ARGUMENT, launch),
            "kernel scale was compiled for blocks of 4 x 1 x 1 threads, but is launched with 4 x 1 x 2");
}

TEST_F(VulkanLimits, ApplyToTheRestOfATensorFromItsOffset) {
  limits().maxStorageBufferRange = 256;
  limits().minStorageBufferOffsetAlignment = 64;
  EXPECT_EQ(launched_with(OPD_OK, 1, 0, false, 256), "");
  EXPECT_EQ(launched_with(OPD_OK, 1, 0, false, 448), "");
  for (const auto &[offset, left] : {std::pair{0, 512}, {192, 320}, {512, 0}})
    EXPECT_EQ(launched_with(OPD_INVALID_ARGUMENT, 1, 0, false, static_cast<size_t>(offset)),
              concat("argument 0 of kernel scale has ", left,
                     " bytes of its buffer; vulkan:7 allows 1 to 256 bytes of each buffer"));
  EXPECT_EQ(launched_with(OPD_INVALID_ARGUMENT, 1, 0, false, 288),
            "argument 0 of kernel scale begins 288 bytes into its buffer; vulkan:7 can begin at multiples of 64 only");
}

TEST_F(VulkanLimits, ApplyToTheNumberOfArguments) {
  limits().maxPushConstantsSize = 16, limits().maxUniformBufferRange = 24,
  limits().maxPerStageDescriptorStorageBuffers = 2;
  EXPECT_EQ(launched_with(OPD_OK, 2, 2), "");
  EXPECT_EQ(launched_with(OPD_OK, 2, 3, true), "");
  EXPECT_EQ(launched_with(OPD_UNSUPPORTED, 2, 3), "kernel scale has 3 scalars of 8 bytes; vulkan:7 takes 16 bytes");
  EXPECT_EQ(launched_with(OPD_UNSUPPORTED, 2, 4, true),
            "kernel scale has 4 scalars of 8 bytes; vulkan:7 takes 24 bytes");
  EXPECT_EQ(launched_with(OPD_UNSUPPORTED, 3, 0), "kernel scale has 3 tensors; vulkan:7 takes 2");
}

TEST_F(VulkanLimits, ApplyToAllResourcesTogether) {
  limits().maxPerStageDescriptorStorageBuffers = 5,
  limits().maxPerStageResources = 3;  // tensors and a buffer of scalars
  EXPECT_EQ(launched_with(OPD_OK, 2, 1, true), "");
  EXPECT_EQ(launched_with(OPD_UNSUPPORTED, 3, 0), "kernel scale has 3 tensors; vulkan:7 takes 2");
}

}  // namespace
}  // namespace opd
