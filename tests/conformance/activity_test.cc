// Work that a plug-in reports itself. On the simulated device.
#include "conformance/device_work.h"
#include "conformance/kernels.h"

using namespace opdyno_test;

namespace {

class ReportedWork : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_FALSE(device_.keeps_activity()) << "nobody asks any more";
    device_.fail_from(0);
  }
  static opdyno::Profiler profiler() {
    auto options = opdyno::defaults(opd_profiler_options_init);
    options.device_work = 2;
    return opdyno::Profiler(&options);
  }
  // Begins so many microseconds before now, and takes 1.
  opd_device_activity record(opd_activity_kind kind, uint64_t before_us) {
    opd_device_activity made{};
    made.struct_size = sizeof made;
    made.kind = kind;
    made.begin_ns = device_.now_ns() - before_us * 1000, made.end_ns = made.begin_ns + 1000;
    return made;
  }
  Vm vm_of_kernels(const std::string &name) { return vm_on(device_.device(), kernels_or_none(name)); }

  SimulatedDevice &device_ = SimulatedDevice::get();
};

std::string part(const std::string &text, const std::string &from, const std::string &to) {
  const size_t begin = text.find(from);
  return begin == text.npos ? "" : text.substr(begin, text.find(to, begin) - begin);
}

}  // namespace

TEST_F(ReportedWork, HasTheRunsAndStreamsOfItsLaunches) {
  const Vm vm = vm_of_kernels("reported_runs");
  const Tensor x = on(device_.device(), {1, 2, 3, 4});
  vm.call("main", x);
  const SimulatedDevice::Counts before = device_.counts();
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  EXPECT_TRUE(device_.keeps_activity());
  const opdyno::Stream stream(device_.device());
  {
    const opdyno::Range step("step");
    opdyno::set_stream(device_.device(), stream.get());
    vm.call("main", x);
    opdyno::set_stream(device_.device(), nullptr);
  }
  EXPECT_EQ(device_.counts().events, before.events) << "the plug-in tells the times, so no events are recorded";
  const opdyno::Trace trace = recorder.stop();
  const Report events = trace.report(OPD_TRACE_EVENTS);
  size_t num_kernels = 0;
  for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row) {
    if (text_value(call_value(events, row, "Kind")) != "device") continue;
    EXPECT_EQ(text_value(call_value(events, row, "Name")), "scale");
    EXPECT_EQ(text_value(call_value(events, row, "Thread")), "vpi:0, stream 1");
    EXPECT_GE(number_of(call_value(events, row, "Launch Gap (us)")), 0);
    const Value in = call_value(events, row, "Launched In");
    ASSERT_NE(in.type(), OPD_NONE) << "its call is known";
    EXPECT_EQ(text_value(call_value(events, static_cast<size_t>(number_of(in)), "Name")), "scale");
    ++num_kernels;
  }
  EXPECT_EQ(num_kernels, 2u);
  const std::string clock = text_value(configuration_value(events, "Device clock: vpi0"));
  EXPECT_EQ(clock.rfind("get_time of the plug-in, error ", 0), 0u) << clock;
  EXPECT_NE(part(trace.chrome(), R"("cat":"kernel","name":"scale")", "\n").find(R"("Run":0)"), std::string::npos);
}

TEST_F(ReportedWork, HasWorkOfOtherCode) {
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that records may begin before now
  opd_device_activity fill = record(OPD_ACTIVITY_FILL, 500);
  fill.stream = 3, fill.bytes = 64, fill.device_id = 1;
  device_.report(fill, "fill");
  device_.report(record(OPD_ACTIVITY_KERNEL, 400), "foreign");
  device_.report(record(OPD_ACTIVITY_OVERHEAD, 300), "a full queue");
  opd_device_activity unknown = record(OPD_ACTIVITY_KERNEL, 200);
  unknown.correlation = uint64_t{1} << 60, unknown.stream = 2;
  device_.report(unknown, "of nobody");
  const Tensor x = on(device_.device(), {1, 2});
  EXPECT_EQ(read(x), (std::vector<float>{1, 2}));
  const opdyno::Trace trace = recorder.stop();
  std::vector<std::string> works = works_of(trace.report(OPD_TRACE_EVENTS));
  for (std::string &work : works)
    if (work.rfind("copy", 0) == 0) work = work.substr(0, work.find(" for ")) + work.substr(work.find(", 8 bytes"));
  EXPECT_EQ(works, (std::vector<std::string>{
                       "a full queue on vpi:0, overhead for 1 us", "copy on vpi:0, default stream, 8 bytes",
                       "copy on vpi:0, default stream, 8 bytes", "fill on vpi:1, stream 3 for 1 us, 64 bytes",
                       "foreign on vpi:0, default stream for 1 us", "of nobody on vpi:0, stream 2 for 1 us"}));
  const std::string chrome = trace.chrome();
  for (const char *cat : {R"("cat":"gpu_memset","name":"fill")", R"("cat":"overhead","name":"a full queue")"})
    EXPECT_NE(chrome.find(cat), std::string::npos) << cat;
}

