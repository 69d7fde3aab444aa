// What the library asks of Vulkan's driver: only what the specification allows, of kernels and copies in every form,
// and whichever call fails.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/vulkan/vulkan_stream.h"
#include "device/vulkan/vulkan_work.h"
#include "unit/device/checked_vulkan.h"
#include "unit/device/empty_kernel.h"

namespace opd::vk {
namespace {

using Alive = std::map<std::string, size_t>;

std::string kernels(bool has_uniform) { return EmptyKernel().program(has_uniform); }

// A device of the first driver's, whose calls are checked. Contexts of devices are never destroyed.
class VulkanCalls : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string absence = absence_of({kDLVulkan, 0}); !absence.empty()) GTEST_SKIP() << absence;
    facts_ = list_devices(Api::get())[0];
    checked_.emplace();
    checked_->family = facts_.family;
  }
  DeviceContext &context() {
    static auto &all = *new std::vector<DeviceContext *>;
    if (!context_) all.push_back(context_ = new DeviceContext(facts_, 7));
    return *context_;
  }
  void another() { context_ = nullptr, context(); }
  CheckedVulkan &checked() { return *checked_; }
  DeviceFacts facts_;

 private:
  std::optional<CheckedVulkan> checked_;
  DeviceContext *context_ = nullptr;
};

// A tensor's memory.
struct Memory {
  Memory(DeviceContext &context, size_t bytes) {
    auto made = DeviceBuffer::make(context, bytes, DeviceBuffer::Use::kTensor);
    EXPECT_NE(made, nullptr);
    buffer = made;
    address = static_cast<char *>(buffers().add(std::move(made), bytes, context.number()));
    place = [this, number = context.number()](size_t offset) { return buffers().find(address + offset, 0, number); };
  }
  ~Memory() { buffers().remove(address); }
  Memory(const Memory &) = delete;
  std::weak_ptr<DeviceBuffer> buffer;
  char *address;
  std::function<Place(size_t)> place;
};

// A stream whose work ends before it, also if a call of the driver failed.
struct OwnStream : Stream {
  OwnStream(DeviceContext &context, CheckedVulkan &c) : Stream(context), checked(c) {}
  ~OwnStream() {
    checked.fail_from(0);
    sync();
  }
  CheckedVulkan &checked;
};

// A launch with a tensor from an offset on, another tensor, and `num_scalars` scalars.
struct Arguments {
  Arguments(const Memory &first, size_t offset, const Memory &second, size_t num_scalars)
      : addresses{first.address + offset, second.address} {
    for (const void *const &address : addresses) args.push_back({&address, sizeof address, true});
    for (size_t i = 0; i < num_scalars; ++i) args.push_back({&scalar, sizeof scalar, false});
    launch.grid = {2, 3, 1}, launch.block = {4, 1, 1}, launch.args = args;
  }
  Arguments(const Arguments &) = delete;
  const void *addresses[2];
  float scalar = 5;
  std::vector<KernelArg> args;
  KernelLaunch launch;
};

std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

// Expects the known features if the device has them, `always` in any case, and no others. The features of a struct
// are all flags from `first` to `last`.
template <class F>
void expect_features(const F &asked, const F &there, VkBool32 F::*first, VkBool32 F::*last,
                     const std::vector<VkBool32 F::*> &known, VkBool32 F::*always = nullptr) {
  F rest = asked;
  for (VkBool32 F::*each : known) EXPECT_EQ(std::exchange(rest.*each, 0), there.*each);
  if (always) { EXPECT_EQ(std::exchange(rest.*always, 0), VkBool32{VK_TRUE}); }
  EXPECT_EQ(std::count(&(rest.*first), &(rest.*last) + 1, VK_FALSE), &(rest.*last) + 1 - &(rest.*first));
}

