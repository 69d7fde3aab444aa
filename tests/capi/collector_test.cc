// Collectors written in C: what they are shown, in which order, on which threads, and what becomes of those that fail.
#include "support/collector_test.h"

#include <chrono>
#include <thread>

#include "support/add_one.h"

using namespace opdyno_test;

namespace {

struct Log {
  std::vector<std::string> lines;
  std::set<std::thread::id> threads;
  void add(std::string line) {
    lines.push_back(std::move(line));
    threads.insert(std::this_thread::get_id());
  }
};

// Writes down what it is asked; its metric counts its own states.
struct Probe {
  Log *log;
  std::string name;
  std::string fails_in;  // "init", "start" or "stop"
  DLDeviceType supports = kDLCPU;
  int64_t states = 0, ended = 0;
  bool deleted = false;

  opd_error *act(const std::string &what) {
    log->add(name + " " + what);
    return what == fails_in ? opd_error_create(OPD_CALL_FAILED, "RuntimeError", (name + " is out of order").c_str())
                            : nullptr;
  }
};

Collector probe(Probe &probe) {
  opd_collector_table table{};
  table.struct_size = sizeof table;
  table.user_data = &probe;
  table.init = [](void *self, const DLDevice *devices, int32_t num_devices) {
    EXPECT_EQ(num_devices, 1);
    EXPECT_EQ(devices[0].device_type, kDLCPU);
    return static_cast<Probe *>(self)->act("init");
  };
  table.start = [](void *self, DLDevice device, void **out_state) -> opd_error * {
    auto *p = static_cast<Probe *>(self);
    if (device.device_type != p->supports) return nullptr;
    opd_error *error = p->act("start");
    if (!error) *out_state = reinterpret_cast<void *>(++p->states);
    return error;
  };
  table.stop = [](void *self, void *state, opd_metrics *metrics) {
    auto *p = static_cast<Probe *>(self);
    ++p->ended;
    const opd_value number = opd_int(reinterpret_cast<intptr_t>(state));
    opd_error *error = opd_metrics_set(metrics, p->name.c_str(), OPD_METRIC_COUNT, &number);
    return error ? error : p->act("stop");
  };
  table.deleter = [](void *self) { static_cast<Probe *>(self)->deleted = true; };
  Collector collector;
  check(opd_collector_create(probe.name.c_str(), &table, collector.out()));
  return collector;
}

const char *const kNested = R"(
.func inner(x) {
  %y = call test.double(%x)
  ret %y
}
.func main(x) {
  %a = call test.double(%x)
  %b = call inner(%a)
  ret %b
})";

Vm nested(Log &log) {
  define("test.double", [&log](const opd_value *args, int32_t, opd_value *out) {
    log.add("kernel");
    check(opd_value_retain(&args[0], out));
  });
  return Vm(Executable::assemble(kNested).to_module());
}

using Lines = std::vector<std::string>;

}  // namespace

TEST(Collector, IsAskedAroundTheRunAndEveryCallAndNestsAsTheyDo) {
  Log log;
  Probe one{&log, "one", {}};
  const Vm vm = nested(log);
  const MainProfile profile(vm, {probe(one)}, floats({1}), 0);
  EXPECT_EQ(log.lines, (Lines{"one init", "one start",                         // the run
                              "one start", "kernel", "one stop",               // double
                              "one start", "one start", "kernel", "one stop",  // inner and its double
                              "one stop", "one stop"}));
  EXPECT_EQ(log.threads.size(), 1u);
  ASSERT_EQ(profile.rows(), 3u);  // in the order in which the calls end
  EXPECT_EQ(profile.text(0, "Name"), "test.double");
  EXPECT_EQ(profile.count(0, "one"), 2);
  EXPECT_EQ(profile.count(1, "one"), 4);
  EXPECT_EQ(profile.text(2, "Name"), "inner");
  EXPECT_EQ(profile.count(2, "one"), 3);
  EXPECT_EQ(profile.device("cpu0", "one"), 1);
}

