// The simulated device fails each of its functions in turn, from the nth call on.
#include "conformance/faults.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "conformance/memory_table.h"
#include "support/opdyno_test.h"
#include "support/report_test.h"

using namespace opdyno_test;

namespace {

class AFaultyDevice : public testing::Test {
 protected:
  void TearDown() override { SimulatedDevice::get().fail_from(0); }
};

}  // namespace

TEST_F(AFaultyDevice, GivesAnErrorAndLosesNothing) {
  SimulatedDevice &simulated = SimulatedDevice::get();
  expect_errors_and_no_loss(simulated.device(), simulated);
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
  expect_no_loss_while_recorded(simulated.device(), simulated);
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

TEST_F(AFaultyDevice, IsGivenAllThatALaunchSays) {
  static opd_kernel_launch launched;
  SimulatedDevice &simulated = SimulatedDevice::get();
  simulated.define("noted", [](SimulatedDevice &, const std::vector<std::string> &, const opd_kernel_launch &launch) {
    launched = launch;
  });
  const DLDataType handle{kDLOpaqueHandle, 64, 1};
  const Module module = with_root("kernels_noted", "vpi",
                                  text("sim") + number(1) + text("noted") + text("noted") + number(1) + raw(handle) +
                                      list({"blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.z", "clusterCtaIdx.x",
                                            "tirx.use_cooperative_launch", "tirx.use_dyn_shared_memory"}) +
                                      number(0) + text("noted\n"));
  const Tensor x = on(simulated.device(), {1});
  module.function("noted", 1)(x, 6, 3, 4, 5, 2, 100);
  opdyno::sync(simulated.device());
  EXPECT_EQ(launched.struct_size, sizeof launched);
  EXPECT_EQ(launched.num_args, 1u);
  EXPECT_EQ(std::vector<uint32_t>(launched.grid, launched.grid + 3), (std::vector<uint32_t>{6, 3, 1}));
  EXPECT_EQ(std::vector<uint32_t>(launched.block, launched.block + 3), (std::vector<uint32_t>{4, 1, 5}));
  EXPECT_EQ(std::vector<uint32_t>(launched.cluster, launched.cluster + 3), (std::vector<uint32_t>{2, 1, 1}));
  EXPECT_TRUE(launched.is_cooperative);
  EXPECT_EQ(launched.dynamic_shared_bytes, 100u);
  EXPECT_EQ(launched.stream, nullptr);
}

// A kind whose work ends with its call, and that runs no kernels.
TEST_F(AFaultyDevice, MayHaveMemoryOnly) {
  static int syncs = 0;
  opd_device_table table = memory_table();
  table.sync = [](void *, int32_t, void *stream, int all) -> opd_error * {
    return syncs += stream ? 100 : all ? 1 : 10, nullptr;
  };
  const DLDevice device = {opdyno::register_device("plain", table), 0};
  const opdyno::Profiler profiler;
  profiler.start();
  EXPECT_EQ(read(on(device, {1, 2, 3})), (std::vector<float>{1, 2, 3}));
  const opdyno::Trace trace = profiler.stop();
  EXPECT_EQ(trace.chrome().find("Memcpy"), std::string::npos) << "it tells no times";
  EXPECT_EQ(trace.dropped(), 0u);
  opdyno::sync(device);
  EXPECT_EQ(syncs, 1);
  check(opd_stream_sync(device, nullptr));
  EXPECT_EQ(syncs, 11);
  expect_throws([&] { opdyno::Stream{device}; }, OPD_UNSUPPORTED,
                "plain:0 has no streams but its default one, which is NULL");
  EXPECT_EQ(opdyno::device_attr({device.device_type, 1}, OPD_ATTR_ABSENCE).string(),
            "the plug-in for plain has no device of number 1");
  EXPECT_EQ(opdyno::device_attr(device, OPD_ATTR_DEVICE_NAME).type(), OPD_NONE);
  const DLDataType handle{kDLOpaqueHandle, 64, 1};
  const Module module = with_root("kernels_plain", "plain",
                                  text("sim") + number(1) + text("f") + text("f") + number(1) + raw(handle) +
                                      list({"blockIdx.x"}) + number(0) + text("f\n"));
  const Tensor x = on(device, {1});
  expect_throws([&] { module.function("f", 1)(x, 1); }, OPD_UNSUPPORTED,
                "devices of this kind have no kernels of their own");
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
  for (const char *taken : {"cpu", "cuda", "opencl", "vpi"}) {
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