// Some features cost time.
TEST_F(VulkanCalls, AskForOneQueueAndTheFeaturesOfKernels) {
  const auto expect_all = [&] {
    const CheckedVulkan::Made &made = checked().devices.back();
    using Of10 = VkPhysicalDeviceFeatures;
    using Of11 = VkPhysicalDeviceVulkan11Features;
    using Of12 = VkPhysicalDeviceVulkan12Features;
    expect_features(made.features, facts_.features, &Of10::robustBufferAccess, &Of10::inheritedQueries,
                    {&Of10::pipelineStatisticsQuery, &Of10::shaderFloat64, &Of10::shaderInt64, &Of10::shaderInt16});
    expect_features(made.features11, facts_.features11, &Of11::storageBuffer16BitAccess, &Of11::shaderDrawParameters,
                    {&Of11::storageBuffer16BitAccess, &Of11::uniformAndStorageBuffer16BitAccess,
                     &Of11::storagePushConstant16, &Of11::variablePointersStorageBuffer, &Of11::variablePointers});
    expect_features(made.features12, facts_.features12, &Of12::samplerMirrorClampToEdge,
                    &Of12::subgroupBroadcastDynamicId,
                    {&Of12::storageBuffer8BitAccess, &Of12::uniformAndStorageBuffer8BitAccess,
                     &Of12::storagePushConstant8, &Of12::shaderBufferInt64Atomics, &Of12::shaderFloat16,
                     &Of12::shaderInt8, &Of12::vulkanMemoryModel, &Of12::vulkanMemoryModelDeviceScope},
                    &Of12::timelineSemaphore);
    EXPECT_EQ(made.num_extensions, facts_.tells_time ? 1u : 0u);
  };
  context();
  expect_all();
  EXPECT_EQ(context().lacks_capability(1), "") << "Shader";
  EXPECT_EQ(context().lacks_capability(5), "number 5");
  facts_.tells_time = false;
  facts_.features.shaderInt64 = 0, facts_.features11.storagePushConstant16 = 0, facts_.features12.shaderInt8 = 0;
  facts_.properties11.subgroupSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT,
  facts_.properties11.subgroupSupportedOperations = 1 | 8;
  another();
  expect_all();
  for (const auto &[number, lacking] : std::map<uint32_t, std::string>{{11, "Int64"},
                                                                       {4435, "StoragePushConstant16"},
                                                                       {39, "Int8"},
                                                                       {61, ""},
                                                                       {63, "GroupNonUniformArithmetic"},
                                                                       {64, ""}})
    EXPECT_EQ(context().lacks_capability(number), lacking);
  facts_.properties11.subgroupSupportedStages = 1;
  another();
  EXPECT_EQ(context().lacks_capability(61), "GroupNonUniform") << "which kernels cannot use";
}

TEST(VulkanErrors, AreOfMemoryIfTheDriverHasNone) {
  for (const int number : {-1, -2, -3, -4, -10, 1}) {
    const auto result = static_cast<VkResult>(number);
    try {
      check(result, "vkSome");
      ADD_FAILURE() << "no error";
    } catch (const Exception &e) {
      const bool is_of_memory = number == -1 || number == -2 || number == -10;
      EXPECT_EQ(e.error()->code, is_of_memory ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED) << number;
      EXPECT_EQ(e.error()->message, concat("vkSome returned ", result_name(result)));
    }
  }
  EXPECT_NO_THROW(check(VK_SUCCESS, "vkSome"));
}

TEST(VulkanErrors, SayWhichPackageHasADriver) {
  EXPECT_EQ(no_driver(),
            "the loader of Vulkan's drivers is here, but no driver that has a device (Debian: mesa-vulkan-drivers, or "
            "the vendor's)");
}

TEST(VulkanErrors, HaveTheNamesOfTheSpecification) {
  EXPECT_EQ(result_name(VK_ERROR_DEVICE_LOST), "VK_ERROR_DEVICE_LOST (-4)");
  EXPECT_EQ(result_name(VK_ERROR_OUT_OF_POOL_MEMORY), "VK_ERROR_OUT_OF_POOL_MEMORY (-1000069000)");
  EXPECT_EQ(result_name(static_cast<VkResult>(-9999)), "error -9999");
}

TEST_F(VulkanCalls, CopyAfterAllEarlierWork) {
  {
    OwnStream stream(context(), checked());
    const Memory first(context(), 400), second(context(), 400);
    const std::vector<float> values = counted(100);
    stream.write(values.data(), first.place(0), 400, nullptr);
    stream.copy(first.place(0), second.place(40), 360, nullptr);
    std::vector<float> back(90);
    stream.read(second.place(40), back.data(), 360, nullptr);
    EXPECT_EQ(back, counted(90));
    EXPECT_EQ(checked().submissions(), (std::vector<std::string>{"copy 400;", "copy 360;", "copy 360;"}));
    constexpr size_t kStage = size_t{4} << 20;  // bytes that are copied at a time
    const Memory large(context(), kStage + 8);
    std::vector<float> many = counted(kStage / 4 + 2), there(many.size());
    stream.write(many.data(), large.place(0), kStage + 8, nullptr);
    stream.read(large.place(0), there.data(), kStage + 8, nullptr);
    EXPECT_EQ(there, many);
    EXPECT_EQ(checked().submissions(),
              (std::vector<std::string>{"copy 4194304;", "copy 8;", "copy 4194304;", "copy 8;"}));
  }
  EXPECT_EQ(checked().alive(), Alive());
}