TEST(Collector, StopsLastIfItStartedFirst) {
  Log log;
  Probe one{&log, "one", {}}, two{&log, "two", {}};
  const Vm vm = nested(log);
  const MainProfile profile(vm, {probe(one), probe(two)}, floats({1}), 0);
  const Lines begin(log.lines.begin(), log.lines.begin() + 9);
  EXPECT_EQ(begin, (Lines{"one init", "two init", "one start", "two start", "one start", "two start", "kernel",
                          "two stop", "one stop"}));
  EXPECT_EQ(profile.count(0, "one"), 2);
  EXPECT_EQ(profile.count(0, "two"), 2);
  EXPECT_GT(profile.configured_number("Collector cost: one (us)"), 0);
  EXPECT_GT(profile.configured_number("Collector cost: two (us)"), 0);
}

// A sleep lasts at least as long as it is asked to, so the cost has a lower bound: the run and its three calls.
TEST(Collector, CostIsTheTimeOfAllItsStartsAndStops) {
  opd_collector_table slow_start{}, slow_stop{};
  slow_start.struct_size = slow_stop.struct_size = sizeof slow_start;
  slow_start.start = [](void *, DLDevice, void **out_state) -> opd_error * {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    *out_state = out_state;
    return nullptr;
  };
  slow_start.stop = [](void *, void *, opd_metrics *) -> opd_error * { return nullptr; };
  slow_stop.start = [](void *, DLDevice, void **out_state) -> opd_error * { return *out_state = out_state, nullptr; };
  slow_stop.stop = [](void *, void *, opd_metrics *) -> opd_error * {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return nullptr;
  };
  Log log;
  const Vm vm = nested(log);
  for (const opd_collector_table *table : {&slow_start, &slow_stop}) {
    Collector collector;
    check(opd_collector_create("slow", table, collector.out()));
    const MainProfile profile(vm, {collector}, floats({1}), 0);
    EXPECT_GE(profile.configured_number("Collector cost: slow (us)"), 0.95 * 4 * 2000);
  }
}

TEST(Collector, IsCalledForMeasuredRunsOnly) {
  Log log;
  Probe one{&log, "one", {}};
  const Vm vm = nested(log);
  const MainProfile profile(vm, {probe(one)}, floats({1}), 2, 3);
  EXPECT_EQ(log.lines[0], "kernel") << "a warm-up";
  EXPECT_EQ(one.states, 3 * (1 + 3));
  EXPECT_EQ(one.ended, one.states);
  EXPECT_EQ(profile.rows(), 9u);
  EXPECT_EQ(profile.device("cpu0", "one"), 1 + 5 + 9) << "the states of the three runs";
}

TEST(Collector, IsNotStoppedOnADeviceThatItDoesNotSupport) {
  Log log;
  Probe one{&log, "one", {}, kDLCUDA};
  const Vm vm = nested(log);
  const MainProfile profile(vm, {probe(one)}, floats({1}), 0);
  EXPECT_EQ(log.lines, (Lines{"one init", "kernel", "kernel"}));
  EXPECT_EQ(profile.rows(), 3u);
  EXPECT_EQ(profile.columns().count("one"), 0u);
}

TEST(Collector, FailuresAreReportedAndTheRunGoesOn) {
  for (const char *place : {"init", "start", "stop"}) {
    Log log;
    Probe bad{&log, "bad", place}, good{&log, "good", {}};
    const Vm vm = nested(log);
    const MainProfile profile(vm, {probe(bad), probe(good)}, floats({1}), 0);
    EXPECT_EQ(profile.rows(), 3u) << place;
    EXPECT_EQ(profile.configured("Collector error: bad"), "bad is out of order") << place;
    EXPECT_EQ(bad.ended, bad.states) << place << ": every state is ended once";
    EXPECT_EQ(profile.count(0, "good"), 2) << place;
  }
}

