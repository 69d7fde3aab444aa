// A device that fails at any point: errors reach the caller, nothing hangs, and nothing is lost. The simulated device
// fails each of its functions in turn, from the nth call on.
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/kernels.h"
#include "support/opdyno_test.h"
#include "support/report_test.h"

using namespace opdyno_test;

namespace {

class AFaultyDevice : public testing::Test {
 protected:
  void TearDown() override { SimulatedDevice::get().fail_from(0); }
};

// Of the calling thread, while it lives.
class CurrentStream {
 public:
  CurrentStream(DLDevice device, void *stream) : device_(device), before_(opdyno::set_stream(device, stream)) {}
  ~CurrentStream() { opdyno::set_stream(device_, before_); }

 private:
  const DLDevice device_;
  void *const before_;
};

}  // namespace

TEST_F(AFaultyDevice, GivesAnErrorAndLosesNothing) {
  SimulatedDevice &simulated = SimulatedDevice::get();
  const DLDevice device = simulated.device();
  const auto use = [&] {  // everything: memory, copies, streams, a build, launches, a VM
    const opdyno::Stream stream(device);
    const Module kernels = kernels_or_none("faults");
    const Vm vm = vm_on(device, kernels);
    const Value result = vm.call("main", on(device, {1, 2, 3, 4}));
    EXPECT_EQ(read(Tensor::of(result)), (std::vector<float>{17, 26, 35, 44}));
    {  // memory that the default stream used
      const CurrentStream current(device, stream.get());
      EXPECT_EQ(read(Tensor::of(vm.call("main", on(device, {2, 2, 2, 2})))), std::vector<float>(4, 26));
    }
    opdyno::sync(device);
  };
  use();
  opdyno::trim_memory(device);
  const SimulatedDevice::Counts before = simulated.counts();
  simulated.fail_from(0);
  use();
  const int64_t calls = simulated.calls();
  ASSERT_GT(calls, 8);
  for (int64_t nth = 1; nth <= calls; ++nth) {
    simulated.fail_from(nth);
    if (nth < calls) EXPECT_THROW(use(), Error) << "call " << nth << " of " << calls;
    else use();  // the stream's end, of which a destructor cannot tell
    simulated.fail_from(0);
    opdyno::trim_memory(device);
    EXPECT_EQ(simulated.counts(), before) << "after call " << nth << " of " << calls;
  }
  use();
}

TEST_F(AFaultyDevice, NamesTheOperatorWhoseLaunchFailed) {
  const DLDevice device = SimulatedDevice::get().device();
  const Vm vm = vm_on(device, kernels_or_none("launch"));
  const Tensor x = on(device, {1, 2, 3, 4});
  vm.call("main", x);
  SimulatedDevice::get().fail_from(1);
  expect_throws([&] { vm.call("main", x); }, OPD_CALL_FAILED, "scale");
  SimulatedDevice::get().fail_from(0);
  EXPECT_EQ(read(Tensor::of(vm.call("main", x))), (std::vector<float>{17, 26, 35, 44}));
}

// Work that has no times is counted.
TEST_F(AFaultyDevice, HasAllItsWorkInTracesOrIsCounted) {
  SimulatedDevice &simulated = SimulatedDevice::get();
  const DLDevice device = simulated.device();
  const Vm vm = vm_on(device, kernels_or_none("lost"));
  const Tensor x = on(device, {1, 2, 3, 4});
  vm.call("main", x);
  const SimulatedDevice::Counts before = simulated.counts();
  simulated.set_latency(std::chrono::milliseconds(20));
  const opdyno::Profiler profiler;
  profiler.start();
  const Value result = vm.call("main", x);
  simulated.fail_from(1);  // the questions for the times
  const opdyno::Trace trace = profiler.stop();
  simulated.fail_from(0);
  simulated.set_latency({});
  const Report averages = trace.averages();
  double found = 0;
  for (size_t row = 0; row < averages.count(OPD_REPORT_CALLS); ++row)
    if (text_value(call_value(averages, row, "Kind")) == "device")
      found += number_of(call_value(averages, row, "Count"));
  EXPECT_EQ(found + static_cast<double>(trace.dropped()), 2) << averages.write(OPD_REPORT_CSV);
  EXPECT_GE(trace.dropped(), 1u);
  EXPECT_EQ(read(Tensor::of(result)), (std::vector<float>{17, 26, 35, 44})) << "the work itself was done";
  EXPECT_EQ(simulated.counts().events, before.events);
}