TEST_F(VulkanCalls, BindTheArgumentsOfAKernel) {
  {
    OwnStream main(context(), checked()), other(context(), checked());
    const Memory first(context(), 1024), second(context(), 64);
    for (const bool has_uniform : {false, true}) {
      const auto program = build_program(context(), main, {"vulkan", kernels(has_uniform), "m.so"});
      for (const size_t num_scalars : {0u, 3u}) {
        const auto kernel = program->find("scale");
        Arguments given(first, 256, second, num_scalars);
        kernel->launch(nullptr, given.launch);
        kernel->launch(&other, given.launch);
        other.sync();
        EXPECT_EQ(checked().submissions(), std::vector<std::string>(2, "dispatch 2 3 1;"));
        std::vector<uint64_t> bytes = {768, 64};  // the rest of each tensor
        if (has_uniform && num_scalars) bytes.push_back(8 * num_scalars);
        bytes.insert(bytes.end(), bytes.begin(), bytes.end());
        EXPECT_EQ(std::exchange(checked().bound, {}), bytes);
      }
      KernelLaunch none;
      none.block = {4, 1, 1};
      program->find("scale")->launch(nullptr, none);
      EXPECT_EQ(checked().submissions(), std::vector<std::string>{"dispatch 1 1 1;"});
    }
  }
  EXPECT_EQ(checked().alive(), Alive());
}

// Each submission costs microseconds, so launches that wait for others anyhow are given together.
TEST_F(VulkanCalls, AreSubmittedTogetherWhileTheDeviceIsBusy) {
  {
    OwnStream main(context(), checked());
    std::optional<Memory> first(std::in_place, context(), 1024), second(std::in_place, context(), 64);
    const auto program = build_program(context(), main, {"vulkan", kernels(true), "m.so"});
    const auto kernel = program->find("scale");
    checked().is_slow = true;
    {
      Arguments given(*first, 0, *second, 1);
      for (int i = 0; i < 100; ++i) kernel->launch(nullptr, given.launch);
    }
    std::string together;
    for (int i = 0; i < 64; ++i) together += "dispatch 2 3 1;";
    EXPECT_EQ(checked().submissions(), (std::vector<std::string>{"dispatch 2 3 1;", together}));
    EXPECT_EQ(checked().alive()["pool of sets"], 7u) << "of 16 sets each, since all are in use";
    const std::weak_ptr<DeviceBuffer> kept = first->buffer;
    first.reset(), second.reset();
    EXPECT_FALSE(kept.expired()) << "work that may run uses it";
    checked().is_slow = false;
    main.sync();
    EXPECT_TRUE(kept.expired());
    EXPECT_EQ(checked().submissions().size(), 1u);
    const Memory third(context(), 64), fourth(context(), 64);
    Arguments given(third, 0, fourth, 1);
    for (int i = 0; i < 100; ++i) kernel->launch(nullptr, given.launch);
    EXPECT_EQ(checked().alive()["pool of sets"], 7u) << "which are used again";
    EXPECT_EQ(checked().submissions().size(), 100u) << "at once, as the device has nothing else";
  }
  EXPECT_EQ(checked().alive(), Alive());
}