TEST(Collector, IsEndedWhenTheCallFails) {
  Log log;
  Probe one{&log, "one", {}};
  const Vm vm = nested(log);
  int calls = 0;
  define("test.double", [&](const opd_value *args, int32_t, opd_value *out) {
    if (++calls == 2) throw std::runtime_error("no");
    check(opd_value_retain(&args[0], out));
  });
  const Vm failing(Executable::assemble(kNested).to_module());
  const Collector collector = probe(one);
  expect_throws([&] { MainProfile(failing, {collector}, floats({1}), 0); }, OPD_CALL_FAILED, "no");
  EXPECT_EQ(one.states, 4) << "the run, double, inner, double in it";
  EXPECT_EQ(one.ended, 4);
  calls = 10;
  MainProfile(failing, {collector}, floats({1}), 0);  // and can be used again
  EXPECT_EQ(one.ended, 8);
}

TEST(Collector, StaysInOrderWhenAFunctionCatchesAnError) {
  Log log;
  Probe one{&log, "one", {}};
  define("test.fails", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("inside"); });
  Handle<opd_function> inner;
  define("test.catches", [&](const opd_value *args, int32_t, opd_value *) {
    Value ignored;
    expect_error(opd_function_call(inner.get(), args, 1, ignored.out()), OPD_CALL_FAILED, "inside");
  });
  const Vm vm(Executable::assemble(R"(
.func inner(x) {
  call test.fails(%x)
  ret %void
}
.func main(x) {
  call test.catches(%x)
  ret %void
})")
                  .to_module());
  check(opd_vm_get_function(vm.get(), "inner", inner.out()));
  const MainProfile profile(vm, {probe(one)}, floats({1}), 0);
  ASSERT_EQ(profile.rows(), 2u);
  EXPECT_EQ(profile.text(0, "Name"), "test.fails");
  EXPECT_EQ(profile.text(0, "Error"), "inside");
  EXPECT_EQ(profile.text(1, "Name"), "test.catches");
  EXPECT_EQ(profile.count(1, "one"), 2) << "not the state of what failed inside of it";
  EXPECT_EQ(one.ended, one.states);
  EXPECT_EQ(profile.device("cpu0", "one"), 1);
}

TEST(Collector, KeepsRecordsThatFindNoRoomOutOfTheReport) {
  Log log;
  Probe one{&log, "one", {}};
  const Vm vm = nested(log);
  const MainProfile profile(vm, {probe(one)}, floats({1}), 0, 1, 2);
  ASSERT_EQ(profile.rows(), 2u);
  EXPECT_EQ(profile.count(1, "one"), 4);
  EXPECT_EQ(profile.configured_number("Dropped calls"), 1);
}

TEST(Collector, CannotBeUsedTwiceInOneRun) {
  Log log;
  Probe one{&log, "one", {}};
  const Vm vm = nested(log);
  const Collector collector = probe(one);
  const MainProfile profile(vm, {collector, collector}, floats({1}), 0);
  EXPECT_NE(profile.configured("Collector error: one #2").find("in use"), std::string::npos);
  EXPECT_EQ(profile.count(0, "one"), 2);
}

TEST(Collector, EndsItsUserDataWithItsLastReference) {
  Log log;
  Probe one{&log, "one", {}};
  Collector collector = probe(one);
  const Collector other = collector;
  collector = {};
  EXPECT_FALSE(one.deleted);
  const_cast<Collector &>(other) = {};
  EXPECT_TRUE(one.deleted);
}

TEST(Collector, IsRefusedWithoutANameOrOfALaterVersion) {
  opd_collector_table table{};
  Collector made;
  expect_error(opd_collector_create("x", &table, made.out()), OPD_INVALID_ARGUMENT, "struct_size");
  table.struct_size = sizeof table;
  expect_error(opd_collector_create("", &table, made.out()), OPD_INVALID_ARGUMENT, "name");
  expect_error(opd_collector_create(nullptr, &table, made.out()), OPD_INVALID_ARGUMENT, "name");
  expect_error(opd_collector_create("\xff", &table, made.out()), OPD_INVALID_ARGUMENT, "UTF-8");
  struct {
    opd_collector_table table;
    void *later;
  } future{table, &table};
  future.table.struct_size = sizeof future;
  expect_error(opd_collector_create("x", &future.table, made.out()), OPD_UNSUPPORTED, "does not know");
}

