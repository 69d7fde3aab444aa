// Work that a plug-in reports itself. On the simulated device.
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/device_work.h"
#include "conformance/kernels.h"
#include "support/params_test.h"

using namespace opdyno_test;

namespace {

class ReportedWork : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_FALSE(device_.keeps_activity()) << "nobody asks any more";
    device_.fail_from(0);
  }
  static opdyno::Profiler profiler(int32_t device_work = 2) {
    auto options = opdyno::defaults(opd_profiler_options_init);
    options.device_work = device_work;
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

TEST_F(ReportedWork, IsCountedAsDroppedIfItIsLostOrInvalid) {
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
      [](opd_device_activity &r) { r.end_ns += uint64_t{60'000'000'000}; },                    // not yet
      [](opd_device_activity &r) { r.begin_ns += uint64_t{1} << 62, r.end_ns = r.begin_ns; },  // nor this
      [](opd_device_activity &r) { r.end_ns = UINT64_MAX; },
      [](opd_device_activity &r) { r.begin_ns = 1; },  // before the recording
      [](opd_device_activity &r) { r.begin_ns -= uint64_t{2'000'000'000}; },
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

TEST_F(ReportedWork, IsNotCountedOneByOneIfItIsLost) {
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  device_.lose_activity(UINT64_MAX);
  const Report events = recorder.stop().report(OPD_TRACE_EVENTS);
  EXPECT_GE(number_of(configuration_value(events, "Dropped calls")), 1e12);
}

TEST_F(ReportedWork, HasALongNameUpToAWholeCharacter) {
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::string most(4094, 'x');
  for (const char *end : {"\u20ac", "yz", "y\u00e9"}) device_.report(record(OPD_ACTIVITY_KERNEL, 300), most + end);
  const Report events = recorder.stop().report(OPD_TRACE_EVENTS);
  std::vector<std::string> names;
  for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row)
    names.push_back(text_value(call_value(events, row, "Name")));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{most, most + "y", most + "yz"}));
}

TEST_F(ReportedWork, BelongsToTheInnermostLaunch) {
  const Vm vm = vm_of_kernels("reported_nested");
  const Tensor x = on(device_.device(), {1, 2, 3, 4}), copy = on(device_.device(), {0, 0, 0, 0});
  const opdyno::Stream stream(device_.device());
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  device_.set_before_launch([&] { copy.copy_from(x); });
  opdyno::set_stream(device_.device(), stream.get());
  vm.call("main", x);
  opdyno::set_stream(device_.device(), nullptr);
  device_.set_before_launch(nullptr);
  const Report events = recorder.stop().report(OPD_TRACE_EVENTS);
  size_t num_works = 0;
  for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row) {
    if (text_value(call_value(events, row, "Kind")) != "device") continue;
    EXPECT_NE(call_value(events, row, "Launched In").type(), OPD_NONE) << text_value(call_value(events, row, "Name"));
    EXPECT_EQ(text_value(call_value(events, row, "Thread")), "vpi:0, stream 1");
    ++num_works;
  }
  EXPECT_EQ(num_works, 4u) << "two kernels, with a copy before each";
}

// So that the plug-in need not keep them, and that a file has them if the process is killed.
TEST_F(ReportedWork, IsReadWhileTheRecordingRuns) {
  const Vm vm = vm_of_kernels("reported_read");
  const Tensor x = on(device_.device(), {1, 2, 3, 4});
  const params_test::TemporaryDirectory directory;
  const std::string file = directory / "work";
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.file = file.c_str(), options.device_work = 2;
  const opdyno::Profiler recorder(&options);
  recorder.start();
  vm.call("main", x);
  opdyno::sync(device_.device());
  for (int tries = 0; device_.num_records() && tries < 1000; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(device_.num_records(), 0u);
  std::vector<std::string> works;
  for (int tries = 0; works.size() < 2 && tries < 1000; ++tries) {  // what was read is added a moment later
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    works = works_of(opdyno::Trace::load(file.c_str()).report(OPD_TRACE_EVENTS));
  }
  EXPECT_EQ(works.size(), 2u);
  recorder.stop();
}

TEST_F(ReportedWork, IsInOtherRecordingsAndProfilesToo) {
  const Vm vm = vm_of_kernels("reported_others");
  const Tensor x = on(device_.device(), {1, 2, 3, 4});
  const opdyno::Profiler asks = profiler(2), longer = profiler(1), shorter = profiler(1);
  longer.start();
  asks.start();
  shorter.start();
  vm.call("main", x);
  const auto kernels_in = [](const opdyno::Trace &trace) { return works_of(trace.report(OPD_TRACE_EVENTS)).size(); };
  EXPECT_EQ(kernels_in(shorter.stop()), 2u);
  const std::string profile = vm.profile("main", {arg(x)}).report.json();
  EXPECT_NE(profile.find("\"Device Duration (us)\""), std::string::npos) << profile;
  const size_t so_far = kernels_in(asks.snapshot());
  vm.call("main", x);
  asks.stop();
  vm.call("main", x);
  EXPECT_EQ(kernels_in(longer.stop()), so_far + 4) << "also what ended between";
}

// The plug-in still records it, and no events are recorded.
TEST_F(ReportedWork, IsInOtherRecordingsAlsoIfItComesLate) {
  const Vm vm = vm_of_kernels("reported_late");
  const Tensor x = on(device_.device(), {1, 2, 3, 4});
  const opdyno::Profiler longer = profiler(1), asks = profiler(2);
  longer.start();
  asks.start();
  device_.set_after_read([&] { std::thread([&] { vm.call("main", x); }).join(); });
  EXPECT_TRUE(works_of(asks.stop().report(OPD_TRACE_EVENTS)).empty());
  EXPECT_EQ(works_of(longer.stop().report(OPD_TRACE_EVENTS)).size(), 2u);
}

TEST_F(ReportedWork, IsNotInheritedByAForkedChild) {
  const Vm vm = vm_of_kernels("reported_fork");
  const Tensor x = on(device_.device(), {1, 2, 3, 4});
  device_.set_latency(std::chrono::milliseconds(20));
  const opdyno::Profiler recorder = profiler();
  recorder.start();
  vm.call("main", x);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const std::string chrome = recorder.stop().chrome();
    _exit(chrome.find("\"kernel\"") == std::string::npos ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(recorder.stop().chrome().find("\"kernel\""), std::string::npos);
  device_.set_latency({});
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

TEST_F(ReportedWork, IsAnErrorOrMissingIfThePlugInFails) {
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

namespace {

// A kind whose only device has the number 1. It has no work, and counts how often it is asked.
struct Asked {
  std::atomic<int> started{0}, ended{0};
};
opd_device_table table_of(Asked &asked) {
  opd_device_table table{};
  table.struct_size = sizeof table, table.user_data = &asked;
  table.get_attr = [](void *, int32_t id, opd_device_attr attr, opd_value *out) -> opd_error * {
    if (attr == OPD_ATTR_EXIST) *out = opd_bool(id == 1);
    return nullptr;
  };
  table.allocate = [](void *, int32_t, uint64_t, uint64_t) -> void * { return nullptr; };
  table.deallocate = [](void *, int32_t, void *, uint64_t) {};
  table.copy = [](void *, const void *, DLDevice, void *, DLDevice, uint64_t, void *) -> opd_error * {
    return nullptr;
  };
  table.sync = [](void *, int32_t, void *, int) -> opd_error * { return nullptr; };
  table.record_event = [](void *, int32_t, void *, void **) -> opd_error * { return nullptr; };
  table.wait_event = [](void *, int32_t, void *, uint64_t *) -> opd_error * { return nullptr; };
  table.free_event = [](void *, int32_t, void *) {};
  table.get_time = [](void *, int32_t, uint64_t *) -> opd_error * { return nullptr; };
  table.set_activity = [](void *asked, int32_t is_on) -> opd_error * {
    ++(is_on ? static_cast<Asked *>(asked)->started : static_cast<Asked *>(asked)->ended);
    return nullptr;
  };
  table.set_correlation = [](void *, uint64_t) {};
  table.read_activity = [](void *, int32_t, opd_activity_receiver receive, void *receiver, uint64_t *) -> opd_error * {
    receive(receiver, nullptr);
    return nullptr;
  };
  return table;
}

}  // namespace

TEST_F(ReportedWork, IsAskedForOfKindsThatComeLaterAndOfDevicesOfAnyNumber) {
  static Asked asked;
  const opdyno::Profiler first = profiler(), second = profiler();
  first.start();
  opdyno::register_device("ext_dev", table_of(asked));
  EXPECT_EQ(asked.started, 0);
  second.start();
  EXPECT_EQ(asked.started, 1);
  first.stop();
  EXPECT_EQ(asked.ended, 0);
  second.stop();
  EXPECT_EQ(asked.started, 1);
  EXPECT_EQ(asked.ended, 1);
}

TEST(APlugIn, HasAllFunctionsOfActivityOrNone) {
  static Asked asked;
  opd_device_table table = table_of(asked);
  table.set_correlation = nullptr;
  expect_throws([&] { opdyno::register_device("activity_of_nothing", table); }, OPD_INVALID_ARGUMENT,
                "must have all of set_activity, set_correlation and read_activity, or none");
  table = table_of(asked);
  table.record_event = nullptr, table.wait_event = nullptr, table.free_event = nullptr, table.get_time = nullptr;
  expect_throws([&] { opdyno::register_device("activity_of_nothing", table); }, OPD_INVALID_ARGUMENT,
                "that has set_activity must have get_time");
}
