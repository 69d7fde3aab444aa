// The simulated device fails each of its functions in turn, from the nth call on.
#include "conformance/faults.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <opdyno/rpc.hpp>

#include "conformance/memory_table.h"
#include "support/opdyno_test.h"
#include "support/report_test.h"
#include "support/rpc_servers.h"

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

// A fault that goes away. Calls without memory are repeated after the pools were emptied, so not each one is an error.
TEST_F(AFaultyDevice, WorksAgainAfterASingleFault) {
  SimulatedDevice &simulated = SimulatedDevice::get();
  const DLDevice device = simulated.device();
  const auto use = [&] { return use_all_of(device, simulated); };
  use();
  opdyno::trim_memory(device);
  const SimulatedDevice::Counts before = simulated.counts();
  simulated.fail_from(0);
  const int64_t calls = use();
  int64_t errors = 0;
  for (int64_t nth = 1; nth <= calls; ++nth) {
    simulated.fail_once(nth);
    try {
      use();
    } catch (const Error &e) {
      ++errors;
      EXPECT_NE(
          std::string(e.what()).find(e.code() == OPD_OUT_OF_MEMORY ? "memory" : "the simulated device has a fault"),
          std::string::npos)
          << e.what();
    }
    EXPECT_GE(simulated.calls(), nth);
    use();
    opdyno::trim_memory(device);
    EXPECT_EQ(simulated.counts(), before) << "after call " << nth << " of " << calls;
  }
  EXPECT_GT(errors, calls / 2);
  EXPECT_LT(errors, calls) << "memory is asked for again";
}

namespace {

// A kernel that fails in the queue, after its launch, while `breaks` says so.
class ABreakingKernel : public AFaultyDevice {
 protected:
  ABreakingKernel() {
    simulated_.define("fragile",
                      [this](SimulatedDevice &, const std::vector<std::string> &, const opd_kernel_launch &) {
                        if (breaks_) throw std::runtime_error("the kernel broke");
                      });
  }
  void SetUp() override { opdyno::trim_memory(device_); }
  void TearDown() override {
    breaks_ = false;
    opdyno::sync(device_);
    AFaultyDevice::TearDown();
  }
  // main(x) launches it, and returns what x was copied to.
  static Module program(const std::string &name) {
    const DLDataType handle{kDLOpaqueHandle, 64, 1};
    const Module module = Executable::assemble(R"(
.func main(x) {
  call fragile(%x, 1, 1)
  ret %x
})")
                              .to_module();
    module.add_import(with_root("kernels_" + name, "vpi",
                                text("sim") + number(1) + text("fragile") + text("fragile") + number(1) + raw(handle) +
                                    list({"blockIdx.x", "threadIdx.x"}) + number(0) + text("fragile\n")));
    return module;
  }
  Vm vm(const Module &module) const {
    auto options = opdyno::defaults(opd_vm_options_init);
    options.devices = &device_;
    options.num_devices = 1;
    return Vm(module, &options);
  }
  // An error each time until the kernel is whole again, and nothing is left of what failed.
  template <class Use>
  void expect_breaks(const Use &use) {
    use();
    const SimulatedDevice::Counts before = simulated_.counts();
    for (int round = 0; round < 3; ++round) {
      breaks_ = true;
      expect_throws([&] { use(); }, OPD_CALL_FAILED, "the kernel broke");
      breaks_ = false;
      use();
    }
    EXPECT_EQ(simulated_.counts(), before);
  }

  SimulatedDevice &simulated_ = SimulatedDevice::get();
  const DLDevice device_ = simulated_.device();
  std::atomic<bool> breaks_{false};
};

}  // namespace

TEST_F(ABreakingKernel, IsAnErrorOfTheNextWait) {
  const Module module = program("waits");
  const Function fragile = module.function("fragile", 1);
  const Tensor x = on(device_, {1, 2}), there({2}, "float32", device_);
  expect_breaks([&] { fragile(x, 1, 1), opdyno::sync(device_); });
  expect_breaks([&] { fragile(x, 1, 1), check(opd_stream_sync(device_, nullptr)); });
  expect_breaks([&] { fragile(x, 1, 1), read(x); });
  expect_breaks([&] { fragile(x, 1, 1), there.copy_from_bytes("12345678", 8); });
  const Vm program = vm(module);
  expect_breaks([&] { read(Tensor::of(program.call("main", x))); });
  expect_breaks([&] { program.set_input("main", {arg(x)}), program.invoke_stateful("main"), opdyno::sync(device_); });
}

TEST_F(ABreakingKernel, IsAnErrorOfProfilesAndMeasurements) {
  const Vm program = vm(this->program("profiles"));
  const Tensor x = on(device_, {1, 2});
  expect_breaks([&] { program.profile("main", {arg(x)}); });
  auto options = opdyno::defaults(opd_evaluator_options_init);
  options.device = device_, options.repeat = 2;
  expect_breaks([&] { opdyno::Evaluator(program.function("main"), &options)(x); });
  options.concurrency = 2;
  expect_breaks([&] { opdyno::Evaluator(program.function("main"), &options)(x); });
}

// A recording goes on: only who waits for the device is told.
TEST_F(ABreakingKernel, IsInARecordingAsAnyOther) {
  const Vm program = vm(this->program("recorded"));
  const Tensor x = on(device_, {1, 2});
  const auto use = [&] {
    const opdyno::Profiler profiler;
    profiler.start();
    program.call("main", x);
    const opdyno::Trace trace = profiler.stop();
    EXPECT_NE(trace.write(OPD_TRACE_CHROME).find("fragile"), std::string::npos);
    opdyno::sync(device_);
  };
  expect_breaks(use);
}