namespace {

// Sets what the test wants to have set.
using Setter = std::function<void(opd_metrics *)>;
Collector setter(Setter &body) {
  opd_collector_table table{};
  table.struct_size = sizeof table;
  table.user_data = &body;
  table.start = [](void *, DLDevice, void **out_state) -> opd_error * { return *out_state = out_state, nullptr; };
  table.stop = [](void *self, void *, opd_metrics *metrics) -> opd_error * {
    return (*static_cast<Setter *>(self))(metrics), nullptr;
  };
  Collector collector;
  check(opd_collector_create("setter", &table, collector.out()));
  return collector;
}

}  // namespace

TEST(Collector, ForOtherMachinesDoesNotMeasureOnThisOne) {
  const char *const unknown[] = {"no-such-event"};
  auto there = opdyno::defaults(opd_counter_options_init);
  there.events = unknown, there.num_events = 1, there.elsewhere = 1;
  const auto made = [&](int kind) { return Collector::builtin(static_cast<opd_collector_kind>(kind), &there); };
  expect_throws([&] { made(99); }, OPD_INVALID_ARGUMENT, "kind must be a kind of collectors, but is 99");
  expect_throws([&] { made(OPD_COLLECTOR_MEMORY); }, OPD_INVALID_ARGUMENT, "takes no events");
  const Collector collector = made(OPD_COLLECTOR_PERF);
  opd_collector *const collectors[] = {collector.get()};
  const char *const why = "the collector perf was made for other machines";
  Function measured;
  check(opd_function_profile(make_function([](const opd_value *, int32_t, opd_value *) {}).get(), {kDLCPU, 0},
                             collectors, 1, 0, measured.out()));
  expect_throws([&] { measured(); }, OPD_FAILED_PRECONDITION, why);
  auto options = opdyno::defaults(opd_profile_options_init);
  options.collectors = collectors, options.num_collectors = 1;
  const std::string report = make_vm(kAddOne).profile("main", {arg(floats({1, 2, 3, 4}))}, &options).report.json();
  EXPECT_NE(report.find("Collector error: perf"), std::string::npos) << report;
  EXPECT_NE(report.find(why), std::string::npos) << report;
}