TEST_F(ReportedWork, IsCountedIfItIsLostOrCannotBeUsed) {
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  opd_device_activity good = record(OPD_ACTIVITY_KERNEL, 400);
  good.struct_size += 8;  // of a later release
  device_.report(good, "good");
  using Change = void (*)(opd_device_activity &);
  const Change changes[] = {
      [](opd_device_activity &r) { r.struct_size = 8; },
      [](opd_device_activity &r) { r.kind = static_cast<opd_activity_kind>(OPD_ACTIVITY_OVERHEAD + 1); },
      [](opd_device_activity &r) { r.kind = static_cast<opd_activity_kind>(-1); },
      [](opd_device_activity &r) { r.end_ns = r.begin_ns - 1; },
      [](opd_device_activity &r) { r.begin_ns = 0; },
      [](opd_device_activity &r) { r.device_id = -1; },
      [](opd_device_activity &r) { r.stream = 65535; },
  };
  for (const Change change : changes) {
    opd_device_activity bad = record(OPD_ACTIVITY_KERNEL, 300);
    change(bad);
    device_.report(bad, "bad");
  }
  for (const char *name : {"", "\xff"}) device_.report(record(OPD_ACTIVITY_KERNEL, 300), name);
  device_.lose_activity(5);
  const Report events = recorder.stop().report(OPD_TRACE_EVENTS);
  EXPECT_EQ(works_of(events), (std::vector<std::string>{"good on vpi:0, default stream for 1 us"}));
  EXPECT_EQ(number_of(configuration_value(events, "Dropped calls")), std::size(changes) + 2 + 5);
}

TEST_F(ReportedWork, IsOfEachRecordingThatRuns) {
  const Vm vm = vm_of_kernels("reported_twice");
  const Tensor x = on(device_.device(), {1, 2, 3, 4});
  const opdyno::Profiler outer = profiler(), inner = profiler();
  outer.start();
  vm.call("main", x);
  inner.start();
  vm.call("main", x);
  opdyno::sync(device_.device());
  const auto kernels_in = [](const opdyno::Trace &trace) { return works_of(trace.report(OPD_TRACE_EVENTS)).size(); };
  EXPECT_EQ(kernels_in(inner.snapshot()), 2u);
  EXPECT_EQ(kernels_in(inner.stop()), 2u);
  EXPECT_TRUE(device_.keeps_activity()) << "one recording still asks";
  vm.call("main", x);
  EXPECT_EQ(kernels_in(outer.stop()), 6u);
}

TEST_F(ReportedWork, OfAPlugInWithFaultsIsAnErrorOrMissing) {
  const opdyno::Profiler recorder = profiler();
  device_.fail_once(1);
  expect_throws([&] { recorder.start(); }, OPD_CALL_FAILED, "the simulated device has a fault");
  EXPECT_FALSE(device_.keeps_activity());
  recorder.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  device_.report(record(OPD_ACTIVITY_KERNEL, 400), "lost");
  device_.fail_from(1);  // reading the records, then the clock
  const opdyno::Trace trace = recorder.stop();
  device_.fail_from(0);
  const Report events = trace.report(OPD_TRACE_EVENTS);
  EXPECT_TRUE(works_of(events).empty());
  EXPECT_GE(number_of(configuration_value(events, "Dropped calls")), 1);
  const opdyno::Profiler next = profiler();  // which ends the records that a failed stop has left on
  next.start();
  next.stop();
}

TEST(APlugIn, HasAllFunctionsOfActivityOrNone) {
  opd_device_table table{};
  table.struct_size = sizeof table;
  table.get_attr = [](void *, int32_t, opd_device_attr, opd_value *) -> opd_error * { return nullptr; };
  table.allocate = [](void *, int32_t, uint64_t, uint64_t) -> void * { return nullptr; };
  table.deallocate = [](void *, int32_t, void *, uint64_t) {};
  table.copy = [](void *, const void *, DLDevice, void *, DLDevice, uint64_t, void *) -> opd_error * {
    return nullptr;
  };
  table.sync = [](void *, int32_t, void *, int) -> opd_error * { return nullptr; };
  table.set_activity = [](void *, int32_t) -> opd_error * { return nullptr; };
  expect_throws([&] { opdyno::register_device("activity_of_nothing", table); }, OPD_INVALID_ARGUMENT,
                "must have all of set_activity, set_correlation and read_activity, or none");
  table.set_correlation = [](void *, uint64_t) {};
  table.read_activity = [](void *, int32_t, opd_activity_receiver, void *, uint64_t *) -> opd_error * {
    return nullptr;
  };
  expect_throws([&] { opdyno::register_device("activity_of_nothing", table); }, OPD_INVALID_ARGUMENT,
                "that has set_activity must have get_time");
}