TEST_F(ABreakingKernel, IsAnErrorOfASessionThatGoesOn) {
  const std::string file = testing::TempDir() + "/breaking_kernel.so";
  program("session").export_to(file);
  std::stringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  Listener server([](int connection) { serve_with(connection, nullptr); });
  {
    const opdyno::RpcSession session = opdyno::RpcSession::connect(server.address());
    session.upload("p.so", bytes.str());
    const DLDevice there = session.device(device_);
    auto options = opdyno::defaults(opd_vm_options_init);
    options.devices = &there, options.num_devices = 1;
    const Vm remote(session.load_module("p.so"), &options);
    const Tensor x = on(there, {1, 2});
    expect_breaks([&] { read(Tensor::of(remote.call("main", x))); });
    expect_breaks([&] { remote.call("main", x), opdyno::sync(there); });
    expect_breaks([&] { remote.profile("main", {arg(x)}); });
    EXPECT_EQ(read(x), (std::vector<float>{1, 2}));
  }
}

TEST_F(AFaultyDevice, NamesTheOperatorWithTheFailedLaunch) {
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

TEST_F(AFaultyDevice, GetsAllFieldsOfALaunch) {
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

namespace {

opd_evaluator_options measured_on(DLDevice device) {
  auto options = opdyno::defaults(opd_evaluator_options_init);
  options.device = device, options.number = 4, options.repeat = 3;
  return options;
}

Function nothing() {
  return make_function([](const opd_value *, int32_t, opd_value *) {});
}

}  // namespace

// Each time that the device tells is a second after the one before, and the two times of a repeat are neighbours.
TEST_F(AFaultyDevice, IsMeasuredByItsOwnClock) {
  SimulatedDevice &simulated = SimulatedDevice::get();
  const SimulatedDevice::Counts before = simulated.counts();
  simulated.set_clock_step(std::chrono::seconds(1));
  const auto options = measured_on(simulated.device());
  const opdyno::Benchmark times = opdyno::Evaluator(nothing(), &options)();
  simulated.set_clock_step({});
  EXPECT_EQ(times.seconds(), (std::vector<double>{0.25, 0.25, 0.25})) << "a second for four calls";
  EXPECT_TRUE(times.stats().is_device_time);
  EXPECT_EQ(simulated.counts(), before);
}

// Each piece of work takes 20 ms: the kernel, and the event after it.
TEST_F(AFaultyDevice, IsMeasuredInTheCurrentStream) {
  constexpr std::chrono::milliseconds kLatency{20};
  SimulatedDevice &simulated = SimulatedDevice::get();
  const Vm vm = vm_on(simulated.device(), kernels_or_none("stream"));
  const Tensor x = on(simulated.device(), {1, 2, 3, 4});
  vm.call("main", x);
  const opdyno::Stream stream(simulated.device());
  const CurrentStream current(simulated.device(), stream.get());
  auto options = measured_on(simulated.device());
  options.number = options.repeat = 1;
  simulated.set_latency(kLatency);
  const opdyno::Benchmark times = opdyno::Evaluator(vm.function("main"), &options)(x);
  simulated.set_latency({});
  EXPECT_GE(times.seconds().at(0), 3 * std::chrono::duration<double>(kLatency).count()) << "two kernels and an event";
}

TEST_F(AFaultyDevice, IsMeasuredByTheHostsClockIfItsOwnFails) {
  SimulatedDevice &simulated = SimulatedDevice::get();
  const auto options = measured_on(simulated.device());
  const auto measure = [&] { return opdyno::Evaluator(nothing(), &options)(); };
  const SimulatedDevice::Counts before = simulated.counts();
  simulated.set_clock_step(std::chrono::seconds(1));
  for (int64_t nth = 1; nth <= 4; ++nth) {  // of the try: two events, two times
    simulated.fail_once(nth);
    const opdyno::Benchmark times = measure();
    EXPECT_FALSE(times.stats().is_device_time) << nth;
    EXPECT_NE(times.seconds().at(0), 0.25);
  }
  simulated.fail_from(5);  // after the try
  expect_throws([&] { measure(); }, OPD_CALL_FAILED, "the simulated device has a fault");
  simulated.fail_from(0);
  EXPECT_TRUE(measure().stats().is_device_time);
  simulated.set_clock_step({});
  EXPECT_EQ(simulated.counts(), before);
}

TEST_F(AFaultyDevice, HasNoTimerInAStreamThatEnded) {
  const DLDevice device = SimulatedDevice::get().device();
  const SimulatedDevice::Counts before = SimulatedDevice::get().counts();
  auto options = measured_on(device);
  options.warmup = 0, options.number = 1;
  const Function ends = make_function([&](const opd_value *, int32_t, opd_value *) {
    check(opd_stream_free(device, opdyno::set_stream(device, nullptr)));
  });
  void *stream = nullptr;
  check(opd_stream_create(device, &stream));
  opdyno::set_stream(device, stream);
  expect_throws([&] { opdyno::Evaluator(ends, &options)(); }, OPD_INVALID_ARGUMENT, "is not a stream of vpi:0");
  EXPECT_EQ(SimulatedDevice::get().counts(), before);
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
  const auto options = measured_on(device);
  EXPECT_FALSE(opdyno::Evaluator(nothing(), &options)().stats().is_device_time);
  syncs = 0;
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
