// Merged traces in every form: each track is shown with its process, at its time, in its own clock's lengths.
#include <gtest/gtest.h>

#include "support/chrome_trace.h"
#include "support/merged_traces.h"
#include "support/occurrences.h"
#include "support/trace_builder.h"
#include "trace/record/memory_event.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/trace_report.h"

namespace opd {
namespace {

using opdyno_test::occurrences;

// "near" ticks each ns, "far" each 2 ns. Unix times, in ns from kEpoch: near runs from 1000 to 5000 and allocates at
// 2000; far from 3000 to 5000, and its range "work" within from 4000 to 4800.
Ref<Trace> near_and_far() {
  constexpr DLDevice kCpu{kDLCPU, 0};
  TraceBuilder a, b;
  a.memory(EventKind::kAlloc, 2000, kCpu, {0x40, 64, 164, 200}).run(1, 1000, 5000, name_id("main"));
  b.memory(EventKind::kFree, 600, kCpu, {0x40, 16, 0, 0}).range(1000, 1400, "work").run(1, 500, 1500, name_id("main"));
  TraceParts near = a.parts({{0, 0}, 1}, 7), far = b.parts({{0, 0}, 2}, 7);
  near.has_memory = far.has_memory = true;
  near.processes[0].id = far.processes[0].id = 41;
  near.processes[0].name = far.processes[0].name = "python";
  near.processes[0].unix_offset_ns = kEpoch;
  far.processes[0].unix_offset_ns = kEpoch + 2000;
  far.processes[0].host = "else\"where";
  far.processes[0].clock_error_ns = 1500;
  const Ref<Trace> one = make_object<Trace>(near), other = make_object<Trace>(far);
  const Trace *traces[] = {one.get(), other.get()};
  TraceMergeOptions options;
  options.labels = {"near", "far"};
  return merge_traces(traces, options);
}

void expect_has(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
}

TEST(AMergedTrace, InChromesFormHasItsProcesses) {
  const std::string json = chrome_trace(*near_and_far());
  expect_has(json,
             R"("opdyno_processes":[{"pid":41,"label":"near","name":"python","process_id":41,"host":"","clock":"",)"
             R"("clock_error_ns":null,"offset_ns":0},{"pid":10000041,"label":"far","name":"python",)"
             R"("process_id":41,"host":"else\"where","clock":"","clock_error_ns":1500,"offset_ns":0}])");
  expect_has(json, R"("process_name","pid":10000041,"tid":0)");
  expect_has(json, R"("args":{"labels":"CPU, else\"where"}})");
  EXPECT_EQ(occurrences(json, R"("name":"thread_name","pid":41,)"), 1u);
  EXPECT_EQ(occurrences(json, R"("name":"thread_name","pid":10000041,)"), 1u);
  expect_has(json, R"("name":"work","pid":10000041,"tid":7)");
  expect_has(json, R"("name":"run 0","pid":41)");
  expect_has(json, R"("name":"run 1","pid":10000041)");
  EXPECT_EQ(occurrences(json, R"(,"dur":4.000)"), 2u) << "near's run and its function: 4000 ticks of 1 ns";
  EXPECT_EQ(occurrences(json, R"(,"dur":2.000)"), 2u) << "far's: 1000 ticks of 2 ns";
  EXPECT_EQ(occurrences(json, R"("name":"Memory of cpu:0","pid":10000041)"), 1u);
}

TEST(AMergedTrace, HasItsEventsInTheOrderOfTheCommonTime) {
  const Ref<Report> report = report_of_events(*near_and_far());
  const auto text = [&](size_t row, const char *name) {
    const Column *column = report->find_column(name);
    const Metric cell = column ? column->at(row) : Metric{};
    if (!cell) return std::string("none");
    if (cell.is_text()) return std::string(report->text(cell.text()));
    return cell.is_integer() ? concat(cell.count()) : concat(cell.number());
  };
  std::string rows;
  for (size_t row = 0; row < report->num_rows(); ++row) {
    for (const char *name : {"Name", "Process", "Process ID", "Host", "Start (us)", "Duration (us)", "Self (us)"})
      rows += text(row, name) + " ";
    rows += "\n";
  }
  EXPECT_EQ(rows,
            "main near 41  0 4 4 \n"
            "main far 41 else\"where 2 2 1.2 \n"
            "work far 41 else\"where 3 0.8 0.8 \n");
}

TEST(AMergedTrace, AddsLengthsOfDifferentClocks) {
  const std::string table = trace_table(*near_and_far(), {});
  expect_has(table, "Self CPU time total: 6.000us");
  expect_has(table, "6.000us       3.000us          48 B          48 B             2");  // main: 4 µs and 2 µs
}

TEST(AMergedTrace, HasItsProcessesAsTheOutermostNames) {
  const Ref<Trace> trace = near_and_far();
  EXPECT_EQ(written([&](ByteSink &out) { write_stacks(*trace, false, false, out); }),
            "near;main 4\nfar;main 2\nfar;main;work 1\n");
  expect_has(written([&](ByteSink &out) { write_stacks(*trace, true, false, out); }), "far;main 1\n");
  const std::string picture = written([&](ByteSink &out) { write_flame_svg(*trace, out); });
  expect_has(picture, "Flame graph of near, far<");
  expect_has(picture, "<title>far\n2.00 µs (33.33 %), alone 0.00 µs</title>");
  expect_has(written([&](ByteSink &out) { write_pprof(*trace, out); }), "near");
}

