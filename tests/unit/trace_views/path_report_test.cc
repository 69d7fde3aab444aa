// Traces by part: what the parts are, and what is in them.
#include <gtest/gtest.h>

#include <map>

#include "stats/diff.h"
#include "support/trace_builder.h"
#include "trace_views/trace_report.h"

namespace opd {
namespace {

// "Name|Run count total self" of each row, times in ns.
std::string rows(const Ref<Report> &report) {
  std::string out;
  const auto cell = [&](const char *name, size_t row) {
    const Column *column = report->find_column(name);
    return column ? column->at(row) : Metric{};
  };
  for (size_t row = 0; row < report->num_rows(); ++row) {
    out += report->text(cell("Name", row).text());
    for (const char *name : {"Run", "Depth", "Parent", "Count"})
      if (const Metric metric = cell(name, row))
        out += concat(*name == 'C' ? " x" : " ", *name == 'C' ? "" : std::string(1, *name), metric.count());
    for (const char *name : {"Duration (us)", "Self (us)"})
      out += concat(" ", static_cast<int64_t>(cell(name, row).number() * 1000 + 0.5));
    out += "\n";
  }
  return out;
}

void step(TraceBuilder &built, uint64_t begin, uint64_t end) { built.range(begin, end, nullptr, EventKind::kStep, 1); }

TEST(Paths, AreJoinedByTheirStacks) {
  TraceBuilder built;
  built.range(20, 30, "b;c").range(10, 40, "a").range(50, 60, "b;c").range(60, 65, "b;c").range(45, 70, "a");
  built.range(100, 110, "b;c").range(120, 120, "moment", EventKind::kMark);
  EXPECT_EQ(rows(report_of_paths(*trace_of(built), false)),
            "a D0 x2 55 30\n"
            "a;b_c D1 P0 x3 25 25\n"
            "b_c D0 x1 10 10\n");
}

TEST(Parts, AreStepsIfThereAreAny) {
  TraceBuilder main, other;
  main.range(0, 5, "before").range(20, 30, "op").run(1, 15, 40, name_id("run"));
  step(main, 10, 50);
  main.range(60, 70, "op").range(75, 95, "op");
  step(main, 50, 90);
  other.range(45, 60, "late").range(91, 99, "after");
  TraceParts parts = main.parts(kNanoseconds);
  parts.tracks.push_back(other.track(43));
  const Ref<Trace> trace = make_object<Trace>(parts);
  EXPECT_EQ(rows(report_of_averages_by_part(*trace)),
            "ProfilerStep* R0 x1 40 15\n"
            "run R0 x1 25 15\n"
            "op R0 x1 10 10\n"
            "late R0 x1 15 15\n"
            "ProfilerStep* R1 x1 40 30\n"
            "op R1 x2 30 30\n");
}

TEST(Parts, AreStepsOfTheSameProcess) {
  TraceBuilder with, without;
  with.range(20, 30, "op");
  step(with, 10, 50);
  without.range(20, 30, "op");
  const Ref<Trace> steps = trace_of(with), none = trace_of(without);
  for (const bool is_first : {true, false}) {
    const Trace *const both[] = {(is_first ? steps : none).get(), (is_first ? none : steps).get()};
    const std::string found = rows(report_of_averages_by_part(*merge_traces(both, {})));
    EXPECT_NE(found.find("ProfilerStep* R0 x1 40 30\n"), std::string::npos) << found;
    EXPECT_NE(found.find("op R0 x1 10 10\n"), std::string::npos) << "the other one is of no part: " << found;
  }
}

TEST(Parts, WithoutStepsAreOutermostRuns) {
  TraceBuilder built;
  built.range(1, 2, "op").range(4, 8, "op").run(2, 3, 9, name_id("inner")).run(1, 0, 10, name_id("main"));
  built.range(22, 24, "op").run(3, 20, 30, name_id("main"));
  built.range(0, 35, "all").range(36, 40, "op");
  EXPECT_EQ(rows(report_of_averages_by_part(*trace_of(built))),
            "main R0 x1 10 3\nop R0 x2 5 5\ninner R0 x1 6 2\n"
            "main R1 x1 10 8\nop R1 x1 2 2\n");
  EXPECT_EQ(rows(report_of_paths(*trace_of(built), true)),
            "all;main R0 x1 10 3\nall;main;op R0 x1 1 1\nall;main;inner R0 x1 6 2\nall;main;inner;op R0 x1 4 4\n"
            "all;main R1 x1 10 8\nall;main;op R1 x1 2 2\n");
}

TEST(Parts, WithoutRunsAreOutermostRangesOrTheWholeTrace) {
  TraceBuilder ranges, calls, nothing;
  ranges.range(2, 4, "inner").range(0, 10, "outer").range(20, 25, "outer");
  EXPECT_EQ(rows(report_of_averages_by_part(*trace_of(ranges))),
            "outer R0 x1 10 8\ninner R0 x1 2 2\nouter R1 x1 5 5\n");
  calls.call({0, 10, name_id("op")}, {}).call({20, 30, name_id("op")}, {});
  EXPECT_EQ(rows(report_of_averages_by_part(*trace_of(calls))), "op R0 x2 20 20\n");
  EXPECT_EQ(rows(report_of_averages_by_part(*trace_of(nothing))), "");
  EXPECT_EQ(rows(report_of_paths(*trace_of(nothing), true)), "");
}

// Names tell rows apart, and devices; not what the spans are.
TEST(Parts, HaveARowForEachNameAndDevice) {
  TraceBuilder built;
  int64_t size = 4;
  const auto on = [&](DLDeviceType kind, int32_t number) {
    return DLTensor{nullptr, {kind, number}, 1, {kDLFloat, 32, 1}, &size, nullptr, 0};
  };
  DLTensor tensors[] = {on(kDLOpenCL, 0), on(kDLOpenCL, 1), on(kDLVulkan, 0), on(kDLCPU, 0)};
  uint64_t at = 0;
  for (DLTensor &tensor : tensors) {
    const View arg = opd_dltensor(&tensor);
    built.call({at, at + 10, name_id("op")}, {&arg, 1});
    at += 20;
  }
  built.range(at, at + 5, "op");
  step(built, 0, 200);
  const Ref<Report> report = report_of_averages_by_part(*trace_of(built));
  EXPECT_EQ(rows(report),
            "ProfilerStep* R0 x1 200 155\nop R0 x1 10 10\nop R0 x1 10 10\nop R0 x1 10 10\nop R0 x2 15 15\n")
      << "a range is on cpu0";
}

TEST(Parts, LeaveOutUnfinishedSpans) {
  TraceBuilder built;
  built.range(2, 4, "op").range(0, 10, "whole");
  TraceParts parts = built.parts(kNanoseconds);
  Event open{};
  open.begin = 20, open.end = 40, open.name = name_id("cut"), open.kind = EventKind::kRange, open.is_open = true;
  parts.tracks[0].add_open({&open, 1});
  EXPECT_EQ(rows(report_of_averages_by_part(*make_object<Trace>(parts))), "whole R0 x1 10 8\nop R0 x1 2 2\n");
}

TEST(Parts, AreNumberedByTheirBeginsOnAllThreads) {
  TraceBuilder late, early;
  late.range(100, 110, "b").range(5, 8, "d");
  early.range(50, 60, "a").range(120, 130, "c");
  TraceParts parts = late.parts(kNanoseconds);
  parts.tracks.push_back(early.track(43));
  EXPECT_EQ(rows(report_of_averages_by_part(*make_object<Trace>(parts))),
            "d R0 x1 3 3\na R1 x1 10 10\nb R2 x1 10 10\nc R3 x1 10 10\n");
}

TEST(Parts, CountTheTimeOfARecursionOnce) {
  TraceBuilder built;
  built.range(2, 4, "f").range(5, 6, "f").range(1, 8, "g").range(0, 10, "f").range(12, 14, "f");
  step(built, 0, 20);
  EXPECT_EQ(rows(report_of_averages_by_part(*trace_of(built))),
            "ProfilerStep* R0 x1 20 8\nf R0 x4 12 8\ng R0 x1 7 4\n");
}

// Ten parts of which "slow" took 100 before and 200 after, a little more each time; "same" always takes the same.
Ref<Trace> with_slow(uint64_t ticks) {
  TraceBuilder built;
  for (uint64_t i = 0; i < 10; ++i) {
    const uint64_t at = i * 100'000;
    built.range(at, at + ticks * 100 + (i * 7) % 10, "slow").range(at + 50'000, at + 51'000 + (i * 3) % 10, "same");
    built.run(i + 1, at, at + 90'000, name_id("main"));
  }
  return trace_of(built);
}

TEST(Parts, AreTheRunsOfADiff) {
  const Ref<Trace> old_trace = with_slow(100), new_trace = with_slow(200);
  for (const bool by_path : {false, true}) {
    const auto view = [&](const Trace &trace) {
      return by_path ? report_of_paths(trace, true) : report_of_averages_by_part(trace);
    };
    const Ref<Report> before = view(*old_trace), after = view(*new_trace);
    const Report *sides[] = {before.get(), after.get()};
    const Ref<Diff> diff = Diff::of_reports({sides, 1}, {sides + 1, 1}, {});
    EXPECT_EQ(diff->num_before(), 10u);
    EXPECT_EQ(diff->num_after(), 10u);
    std::map<std::string, std::string> verdicts;
    for (const DiffOperator &one : diff->operators) verdicts[one.name] = verdict_name(one.verdict);
    const std::string around = by_path ? "main;" : "";
    EXPECT_EQ(verdicts[around + "slow"], "regression");
    EXPECT_EQ(verdicts[around + "same"], "same");
    EXPECT_EQ(verdicts["(total)"], "same") << "what main does beside them became shorter";
  }
}

}  // namespace
}  // namespace opd