TEST(Collector, GivesMetricsOfEveryKind) {
  Setter body = [](opd_metrics *metrics) {
    const opd_value three = opd_int(3), half = opd_float(0.5), text = opd_cstring("hot"), list = opd_none();
    check(opd_metrics_set(metrics, "hits", OPD_METRIC_COUNT, &three));
    check(opd_metrics_set(metrics, "size (bytes)", OPD_METRIC_BYTES, &three));
    check(opd_metrics_set(metrics, "time", OPD_METRIC_DURATION, &half));
    check(opd_metrics_set(metrics, "share", OPD_METRIC_PERCENT, &three));
    check(opd_metrics_set(metrics, "ratio", OPD_METRIC_RATIO, &half));
    check(opd_metrics_set(metrics, "state", OPD_METRIC_STRING, &text));
    const opd_value mood = opd_cstring("calm"), yes = opd_bool(1);
    check(opd_metrics_set(metrics, "mood", OPD_METRIC_STRING, &mood));
    check(opd_metrics_set(metrics, "state again", OPD_METRIC_STRING, &text));
    check(opd_metrics_set(metrics, "truth", OPD_METRIC_COUNT, &yes));
    check(opd_metrics_set(metrics, "part", OPD_METRIC_RATIO, &yes));
    check(opd_metrics_set(metrics, "hits", OPD_METRIC_COUNT, &three));  // again
    check(opd_metrics_set(metrics, "Name", OPD_METRIC_COUNT, &three));  // the report's own
    expect_error(opd_metrics_set(metrics, "", OPD_METRIC_COUNT, &three), OPD_INVALID_ARGUMENT, "name");
    expect_error(opd_metrics_set(metrics, "\xff", OPD_METRIC_COUNT, &three), OPD_INVALID_ARGUMENT, "UTF-8");
    expect_error(opd_metrics_set(metrics, "x", OPD_METRIC_NONE, &three), OPD_INVALID_ARGUMENT, "kind 0");
    expect_error(opd_metrics_set(metrics, "x", static_cast<opd_metric_kind>(99), &three), OPD_INVALID_ARGUMENT, "99");
    expect_error(opd_metrics_set(metrics, "x", OPD_METRIC_COUNT, &half), OPD_INVALID_ARGUMENT, "x: expected an int");
    expect_error(opd_metrics_set(metrics, "x", OPD_METRIC_STRING, &half), OPD_INVALID_ARGUMENT, "x: expected text");
    expect_error(opd_metrics_set(metrics, "x", OPD_METRIC_RATIO, &list), OPD_INVALID_ARGUMENT, "x: expected a float");
    expect_error(opd_metrics_set(nullptr, "x", OPD_METRIC_RATIO, &half), OPD_INVALID_ARGUMENT, "NULL");
  };
  Log log;
  const Vm vm = nested(log);
  const MainProfile profile(vm, {setter(body)}, floats({1}), 0, 2);
  EXPECT_EQ(profile.count(0, "hits"), 3);
  EXPECT_EQ(profile.count(0, "size (bytes)"), 3);
  EXPECT_EQ(profile.number(0, "time"), 0.5);
  EXPECT_EQ(profile.number(0, "share"), 3);
  EXPECT_EQ(profile.text(0, "state"), "hot");
  EXPECT_EQ(profile.text(0, "mood"), "calm");
  EXPECT_EQ(profile.text(0, "state again"), "hot");
  EXPECT_EQ(profile.count(0, "truth"), 1);
  EXPECT_EQ(profile.number(0, "part"), 1);
  EXPECT_EQ(profile.text(0, "Name"), "test.double");
  EXPECT_EQ(profile.columns().count("x"), 0u);
  EXPECT_EQ(profile.device("cpu0", "hits"), 6) << "of two runs: summed";
  EXPECT_EQ(profile.device_number("cpu0", "time"), 1) << "summed";
  EXPECT_EQ(profile.device_number("cpu0", "ratio"), 0.5) << "the mean";
  EXPECT_EQ(profile.device_number("cpu0", "share"), 3) << "the mean";
  const std::string json = profile.report.json();
  EXPECT_NE(json.find("\"state\":{\"string\":\"hot\"}"), std::string::npos) << json;
}

TEST(Collector, MaySetItsMetricsInAnyOrder) {
  int turn = 0;
  Setter body = [&](opd_metrics *metrics) {
    std::vector<std::pair<const char *, int64_t>> all{{"one", 1}, {"two", 2}, {"three", 3}};
    for (int i = 0; i < turn % 6; ++i) std::next_permutation(all.begin(), all.end());
    if (turn++ % 5 == 4) all.pop_back();
    for (const auto &[name, number] : all) {
      const opd_value value = opd_int(number);
      check(opd_metrics_set(metrics, name, OPD_METRIC_COUNT, &value));
    }
  };
  Log log;
  const Vm vm = nested(log);
  const MainProfile profile(vm, {setter(body)}, floats({1}), 0, 12);
  int found = 0;
  for (size_t row = 0; row < profile.rows(); ++row)
    for (const auto &[name, number] : {std::pair{"one", 1}, {"two", 2}, {"three", 3}})
      if (profile.call(row, name).view().type != OPD_NONE) {
        EXPECT_EQ(profile.count(row, name), number) << name << " of row " << row;
        ++found;
      }
  EXPECT_GE(found, 12 * 2);
}