TEST_F(VulkanCalls, PutTwoTimesAroundTimedWork) {
  if (!facts_.time_bits) GTEST_SKIP() << "the device tells no times";
  facts_.tells_time = false;
  {
    OwnStream main(context(), checked());
    const Memory first(context(), 64), second(context(), 64);
    const auto program = build_program(context(), main, {"vulkan", kernels(false), "m.so"});
    const auto kernel = program->find("scale");
    Arguments given(first, 0, second, 0);
    std::vector<std::unique_ptr<PendingWork>> works;
    for (int i = 0; i < 65; ++i) works.push_back(kernel->launch_timed(nullptr, given.launch));
    EXPECT_EQ(checked().submissions(), std::vector<std::string>(65, "time;dispatch 2 3 1;time;"));
    const TickInterval launch{ticks_of(tick_clock()) - 1'000'000'000, ticks_of(tick_clock())};
    for (const auto &work : works) {
      WorkTimes times;
      ASSERT_TRUE(work->finish(launch, times));
      EXPECT_LE(times.work.begin, times.work.end);
    }
    EXPECT_EQ(checked().submissions(), std::vector<std::string>(3, "time;time;")) << "of comparing the clocks";
    const auto timed = VulkanWork::make(context(), main);
    std::vector<float> many(1 << 21);
    const Memory large(context(), many.size() * 4);
    main.write(many.data(), large.place(0), many.size() * 4, timed->queries());
    EXPECT_EQ(checked().submissions(), (std::vector<std::string>{"time;copy 4194304;", "copy 4194304;time;"}));
  }
  EXPECT_EQ(checked().alive(), Alive());
}

TEST_F(VulkanCalls, PutTheTimesOfATimerAroundItsWork) {
  if (!facts_.time_bits) GTEST_SKIP() << "the device tells no times";
  {
    OwnStream main(context(), checked()), other(context(), checked());
    const Memory first(context(), 64), second(context(), 64);
    const auto program = build_program(context(), main, {"vulkan", kernels(false), "m.so"});
    Arguments given(first, 0, second, 0);
    for (Stream *const stream : {static_cast<Stream *>(&main), static_cast<Stream *>(&other)}) {
      const auto timer = VulkanTimer::start(context(), main, *stream);
      program->find("scale")->launch(stream, given.launch);
      timer->stop();
      timer->elapsed_ns();
      EXPECT_EQ(checked().submissions(), (std::vector<std::string>{"time;", "dispatch 2 3 1;", "time;"}));
    }
    VulkanTimer::start(context(), main, main);  // ends while its time may not have come
  }
  EXPECT_EQ(checked().alive(), Alive());
  facts_.time_bits = 0;
  another();
  OwnStream main(context(), checked());
  EXPECT_EQ(VulkanTimer::start(context(), main, main), nullptr);
}

// Kernels of 2 x 3 blocks of 4 threads.
TEST_F(VulkanCalls, CountEachKernelByAQueryOfItsOwn) {
  if (!context().counts_invocations()) GTEST_SKIP() << "the device counts nothing";
  {
    OwnStream main(context(), checked());
    const Memory first(context(), 64), second(context(), 64);
    const auto program = build_program(context(), main, {"vulkan", kernels(false), "m.so"});
    const auto kernel = program->find("scale");
    Arguments given(first, 0, second, 0);
    const auto launch = [&](int times) {
      for (int i = 0; i < times; ++i) kernel->launch(nullptr, given.launch);
    };
    const auto stopped = [](VulkanCounters &counters) {
      const auto counts = counters.stop();
      EXPECT_EQ(counts.size(), 1u);
      EXPECT_EQ(counts.at(0).name, "Compute shader invocations");
      return counts.at(0).value;
    };
    launch(1);
    VulkanCounters all(context());
    launch(1);
    {
      VulkanCounters inner(context());
      launch(70);
      const auto timed = kernel->launch_timed(nullptr, given.launch);
      std::thread([&] { launch(1); }).join();  // whose kernels another thread's counters do not count
      EXPECT_EQ(stopped(inner), 71u * 24);
      VulkanCounters never_stopped(context());
      launch(1);
    }
    launch(1);
    EXPECT_EQ(stopped(all), 73u * 24) << "without those of counters that were not stopped";
    launch(1);
    std::vector<std::string> expected(77, "count(dispatch 2 3 1;);");
    for (const size_t plain : {0u, 73u, 76u}) expected[plain] = "dispatch 2 3 1;";
    if (facts_.time_bits) expected[72] = "time;count(dispatch 2 3 1;);time;";
    EXPECT_EQ(checked().submissions(), expected);
  }
  EXPECT_EQ(checked().alive(), Alive());
}

// A device whose clock has fewer bits, and counts in steps of 3 ns.
TEST_F(VulkanCalls, GiveTimesInNanoseconds) {
  if (!facts_.time_bits) GTEST_SKIP() << "the device tells no times";
  facts_.time_bits = 20, facts_.properties.limits.timestampPeriod = 3;
  OwnStream main(context(), checked());
  for (int i = 0; i < 3; ++i) {
    const auto work = VulkanWork::make(context(), main);
    const Mark mark{*work->queries()};
    main.wait(main.submit([](Stream::Work &) {}, &mark));
    uint64_t begin = 0, end = 0, times[2] = {};
    const bool is_good = context().read(mark.queries, begin, end);
    ASSERT_EQ(Api::get().vkGetQueryPoolResults(context().device(), mark.queries.pool, mark.queries.first, 2, 16, times,
                                               8, VK_QUERY_RESULT_64_BIT),
              VK_SUCCESS);
    EXPECT_EQ(begin, times[0] % (1 << 20) * 3);
    EXPECT_EQ(end, times[1] % (1 << 20) * 3);
    EXPECT_EQ(is_good, begin <= end) << "the counter may have begun anew";
    EXPECT_EQ(context().elapsed_ns(mark.queries), (times[1] - times[0]) % (1 << 20) * 3);
  }
}

TEST_F(VulkanCalls, RequestNoMoreMemoryThanThereIs) {
  using Use = DeviceBuffer::Use;
  facts_.properties11.maxMemoryAllocationSize = 4096;
  EXPECT_NE(DeviceBuffer::make(context(), 4080, Use::kTensor), nullptr);
  EXPECT_EQ(DeviceBuffer::make(context(), 4081, Use::kTensor), nullptr) << "16 bytes stay free";
  for (VkMemoryHeap &heap : facts_.memory.memoryHeaps) heap.size = 1024;
  another();
  EXPECT_NE(DeviceBuffer::make(context(), 512, Use::kTensor), nullptr);
  EXPECT_EQ(DeviceBuffer::make(context(), 2000, Use::kTensor), nullptr);
  for (VkMemoryType &type : facts_.memory.memoryTypes) type.propertyFlags = 0;
  another();
  EXPECT_NE(DeviceBuffer::make(context(), 512, Use::kTensor), nullptr) << "any memory does";
  for (const Use use : {Use::kStaging, Use::kScalars}) try {
      DeviceBuffer::make(context(), 512, use);
      ADD_FAILURE() << "made";
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->code, OPD_CALL_FAILED);
      EXPECT_EQ(e.error()->message, "vulkan:7 has no memory for buffers");
    }
  EXPECT_EQ(checked().alive(), Alive());
}