// Each function of the device fails in turn while its work is recorded.
TEST_F(AFaultyDevice, LosesNothingWhileItIsRecorded) {
  SimulatedDevice &simulated = SimulatedDevice::get();
  const DLDevice device = simulated.device();
  const Module kernels = kernels_or_none("recorded");
  const Tensor x = on(device, {1, 2, 3, 4});
  vm_on(device, kernels).call("main", x);
  opdyno::trim_memory(device);
  const SimulatedDevice::Counts before = simulated.counts();
  const auto use = [&] {
    const Vm vm = vm_on(device, kernels);
    const opdyno::Profiler profiler;
    profiler.start();
    bool failed = false;
    try {
      EXPECT_EQ(read(Tensor::of(vm.call("main", x))), (std::vector<float>{17, 26, 35, 44}));
    } catch (const Error &) { failed = true; }
    simulated.fail_from(0);
    EXPECT_TRUE(profiler.stop());
    return failed;
  };
  simulated.fail_from(0);
  EXPECT_FALSE(use());
  int failures = 0;
  for (int64_t nth = 1; nth <= 40; ++nth) {
    simulated.fail_from(nth);
    failures += use();
    opdyno::trim_memory(device);
    EXPECT_EQ(simulated.counts(), before) << "after call " << nth;
  }
  EXPECT_GT(failures, 5);
}

// What its parent gave to a device is the parent's.
TEST_F(AFaultyDevice, LeavesAChildOfForkAnEmptyTrack) {
  SimulatedDevice &simulated = SimulatedDevice::get();
  const Vm vm = vm_on(simulated.device(), kernels_or_none("fork"));
  const Tensor x = on(simulated.device(), {1, 2, 3, 4});
  simulated.set_latency(std::chrono::milliseconds(20));
  const opdyno::Profiler profiler;
  profiler.start();
  const Value result = vm.call("main", x);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const opdyno::Trace trace = profiler.stop();
    _exit(trace.write(OPD_TRACE_CHROME).find("\"kernel\"") == std::string::npos ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(profiler.stop().chrome().find("\"kernel\""), std::string::npos);
  simulated.set_latency({});
}

TEST_F(AFaultyDevice, IsRegisteredOnceAndCompletely) {
  opd_device_table table{};
  table.struct_size = sizeof table;
  expect_throws([&] { opdyno::register_device("vpi2", table); }, OPD_INVALID_ARGUMENT, "get_attr");
  table.get_attr = [](void *, int32_t, opd_device_attr attr, opd_value *out) -> opd_error * {
    if (attr == OPD_ATTR_EXIST) *out = opd_bool(0);
    if (attr == OPD_ATTR_ABSENCE) return opd_string_create("it is on another desk", 21, out);
    return nullptr;
  };
  table.allocate = [](void *, int32_t, uint64_t, uint64_t) -> void * { return nullptr; };
  table.deallocate = [](void *, int32_t, void *, uint64_t) {};
  table.copy = [](void *, const void *, DLDevice, void *, DLDevice, uint64_t, void *) -> opd_error * {
    return nullptr;
  };
  table.sync = [](void *, int32_t, void *, int) -> opd_error * { return nullptr; };
  for (const char *name : {"", "Big", "with space", "9lives", "a:b", "a_name_that_is_longer_than_32_letters"})
    expect_throws([&] { opdyno::register_device(name, table); }, OPD_INVALID_ARGUMENT, "named by");
  for (const char *taken : {"cpu", "opencl", "vpi"}) {
    SimulatedDevice::get();
    expect_throws([&] { opdyno::register_device(taken, table); }, OPD_ALREADY_EXISTS, taken);
  }
  table.launch = [](void *, int32_t, void *, const opd_kernel_launch *) -> opd_error * { return nullptr; };
  expect_throws([&] { opdyno::register_device("half", table); }, OPD_INVALID_ARGUMENT, "all of build");
  table.launch = nullptr;
  table.struct_size = 4;
  expect_throws([&] { opdyno::register_device("short", table); }, OPD_INVALID_ARGUMENT, "struct_size");
  table.struct_size = offsetof(opd_device_table, allocate);  // of a header that has no more
  expect_throws([&] { opdyno::register_device("short", table); }, OPD_INVALID_ARGUMENT, "must have get_attr, allocate");
  table.struct_size = sizeof table;

  const DLDeviceType type = opdyno::register_device("far_away", table);
  EXPECT_GE(type, 48);
  EXPECT_EQ(opdyno::to_string(DLDevice{type, 3}), "far_away:3");
  EXPECT_EQ(opdyno::device_of("far_away:3").device_type, type);
  expect_throws(
      [&] {
        Tensor({1}, "float32", DLDevice{type, 0});
      },
      OPD_UNSUPPORTED, "there is no device far_away:0: it is on another desk; this process has cpu:0 to cpu:63");
  expect_throws([&] { opdyno::register_device("far_away", table); }, OPD_ALREADY_EXISTS, "far_away");
}
