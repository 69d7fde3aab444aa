// The clocks of real drivers, compared with the host's in each of the ways that drivers offer: the better one that this
// machine's drivers have, and the one for drivers that lack it.
#include <gtest/gtest.h>

#include <ctime>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/opencl/opencl_context.h"
#include "device/vulkan/vulkan_work.h"

namespace opd {
namespace {

int64_t now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The clock of the driver is one of the host's: so what was found out can be compared with the truth.
void expect_true(const DeviceMoment &moment, clockid_t clock) {
  const ClockCalibration line = ClockCalibration::measure(tick_clock());
  const int64_t before = now(CLOCK_MONOTONIC), device = now(clock), after = now(CLOCK_MONOTONIC);
  const auto found = static_cast<int64_t>(line.ns_of(moment.ticks)) - static_cast<int64_t>(moment.device_ns);
  const auto error = static_cast<int64_t>(moment.error_ns) + 100;  // and of the line
  EXPECT_GE(found, before - device - error);
  EXPECT_LE(found, after - device + error);
}

// The times of work that the host gave and waited for within `around`.
void expect_within(const WorkTimes &times, TickInterval around, const char *method) {
  const ClockCalibration line = ClockCalibration::measure(tick_clock());
  EXPECT_EQ(name_text(times.clock.method), method);
  ASSERT_NE(times.clock.error_ns, DeviceMoment::kNotKnown);
  EXPECT_GT(times.clock.error_ns, 0u);
  EXPECT_NE(times.clock.device_ns, DeviceMoment::kNotKnown);
  const auto error = static_cast<double>(times.clock.error_ns);
  EXPECT_GE(line.ns_of(times.work.begin), line.ns_of(around.begin) - error);
  EXPECT_LE(line.ns_of(times.work.end), line.ns_of(around.end) + error);
  EXPECT_LE(times.work.begin, times.work.end);
}

// Contexts of devices are never destroyed.
template <class T>
T &kept(T *context) {
  static auto &all = *new std::vector<T *>;
  all.push_back(context);
  return *context;
}

TickInterval since(uint64_t begin) { return {begin, ticks_of(tick_clock())}; }

class AVulkanClock : public testing::TestWithParam<bool> {};

TEST_P(AVulkanClock, StatesItsError) {
  if (const std::string absence = absence_of({kDLVulkan, 0}); !absence.empty()) GTEST_SKIP() << absence;
  vk::DeviceFacts facts = vk::list_devices(vk::Api::get())[0];
  if (GetParam() && !facts.tells_time)
    GTEST_SKIP() << "the driver has no " << VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
  facts.tells_time = GetParam();
  auto *const context = &kept(new vk::DeviceContext(facts, 0));
  vk::Stream main(*context);
  for (int i = 0; i < 3; ++i) {
    const uint64_t begin = ticks_of(tick_clock());
    const auto work = vk::VulkanWork::make(*context, main);
    ASSERT_NE(work, nullptr);
    const vk::Mark mark{*work->queries()};
    work->set_end(main, main.submit([](vk::Stream::Work &) {}, &mark));
    const TickInterval launch = since(begin);
    WorkTimes times;
    ASSERT_TRUE(work->finish(launch, times));
    expect_within(times, since(begin), GetParam() ? "VK_EXT_calibrated_timestamps" : "bracketed timestamp queries");
    if (std::string_view(facts.properties.deviceName).starts_with("llvmpipe"))
      expect_true(times.clock, CLOCK_MONOTONIC);
  }
  main.sync();
}

INSTANTIATE_TEST_SUITE_P(, AVulkanClock, testing::Bool(),
                         [](const auto &chosen) { return chosen.param ? "ThatTheDriverTells" : "ThatQueriesNote"; });

// PoCL does not tell the device's time, so this does it in its place.
constexpr clockid_t kOfPocl = CLOCK_MONOTONIC_RAW;
cl_int tell_time(cl_device_id, uint64_t *device_ns, uint64_t *host_ns) {
  *device_ns = static_cast<uint64_t>(now(kOfPocl)), *host_ns = monotonic_ns();
  return CL_SUCCESS;
}
cl_int refuse(cl_device_id, uint64_t *, uint64_t *) { return -59; }

class AnOpenClClock : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (const std::string absence = absence_of({kDLOpenCL, 0}); !absence.empty()) GTEST_SKIP() << absence;
    const_cast<cl::Api &>(cl::Api::get()).clGetDeviceAndHostTimer = GetParam() ? tell_time : refuse;
  }
};

TEST_P(AnOpenClClock, StatesItsError) {
  const cl::Api &api = cl::Api::get();
  auto *const context = &kept(new cl::DeviceContext(cl::list_devices(api)[0], 0));
  cl_int status = CL_SUCCESS;
  const cl_mem buffer = api.clCreateBuffer(context->context(), CL_MEM_READ_WRITE, 64, nullptr, &status);
  for (int i = 0; i < 3; ++i) {
    float number = 5;
    const uint64_t begin = ticks_of(tick_clock());
    cl::OpenClWork work(*context);
    ASSERT_EQ(api.clEnqueueWriteBuffer(context->queue(nullptr), buffer, 0, 0, sizeof number, &number, 0, nullptr,
                                       work.place()),
              CL_SUCCESS);
    const TickInterval launch = since(begin);
    ASSERT_EQ(api.clFlush(context->queue(nullptr)), CL_SUCCESS);
    WorkTimes times;
    ASSERT_TRUE(work.finish(launch, times));
    expect_within(times, since(begin), GetParam() ? "clGetDeviceAndHostTimer" : "bracketed events");
    if (context->text(CL_DEVICE_VERSION).find("PoCL") != std::string::npos) expect_true(times.clock, kOfPocl);
  }
  api.clReleaseMemObject(buffer);
}

INSTANTIATE_TEST_SUITE_P(, AnOpenClClock, testing::Bool(),
                         [](const auto &chosen) { return chosen.param ? "ThatTheDriverTells" : "ThatEventsNote"; });

}  // namespace
}  // namespace opd