TEST_F(VulkanCalls, LeakNothingIfAnyOfThemFails) {
  context();
  const auto use = [&] {
    OwnStream main(context(), checked());
    const Memory first(context(), 1024), second(context(), 64);
    const std::vector<float> values = counted(16);
    std::vector<float> back(16);
    main.write(values.data(), second.place(0), 64, nullptr);
    const auto program = build_program(context(), main, {"vulkan", kernels(true), "m.so"});
    Arguments given(first, 0, second, 2);
    {
      std::optional<VulkanCounters> counters;
      if (context().counts_invocations()) counters.emplace(context());
      const auto timer = facts_.time_bits ? VulkanTimer::start(context(), main, main) : nullptr;
      program->find("scale")->launch(nullptr, given.launch);
      if (timer) timer->stop(), timer->elapsed_ns();
      if (counters) counters->stop();
    }
    main.copy(second.place(0), first.place(0), 64, nullptr);
    main.read(first.place(0), back.data(), 64, nullptr);
    EXPECT_EQ(back, values);
    main.sync();
    return checked().calls();
  };
  use();  // makes the pools of queries
  checked().fail_from(0);
  const int64_t calls = use();
  ASSERT_GT(calls, 30);
  for (int64_t nth = 1; nth <= calls; ++nth) {
    checked().fail_from(nth);
    try {
      use();
      ADD_FAILURE() << "call " << nth << " of " << calls << ", " << checked().failed();
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->code, OPD_CALL_FAILED);
      EXPECT_NE(e.error()->message.find("VK_ERROR_DEVICE_LOST (-4)"), std::string::npos) << e.error()->message;
      const bool is_of_a_buffer = e.error()->message.find("the allocation of a buffer returned ") == 0;
      if (!is_of_a_buffer) {
        EXPECT_NE(e.error()->message.find(checked().failed() + " returned "), std::string::npos) << e.error()->message;
      }
    }
    checked().fail_from(0);
    EXPECT_EQ(checked().alive(), Alive()) << "after call " << nth << ", " << checked().failed();
  }
  checked().submissions();
  use();
}

}  // namespace
}  // namespace opd::vk