TEST(AMergedTrace, InSpeedscopesFormHasProfilesOfItsProcesses) {
  const std::string json = written([](ByteSink &out) { write_speedscope(*near_and_far(), out); });
  expect_has(json, R"x("name":"near: thread 7 (main)","startValue":0,"endValue":4000)x");
  expect_has(json, R"x("name":"far: thread 7 (main)","startValue":0,"endValue":4000)x");
  expect_has(json, R"({"type":"O","frame":1,"at":3000})");
}

TEST(AMergedTrace, InPerfettosFormHasItsProcesses) {
  const std::string bytes = written([](ByteSink &out) { write_perfetto(*near_and_far(), out); });
  EXPECT_EQ(occurrences(bytes, "near"), 1u);
  EXPECT_EQ(occurrences(bytes, "far"), 1u);
  EXPECT_EQ(occurrences(bytes, "else\"where"), 1u);
  EXPECT_EQ(occurrences(bytes, "Memory of cpu:0: allocated"), 2u);
}

Ref<Trace> merged(const TraceParts &a, const TraceParts &b) {
  const Ref<Trace> one = make_object<Trace>(a), other = make_object<Trace>(b);
  const Trace *traces[] = {one.get(), other.get()};
  return merge_traces(traces, {});
}

// Numbers of runs begin anew in each process.
TEST(AMergedTrace, HasCallsInTheRunsOfTheirProcesses) {
  const auto parts = [](const char *name) {
    TraceBuilder built;
    built.call({110, 120, name_id(name), 5}, {}).run(5, 100, 200, name_id("main"));
    return built.parts({{0, 0}, 1});
  };
  const std::string json = chrome_trace(*merged(parts("first"), parts("second")));
  const auto run_of = [&](const std::string &call) {
    const size_t at = json.find("\"Run\":", json.find("\"name\":\"" + call + "\""));
    return json.substr(at, 8);
  };
  EXPECT_EQ(run_of("first"), "\"Run\":0,");
  EXPECT_EQ(run_of("second"), "\"Run\":1,");
}

// The time line of the file begins with the system of the first process, which may have been started later.
TEST(AMergedTrace, InPerfettosFormHasTimesBeforeTheFirstProcesssSystem) {
  const auto bytes = [](uint64_t end) {
    TraceBuilder late, early;
    late.range(10, 20, "late"), early.range(10, end, "early");
    TraceParts parts = late.parts({{0, 0}, 1});
    parts.processes[0].unix_offset_ns = kEpoch;
    return written([&](ByteSink &out) { write_perfetto(*merged(parts, early.parts({{0, 0}, 1})), out); });
  };
  EXPECT_NE(bytes(1000), bytes(2000));
}

// The earlier span is the one of the process whose clock shows more.
TEST(AMergedTrace, ListsNamesInTheOrderOfTheCommonTime) {
  TraceBuilder a, b;
  a.range(10, 20, "late").range(30, 40, "same"), b.range(1000, 1010, "same").range(1020, 1030, "early");
  TraceParts late = a.parts({{0, 0}, 1}), early = b.parts({{0, 0}, 1});
  late.processes[0].unix_offset_ns = kEpoch;
  const Ref<Report> report = report_of_averages(*merged(late, early), {});
  std::string names;
  for (size_t row = 0; row < report->num_rows(); ++row)
    names += concat(report->text(report->find_column("Name")->at(row).text()), " ");
  EXPECT_EQ(names, "same early late ");
}

// Addresses are those of a process.
TEST(AMergedTrace, HasTheMemoryOfAllProcesses) {
  EXPECT_EQ(written([](ByteSink &out) { write_memory_timeline_raw(*near_and_far(), "", out); }),
            concat("[[-1,1,16,7],\n[-1,1,100,7],\n[", kEpoch + 2000, ",2,64,4],\n[", kEpoch + 3200, ",4,-16,7]]\n"));
}

// Ticks of the second one are later, but its times are not.
TEST(AMergedTrace, HasChangesOfMemoryInTheOrderOfTheCommonTime) {
  const auto parts = [](uint64_t tick, uint64_t bytes, int64_t offset) {
    TraceBuilder built;
    built.memory(EventKind::kAlloc, tick, {kDLCPU, 0}, {1, bytes, bytes, 0});
    TraceParts made = built.parts({{0, 0}, 1});
    made.has_memory = true;
    made.processes[0].unix_offset_ns = offset;
    return made;
  };
  const Ref<Trace> both = merged(parts(10, 5, 1000), parts(100, 7, 0));
  EXPECT_EQ(written([&](ByteSink &out) { write_memory_timeline_raw(*both, "", out); }),
            "[[100,2,7,2],\n[1010,2,5,2]]\n");
}

}  // namespace
}  // namespace opd