TEST(Collector, CannotSetTheColumnsThatTheReportHas) {
  const char *const own[] = {"Name",       "Duration (us)", "Percent", "Device", "Count",           "Argument Shapes",
                             "Start (us)", "Self (us)",     "Run",     "Thread", "Tensors (bytes)", "Call Path",
                             "Row Kind"};
  const char *const reserved[] = {"Repeat", "Waited (us)"};  // this report has none
  Setter body = [&](opd_metrics *metrics) {
    const opd_value number = opd_int(-7);
    for (const char *name : own) check(opd_metrics_set(metrics, name, OPD_METRIC_COUNT, &number));
    for (const char *name : reserved) check(opd_metrics_set(metrics, name, OPD_METRIC_COUNT, &number));
  };
  Log log;
  const Vm vm = nested(log);
  const std::vector<Collector> collectors{setter(body)};
  start_profile(vm, collectors);  // with details
  const Tensor x = floats({1});
  const opd_value argument = arg(x);
  Value result;
  check(opd_vm_call(vm.get(), "main", &argument, 1, nullptr, result.out()));
  const RunReport report = stop_profile(vm);
  ASSERT_EQ(report.rows(), 3u);
  for (size_t row = 0; row < 3; ++row)
    for (const char *name : own) {
      const Value value = report.call(row, name);
      EXPECT_FALSE(value.type() == OPD_INT && value.view().u.int64 == -7) << name;
    }
  for (const char *name : reserved) EXPECT_EQ(report.columns().count(name), 0u) << name;
  for (const char *name : {"Name", "Duration (us)", "Device", "Count"}) {
    const Value value = device_value(report.report, "cpu0", name);
    EXPECT_FALSE(value.type() == OPD_INT && value.view().u.int64 == -7) << name;
  }
  for (const char *name : {"Percent", "Argument Shapes"}) {
    Value value;
    expect_error(opd_report_get(report.report.get(), OPD_REPORT_DEVICES, 0, name, value.out(), nullptr), OPD_NOT_FOUND);
  }
}

// What it takes within a call is in that call's time, and what it takes around the run is in no time at all.
TEST(Collector, IsCountedAsProfilingOnlyBetweenTheOutermostCalls) {
  static constexpr auto kLong = std::chrono::milliseconds(20);
  struct Slow {
    int depth = 0;
  } slow;
  opd_collector_table table{};
  table.struct_size = sizeof table;
  table.user_data = &slow;
  table.start = [](void *self, DLDevice, void **out_state) -> opd_error * {
    int &depth = static_cast<Slow *>(self)->depth;
    if (depth != 1) std::this_thread::sleep_for(kLong);  // of the run, or of a call within one
    ++depth;
    return *out_state = self, nullptr;
  };
  table.stop = [](void *self, void *, opd_metrics *) -> opd_error * {
    return --static_cast<Slow *>(self)->depth, nullptr;
  };
  Collector collector;
  check(opd_collector_create("slow", &table, collector.out()));
  define("test.wait", [](const opd_value *, int32_t, opd_value *) { std::this_thread::sleep_for(kLong); });
  const Vm vm(Executable::assemble(R"(
.func inner(x) {
  %s = call vm.builtin.shape_of(%x)
  ret %s
}
.func main(x) {
  %a = call inner(%x)
  call test.wait()
  ret %a
})")
                  .to_module());
  const MainProfile profile(vm, {collector}, floats({1}), 0);
  ASSERT_EQ(profile.rows(), 2u);
  EXPECT_GE(profile.number(2, "Duration (us)"), 20'000) << "(dispatch) waits";
  EXPECT_LT(profile.number(3, "Duration (us)"), profile.number(2, "Duration (us)")) << "(profiler)";
}

TEST(ProfileFunction, MeasuresOneCallAfterTheWarmUps) {
  Log log;
  Probe one{&log, "one", {}};
  const Function function = make_function(
      [&](const opd_value *, int32_t num_args, opd_value *) { log.add("call of " + std::to_string(num_args)); });
  const Collector collector = probe(one);
  opd_collector *const collectors[] = {collector.get()};
  Function measured;
  check(opd_function_profile(function.get(), {kDLCPU, 0}, collectors, 1, 2, measured.out()));
  const auto metrics = metrics_of(measured(floats({1}), 3));
  EXPECT_EQ(log.lines, (Lines{"call of 2", "call of 2", "one init", "one start", "call of 2", "one stop"}));
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics.at("one").kind, OPD_METRIC_COUNT);
  EXPECT_EQ(metrics.at("one").number, 1);
  EXPECT_EQ(metrics.at("Duration (us)").kind, OPD_METRIC_DURATION);
  EXPECT_GT(metrics.at("Duration (us)").number, 0);
}

