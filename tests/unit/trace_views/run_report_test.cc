// From a trace to a report: durations, percentages, totals, repeated runs.
#include <gtest/gtest.h>

#include <bit>

#include "support/shown_report.h"
#include "support/trace_builder.h"
#include "trace_views/trace_report.h"

namespace opd {
namespace {

constexpr uint64_t kTicksPerUs = 1'000'000'000;  // so that what an empty interval reads is below the tolerance
const ClockCalibration kLine{{0, 0}, 1e-6};      // ns per tick
NameId name_at(uint32_t index) {
  const char *const names[] = {"matmul", "add", "vm.builtin.reshape", "vm.builtin.invoke_closure"};
  return name_id(names[index]);
}
const DLDevice kCpu = {kDLCPU, 0}, kCuda = {kDLCUDA, 1};

struct Call {
  uint32_t name;
  uint64_t us, run;
};

std::unique_ptr<TraceBuilder> built_calls(std::initializer_list<Call> calls, uint64_t max_calls = 1 << 20) {
  auto trace = std::make_unique<TraceBuilder>(max_calls);
  int64_t shape[] = {4, 8};
  DLTensor host{nullptr, kCpu, 2, {kDLFloat, 32, 1}, shape, nullptr, 0},
      device{nullptr, kCuda, 1, {kDLFloat, 16, 1}, shape, nullptr, 0};
  const View args[] = {opd_dltensor(&host), opd_dltensor(&device)};
  uint64_t at = 1000;
  for (const auto &call : calls) {
    const uint64_t begin = at;
    at += call.us * kTicksPerUs;
    trace->call({begin, at, name_at(call.name), call.run + 1}, Args(args, call.name == 0 ? 1 : 2), call.name);
  }
  return trace;
}

// Runs follow each other from the first record's begin on.
Ref<Report> report_of(const std::unique_ptr<TraceBuilder> &trace, std::initializer_list<uint64_t> totals,
                      std::span<const DLDevice> devices, int32_t num_threads, RunReportOptions options = {}) {
  uint64_t at = 1000, run = 0;
  for (const uint64_t total : totals) {
    trace->run(++run, at, at + total, name_at(1));
    at += total;
  }
  options.devices.assign(devices.begin(), devices.end());
  options.num_threads = num_threads;
  return report_of_run(*make_object<Trace>(trace->parts(kLine, 77, "worker")), options);
}

double number(const Ref<Report> &report, size_t row, const char *column) {
  return as_float(report->view_of(report->call_metric(row, column)), column);
}
std::string text(const Ref<Report> &report, size_t row, const char *column) {
  return to_text(report->view_of(report->call_metric(row, column)));
}

TEST(RunReport, HasARowPerCallInProgramOrder) {
  const DLDevice devices[] = {kCpu, kCuda, kCpu};
  const auto report = report_of(built_calls({{1, 10, 0}, {0, 30, 0}}), {50 * kTicksPerUs}, devices, 4);
  ASSERT_EQ(report->num_rows(), 4u);
  std::string columns;
  for (const auto &column : report->columns()) columns += column.name() + "|";
  EXPECT_EQ(columns, "Name|Duration (us)|Percent|Device|Count|Argument Shapes|Row Kind|");
  EXPECT_EQ(report->row_kind(1), RowKind::kCall);
  EXPECT_EQ(report->row_kind(2), RowKind::kDispatch);
  EXPECT_EQ(report->row_kind(3), RowKind::kProfiler);
  EXPECT_EQ(text(report, 0, "Name"), "\"add\"");
  EXPECT_EQ(text(report, 0, "Device"), "\"cuda1\"");
  EXPECT_EQ(text(report, 0, "Argument Shapes"), "\"float32[4, 8], float16[4]\"");
  EXPECT_EQ(text(report, 1, "Name"), "\"matmul\"");
  EXPECT_EQ(text(report, 1, "Device"), "\"cpu0\"");
  EXPECT_NEAR(number(report, 0, "Duration (us)"), 10, 1e-3);
  EXPECT_NEAR(number(report, 1, "Duration (us)"), 30, 1e-3);
  EXPECT_NEAR(number(report, 0, "Percent"), 20, 1e-2);  // 10 of 50
  EXPECT_NEAR(number(report, 1, "Percent"), 60, 1e-2);
  EXPECT_EQ(report->view_of(report->call_metric(0, "Count")).u.int64, 1);
  EXPECT_EQ(text(report, 2, "Name"), "\"(dispatch)\"");
  EXPECT_EQ(text(report, 3, "Name"), "\"(profiler)\"");
  EXPECT_NEAR(number(report, 2, "Duration (us)") + number(report, 3, "Duration (us)"), 10, 1e-3) << "the rest of 50";
  EXPECT_EQ(text(report, 2, "Argument Shapes"), "\"\"");
  ASSERT_EQ(report->devices().size(), 2u);  // cpu0 was listed twice
  for (const char *device : {"cpu0", "cuda1"}) {
    EXPECT_NEAR(as_float(report->view_of(report->device_metric(device, "Duration (us)")), "total"), 50, 1e-3);
    EXPECT_EQ(report->view_of(report->device_metric(device, "Count")).u.int64, 1);
    EXPECT_EQ(to_text(report->view_of(report->device_metric(device, "Name"))), "\"Total\"");
    EXPECT_EQ(to_text(report->view_of(report->device_metric(device, "Device"))), concat("\"", device, "\""));
  }
  EXPECT_EQ(report->view_of(report->configuration_metric("Number of threads")).u.int64, 4);
  EXPECT_EQ(to_text(report->view_of(report->configuration_metric("Executor"))), "\"VM\"");
  EXPECT_EQ(report->configuration().size(), 2u);
}

TEST(RunReport, KeepsRepeatedRunsApartAndSharesThePercentages) {
  const auto report = report_of(built_calls({{0, 10, 0}, {1, 10, 0}, {0, 20, 1}, {1, 10, 1}}),
                                {40 * kTicksPerUs, 60 * kTicksPerUs}, {&kCpu, 1}, 1);
  ASSERT_EQ(report->num_rows(), 6u);
  EXPECT_EQ(report->view_of(report->call_metric(4, "Count")).u.int64, 2);
  EXPECT_NEAR(number(report, 2, "Duration (us)"), 20, 1e-3);
  EXPECT_NEAR(number(report, 2, "Percent"), 20, 1e-2);  // 20 of 40 + 60
  EXPECT_EQ(report->view_of(report->device_metric("cpu0", "Count")).u.int64, 2);
  EXPECT_NEAR(as_float(report->view_of(report->device_metric("cpu0", "Duration (us)")), "total"), 100, 1e-3);
  // Joined: matmul 10 + 20, add 10 + 10.
  const std::string table = report->to_table(true, true, false);
  EXPECT_NE(table.find("\nmatmul" + std::string(14, ' ') + "30.00    30.00    cpu0      2"), std::string::npos)
      << table;
  EXPECT_NE(table.find("\nadd" + std::string(17, ' ') + "20.00    20.00   cuda1      2"), std::string::npos) << table;
}

TEST(RunReport, NumbersRunsAndGivesEachItsComputedRows) {
  RunReportOptions options;
  options.by_run = true;
  const auto report = report_of(built_calls({{0, 10, 0}, {1, 10, 0}, {0, 20, 1}, {1, 10, 1}}),
                                {40 * kTicksPerUs, 60 * kTicksPerUs}, {&kCpu, 1}, 1, options);
  ASSERT_EQ(report->num_rows(), 8u);
  for (size_t row = 0; row < 8; ++row)
    EXPECT_EQ(report->view_of(report->call_metric(row, "Repeat")).u.int64, row < 2 || row == 4 || row == 5 ? 0 : 1)
        << row;
  for (const size_t row : {4, 6}) {
    EXPECT_EQ(report->row_kind(row), RowKind::kDispatch);
    EXPECT_EQ(report->row_kind(row + 1), RowKind::kProfiler);
    EXPECT_EQ(report->view_of(report->call_metric(row, "Count")).u.int64, 1);
    const double rest = row == 4 ? 20 : 30;
    EXPECT_NEAR(number(report, row, "Duration (us)") + number(report, row + 1, "Duration (us)"), rest, 1e-3);
  }
}

TEST(RunReport, LimitsAWaitToTheTimeInWhichTheRunDidNotRun) {
  RunReportOptions options;
  options.by_run = true;
  options.waits = {{5, 30}, {50, 45}};
  const auto report =
      report_of(built_calls({{0, 10, 0}, {0, 20, 1}}), {40 * kTicksPerUs, 60 * kTicksPerUs}, {&kCpu, 1}, 1, options);
  EXPECT_NEAR(number(report, 2, "Waited (us)"), 5, 1e-3);
  EXPECT_NEAR(number(report, 4, "Waited (us)"), 15, 1e-3) << "60 less the 45 in which its thread ran";
}

TEST(RunReport, HasSharesOfRunsThatTookLessThanAMicrosecond) {
  const uint64_t tick = 1000;
  TraceBuilder trace;
  trace.call({tick, tick + kTicksPerUs / 4, name_at(0)}, {}).run(1, tick, tick + kTicksPerUs / 2, name_at(1));
  const auto report = report_of_run(*make_object<Trace>(trace.parts(kLine)), {});
  EXPECT_NEAR(number(report, 0, "Percent"), 50, 0.1);
}

TEST(RunReport, SubtractsTheReadingOfAnEmptyInterval) {
  DLTensor scalar{nullptr, kCpu, 0, {kDLInt, 64, 1}, nullptr, nullptr, 0};
  const View args[] = {opd_dltensor(&scalar)};
  TraceBuilder trace;
  trace.call({100, 101, name_at(0)}, args);  // less than any clock reads
  const auto report = report_of_run(*make_object<Trace>(trace.parts({{0, 0}, 1})), {});
  EXPECT_EQ(number(report, 0, "Duration (us)"), 0);
  EXPECT_EQ(number(report, 0, "Percent"), 0) << "no total to relate to";
}

struct NamedSpan {
  uint32_t name;
  uint64_t begin, end;
};
// Calls in the order in which they end; some within others.
std::unique_ptr<TraceBuilder> nested_trace_of(const std::vector<NamedSpan> &calls, uint64_t ticks = kTicksPerUs) {
  auto trace = std::make_unique<TraceBuilder>();
  int64_t shape[] = {4, 8};
  DLTensor tensor{nullptr, kCpu, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const View args[] = {opd_dltensor(&tensor)};
  for (const NamedSpan &call : calls)
    trace->call({1000 + call.begin * ticks, 1000 + call.end * ticks, name_at(call.name)}, args, call.name);
  return trace;
}

double duration_of(const Ref<Report> &report, std::string_view name) {
  for (size_t row = 0; row < report->num_rows(); ++row)
    if (text(report, row, "Name") == "\"" + std::string(name) + "\"") return number(report, row, "Duration (us)");
  ADD_FAILURE() << "no row " << name;
  return 0;
}

// Recording the inner calls took its time within the outer one.
TEST(RunReport, CountsOnlyTimeBetweenOutermostCallsAsProfiling) {
  std::vector<NamedSpan> calls;
  for (uint64_t i = 0; i < 10'000; ++i) calls.push_back({0, 10 * i, 10 * i + 5});
  calls.push_back({1, 0, 100'000});
  const auto report = report_of(nested_trace_of(calls, 1), {200'000}, {&kCpu, 1}, 1);
  EXPECT_LT(duration_of(report, "(profiler)"), duration_of(report, "(dispatch)"))
      << "10,001 records would take all of the 100,000 ticks that are left";
}

TEST(RunReport, SubtractsAtMostTheRemainingTimeAsProfiling) {
  const auto report = report_of(nested_trace_of({{0, 0, 5}, {1, 5, 10}}, 1), {10}, {&kCpu, 1}, 1);
  EXPECT_GE(duration_of(report, "(dispatch)"), 0) << "two records take more than lies between these calls";
}

// 0 to 100: a closure that is called by a builtin (10 to 60) with two kernels in it, and a builtin within a function.
TEST(RunReport, FoldsBuiltinsSoThatTheRowsStillAddUp) {
  RunReportOptions options;
  options.details = options.folds_builtins = true;
  const auto report = report_of(nested_trace_of({{0, 20, 30}, {0, 40, 45}, {3, 10, 60}, {2, 72, 75}, {1, 70, 90}}),
                                {100 * kTicksPerUs}, {&kCpu, 1}, 1, options);
  ASSERT_EQ(report->num_rows(), 6u) << "three calls, (builtins), (dispatch), (profiler)";
  EXPECT_NEAR(duration_of(report, "(builtins)"), 50 - 15, 1e-3) << "without the kernels, which have rows";
  EXPECT_NEAR(number(report, 2, "Self (us)"), 20, 1e-3) << "the builtin within has no row";
  EXPECT_EQ(text(report, 0, "Call Path"), "\"add\"") << "straight within the run's function";
  EXPECT_NEAR(10 + 5 + 20 + duration_of(report, "(builtins)") + duration_of(report, "(dispatch)") +
                  duration_of(report, "(profiler)"),
              100, 1e-2);
}

TEST(RunReport, CountsNestedCallsOnce) {
  const auto trace = nested_trace_of({{0, 10, 30}, {0, 40, 50}, {1, 5, 60}});  // two in the one that ends last
  RunReportOptions options;
  options.details = true;
  const auto report = report_of(trace, {100 * kTicksPerUs}, {&kCpu, 1}, 1, options);
  ASSERT_EQ(report->num_rows(), 5u);
  EXPECT_NEAR(number(report, 2, "Duration (us)"), 55, 1e-3);
  EXPECT_NEAR(number(report, 2, "Self (us)"), 25, 1e-3);
  EXPECT_NEAR(number(report, 0, "Self (us)"), 20, 1e-3);
  EXPECT_NEAR(number(report, 1, "Start (us)"), 40, 1e-3);
  EXPECT_EQ(text(report, 1, "Call Path"), "\"add/add\"") << "of the run's function and the call";
  EXPECT_EQ(text(report, 2, "Call Path"), "\"add\"");
  EXPECT_EQ(text(report, 0, "Thread"), "\"worker 77\"");
  EXPECT_EQ(report->view_of(report->call_metric(0, "Tensors (bytes)")).u.int64, 4 * 8 * 4);
  EXPECT_EQ(report->view_of(report->call_metric(0, "Run")).u.int64, 0);
  EXPECT_NEAR(number(report, 3, "Duration (us)") + number(report, 4, "Duration (us)"), 45, 1e-3);
}

// add calls add, which calls matmul, which calls add; then add is called alone.
TEST(RunReport, MarksCallsWithinACallOfTheSameOperator) {
  const auto report = report_of(nested_trace_of({{1, 30, 40}, {0, 20, 50}, {1, 10, 60}, {1, 0, 70}, {1, 80, 90}}),
                                {100 * kTicksPerUs}, {&kCpu, 1}, 1);
  std::string marks;
  for (size_t row = 0; row < report->num_rows(); ++row) marks += text(report, row, "Recursive Calls") + " ";
  EXPECT_EQ(marks, "1 None 1 None None None None ");
  std::string depths;
  for (size_t row = 0; row < report->num_rows(); ++row) depths += text(report, row, "Depth") + " ";
  EXPECT_EQ(depths, "3 2 1 None None None None ");
}

class Items {
 public:
  Items &add(EventItem::Type type, Metric metric, std::string_view name = {}, std::string_view text = {},
             Recordings recordings = 1) {
    items_.add({type, recordings, name.empty() ? kNoName : name_id(std::string(name)), metric, text});
    return *this;
  }
  Items &metric(std::string_view name, Metric metric, std::string_view text = {}, Recordings recordings = 1) {
    return add(EventItem::Type::kMetric, metric, name, text, recordings);
  }
  Items &device(DLDevice device) {
    return add(EventItem::Type::kDevice, Metric::of_count(std::bit_cast<int64_t>(device)));
  }
  operator const EventItems &() const { return items_; }

 private:
  EventItems items_;
};
Metric counted(int64_t number) { return Metric::of_count(number); }
constexpr Metric kText{MetricKind::kString, 0};

// Of what collectors measured of each run on cpu0: texts stay the last ones, ratios, hertz and percentages are
// averaged, "Peak (bytes)" is the largest, all else is added. Columns that TVM has are not for collectors, nor are
// items of another recording.
const EventItems &measured(Items &items, int64_t misses, double ratio, int64_t peak, const char *text) {
  const auto number = [](MetricKind kind, double value) { return Metric::of_number(kind, value); };
  items.add(EventItem::Type::kObserved, counted(static_cast<int64_t>(2 * kTicksPerUs)));
  items.metric("Before a device", counted(1)).device(kCpu).metric("Misses", counted(misses));
  items.metric("Ratio", number(MetricKind::kRatio, ratio)).metric("Clock", number(MetricKind::kHertz, 10 * ratio));
  items.metric("Load", number(MetricKind::kPercent, 20 * ratio)).metric("Busy", number(MetricKind::kDuration, ratio));
  items.metric("Peak (bytes)", Metric{MetricKind::kBytes, static_cast<uint64_t>(peak)});
  items.metric("Max (us)", number(MetricKind::kDuration, 5 - ratio)).metric("Governor", kText, text);
  items.metric("Count", counted(99)).metric("Misses", counted(1000), "", 2);
  items.device(kCpu).metric("Misses", counted(5000));  // again: not counted twice
  return items.device(kCuda).metric("Misses", counted(1));
}

// Two runs, from 5 to 55 and from 60 to 100 µs. In the first one the call "matmul", with an item of each kind, gives
// two kernels to the device, which overlap; later one more begins in no run. The driver's own time does not count.
TEST(RunReport, HasAllThatWasRecordedAndAskedFor) {
  constexpr uint64_t kUs = kTicksPerUs;
  TraceBuilder built(2);
  int64_t shape[] = {4, 8};
  DLTensor host{nullptr, kCpu, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const View args[] = {opd_dltensor(&host)};
  Items of_call, of_run, of_other;
  of_call.add(EventItem::Type::kError, kText, "", "no luck")
      .metric("Misses", counted(7))
      .metric("Where", kText, "here");
  of_call.metric("Row Kind", kText, "dispatch").metric("Misses", counted(70), "", 2);
  built.call({10 * kUs, 30 * kUs, name_at(0), 1}, args, 0, of_call);
  built.run(1, 5 * kUs, 55 * kUs, name_at(1), measured(of_run, 3, 2, 40, "slow"));
  built.call({70 * kUs, 80 * kUs, name_at(1), 2}, args, 1);
  built.run(2, 60 * kUs, 100 * kUs, kNoName, measured(of_other, 4, 1, 30, "fast"));
  built.call({90 * kUs, 95 * kUs, name_at(1), 2}, args, 1);  // there is no room for it
  TraceParts parts = built.parts(kLine, 77, "worker");
  const auto work = [](uint64_t launched, uint64_t begin, uint64_t end, uint64_t run, uint16_t stream = 0) {
    Event made{};
    made.kind = EventKind::kDeviceWork, made.name = name_id("kernel"), made.recordings = 1, made.device = kCuda;
    made.begin = begin * kUs, made.end = end * kUs, made.run = run;
    const WorkKind kind = stream ? WorkKind::kOverhead : WorkKind::kKernel;
    set_device_work(made, {launched * kUs, kUs, 77, 0, stream, kind});
    return made;
  };
  const Event works[] = {work(12, 15, 25, 1), work(14, 20, 30, 1), work(29, 40, 44, 1), work(101, 102, 110, 0),
                         work(16, 16, 99, 1, kOverheadStream)};
  parts.tracks.emplace_back().add_open(works);
  parts.processes[0].sample_interval = 10, parts.processes[0].host = "board";
  for (const char *host : {"desk", "", "board"}) parts.processes.emplace_back().host = host;
  parts.observers = {{"counters", 3 * kUs, "lost", "hint"}, {"memory", 0, std::nullopt, ""}};
  RunReportOptions options;
  options.devices = {kCpu, kCuda, kCpu}, options.num_threads = 4;
  options.note = "not all", options.turn = 6, options.details = true;
  EXPECT_EQ(
      shown_report(*report_of_run(*make_object<Trace>(std::move(parts)), options)),
      R"x(Name|Duration (us)|Percent|Device|Count|Argument Shapes|Self (us)|Device Duration (us)|Launch Gap (us)|Start (us)|Run|Thread|Tensors (bytes)|Call Path|Error|Misses|Where|Row Kind|
matmul|20|22.222|cpu0|1|float32[4, 8]|20|24|2|5|0|worker 77|128|add|no luck|7|here|-|
add|10|11.111|cpu0|1|float32[4, 8]|10|-|-|65|1|worker 77|128||-|-|-|-|
(dispatch)|56|62.222|cpu0|2||56|-|-|-|-|-|-|-|-|-|-|dispatch|
(profiler)|4|4.444|cpu0|2||4|-|-|-|-|-|-|-|-|-|-|profiler|
cpu0: Name=Total Duration (us)=90 Device=cpu0 Count=2 Misses=7 Ratio=1.5 Clock=15 Load=30 Busy=3 Peak (bytes)=40 Max (us)=4 Governor=fast
cuda1: Name=Total Duration (us)=90 Device=cuda1 Count=2 Misses=2 Device Duration (us)=19 Device Idle (us)=71
Number of threads: 4
Executor: VM
Machine: board, desk
Sample interval: 10
Turn: 6
Note: not all
Dropped calls: 1
Collector cost: counters (us): 3
Collector error: counters: lost
Collector note: counters: hint
Collector cost: memory (us): 0
)x");
}

TEST(RunReport, ReportsDroppedCalls) {
  const auto report = report_of(built_calls({{0, 1, 0}, {0, 1, 0}, {0, 1, 0}}, 1), {}, {}, 1);
  EXPECT_EQ(report->num_rows(), 1u);
  EXPECT_EQ(report->view_of(report->configuration_metric("Dropped calls")).u.int64, 2);
}

TEST(RunReport, IsValidForAnEmptyTrace) {
  RunReportOptions options;
  options.devices = {kCpu};
  const auto report = report_of_run(*make_object<Trace>(TraceParts{}), options);
  EXPECT_EQ(report->num_rows(), 0u);
  EXPECT_EQ(Report::from_json(report->to_json())->to_json(), report->to_json());
}

}  // namespace
}  // namespace opd