TEST(ProfileFunction, GivesMetricsOfEveryKindWithTheirKind) {
  Setter body = [](opd_metrics *metrics) {
    const opd_value three = opd_int(3), half = opd_float(0.5), text = opd_cstring("hot");
    check(opd_metrics_set(metrics, "size (bytes)", OPD_METRIC_BYTES, &three));
    check(opd_metrics_set(metrics, "ratio", OPD_METRIC_RATIO, &half));
    check(opd_metrics_set(metrics, "state", OPD_METRIC_STRING, &text));
  };
  const Function function = make_function([](const opd_value *, int32_t, opd_value *) {});
  const Collector collector = setter(body);
  opd_collector *const collectors[] = {collector.get()};
  Function measured;
  check(opd_function_profile(function.get(), {kDLCPU, 0}, collectors, 1, 0, measured.out()));
  const std::string metrics = opdyno::to_string(measured().view());
  const auto entry = [](const std::string &name, opd_metric_kind kind, const std::string &value) {
    return "\"" + name + "\": [" + std::to_string(static_cast<int>(kind)) + ", " + value + "]";
  };
  for (const std::string &expected :
       {entry("size (bytes)", OPD_METRIC_BYTES, "3"), entry("ratio", OPD_METRIC_RATIO, "0.5"),
        entry("state", OPD_METRIC_STRING, "\"hot\"")})
    EXPECT_NE(metrics.find(expected), std::string::npos) << metrics << "\n" << expected;
}

TEST(ProfileFunction, WithoutCollectorsStillGivesTheDuration) {
  int calls = 0;
  const Function function = make_function([&](const opd_value *, int32_t, opd_value *) { ++calls; });
  Function measured;
  check(opd_function_profile(function.get(), {kDLCPU, 0}, nullptr, 0, 10, measured.out()));
  EXPECT_EQ(metrics_of(measured()).count("Duration (us)"), 1u);
  EXPECT_EQ(calls, 11);
}

TEST(ProfileFunction, FailsAsTheFunctionOrItsCollectorDoes) {
  Log log;
  Probe bad{&log, "bad", "stop"};
  const Function fails = make_function([](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("no"); });
  const Function works = make_function([](const opd_value *, int32_t, opd_value *) {});
  const Collector collector = probe(bad);
  opd_collector *const collectors[] = {collector.get()};
  Function measured;
  check(opd_function_profile(fails.get(), {kDLCPU, 0}, nullptr, 0, 0, measured.out()));
  expect_throws([&] { measured(); }, OPD_CALL_FAILED, "no");
  check(opd_function_profile(works.get(), {kDLCPU, 0}, collectors, 1, 0, measured.out()));
  expect_throws([&] { measured(); }, OPD_CALL_FAILED, "bad is out of order");
  expect_error(opd_function_profile(works.get(), {kDLCPU, 0}, nullptr, 0, -1, measured.out()), OPD_INVALID_ARGUMENT,
               "warmup_iters");
  expect_error(opd_function_profile(works.get(), {kDLCUDA, 0}, nullptr, 0, 0, measured.out()), OPD_UNSUPPORTED);
  expect_error(opd_function_profile(works.get(), {kDLCPU, 0}, nullptr, 1, 0, measured.out()), OPD_INVALID_ARGUMENT,
               "collectors");
}
