// Traces of several processes as one: whose time, whose runs, whose numbers.
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/trace_builder.h"
#include "trace/model/trace.h"

namespace opd {
namespace {

// A range of "work" from the tick 1000 to 2000, of a process whose clock ticks so often.
TraceParts recorded(int64_t id, double ns_per_tick = 1, int64_t unix_offset_ns = 0) {
  TraceBuilder built;
  built.range(1000, 2000, "work");
  TraceParts parts = built.parts({{0, 0}, ns_per_tick}, id + 1);
  TraceProcess &process = parts.processes[0];
  process.id = id, process.name = "python", process.host = "here", process.unix_offset_ns = unix_offset_ns;
  return parts;
}

Ref<Trace> merged(const std::vector<Ref<Trace>> &traces, const TraceMergeOptions &options = {}) {
  std::vector<const Trace *> all;
  for (const auto &trace : traces) all.push_back(trace.get());
  return merge_traces(all, options);
}

std::vector<std::string> titles(const Ref<Trace> &trace) {
  std::vector<std::string> found;
  for (const TraceProcess &process : trace->parts.processes) found.push_back(process.title());
  return found;
}
std::vector<int64_t> begins(const Ref<Trace> &trace) {  // Unix times of the first range of each track
  std::vector<int64_t> found;
  for (const TraceTrack &track : trace->parts.tracks)
    found.push_back(trace->parts.process_of(track).unix_ns(track.ranges[0]->begin));
  return found;
}
using Titles = std::vector<std::string>;
using Times = std::vector<int64_t>;

TEST(MergedTraces, HaveUnixTimesFromEachProcessesOwnClock) {
  const Ref<Trace> both = merged({trace_of(recorded(1, 2, 5'000'000)), trace_of(recorded(2, 0.5, 7'000'000))});
  EXPECT_EQ(begins(both), (Times{5'002'000, 7'000'500}));
  EXPECT_EQ(both->first_ns(), 5'002'000);
  EXPECT_EQ(both->last_ns(), 7'001'000);
  EXPECT_EQ(both->parts.common_ticks(1000, both->parts.tracks[0]), 1000u);
  EXPECT_EQ(both->parts.common_ticks(1000, both->parts.tracks[1]), 250u) << "500 ns are 250 ticks of 2 ns";
  EXPECT_EQ(both->parts.duration_ns(250), 500);
}

TEST(MergedTraces, ShareTheOffsetOfTheirMonotonicClock) {
  TraceParts before = recorded(1, 1, 5'000'000), after = recorded(2, 1, 9'000'000),
             elsewhere = recorded(3, 1, 9'000'000);
  before.processes[0].clock_name = after.processes[0].clock_name = "boot 1";
  elsewhere.processes[0].clock_name = "boot 2";
  const auto all = merged({trace_of(before), trace_of(after), trace_of(elsewhere)});
  EXPECT_EQ(begins(all), (Times{5'001'000, 5'001'000, 9'001'000})) << "the system's time was set in between";
  TraceParts unknown = recorded(4, 1, 1'000);
  EXPECT_EQ(begins(merged({trace_of(recorded(5)), trace_of(unknown)})), (Times{1'000, 2'000}))
      << "no names: no one clock";
}

TEST(MergedTraces, AreMovedAndHaveTheStatedErrors) {
  TraceParts known = recorded(2);
  known.processes[0].clock_error_ns = 77;
  const Ref<Trace> one = trace_of(recorded(1)), other = trace_of(known);
  TraceMergeOptions options;
  options.shifts_ns = {-500, 2'000};
  options.clock_errors_ns = {40, -1};
  const Ref<Trace> both = merged({one, other}, options);
  EXPECT_EQ(begins(both), (Times{500, 3'000}));
  EXPECT_EQ(both->parts.processes[0].clock_error_ns, 40);
  EXPECT_EQ(both->parts.processes[1].clock_error_ns, 77);
  options.shifts_ns = {100, 0};
  options.clock_errors_ns = {};
  const Ref<Trace> again = merged({both, trace_of(recorded(3))}, options);
  EXPECT_EQ(begins(again), (Times{600, 3'100, 1'000})) << "what was moved before stays moved";
  EXPECT_EQ(again->parts.processes[0].shift_ns, -400);
  EXPECT_EQ(begins(one), Times{1'000}) << "the traces themselves do not change";
}

TEST(MergedTraces, DistinguishTheirProcesses) {
  TraceParts far = recorded(1);
  far.processes[0].host = "far";
  const Ref<Trace> one = trace_of(recorded(1)), two = trace_of(recorded(2)), same = trace_of(recorded(1));
  const Ref<Trace> all = merged({one, two, trace_of(recorded(1)), trace_of(far), same, trace_of(recorded(1))});
  EXPECT_EQ(titles(all),
            (Titles{"python", "python 2", "python 1", "python 1 on far", "python 1 on here", "python 1 on here #2"}));
  EXPECT_EQ(all->parts.distinct_ids(), (Times{1, 2, 10'000'001, 20'000'001, 30'000'001, 40'000'001}));
  TraceMergeOptions options;
  options.labels = {"rank 0", ""};
  const Ref<Trace> both = merged({one, two}, options);
  EXPECT_EQ(titles(both), (Titles{"rank 0", "python"}));
  EXPECT_TRUE(both->parts.is_merged());
  EXPECT_FALSE(one->parts.is_merged());
  options.labels = {"first", "second"};
  EXPECT_EQ(titles(merged({both, same}, options)), (Titles{"first: rank 0", "first: python", "second"}));
  TraceParts nameless = recorded(1);
  nameless.processes[0].name = "";
  EXPECT_EQ(titles(merged({trace_of(nameless)})), Titles{"process"});
}

TEST(MergedTraces, KeepTheirRunsApart) {
  TraceBuilder a, b;
  a.run(7, 100, 200, name_id("main")).run(8, 120, 130, name_id("inner"), {}, 7);
  b.run(7, 100, 200, name_id("main")).run(8, 120, 130, name_id("main"));
  const Ref<Trace> both = merged({trace_of(a.parts({{0, 0}, 1})), trace_of(b.parts({{0, 0}, 1}))});
  EXPECT_EQ(both->num_runs(), 3u);
  std::string numbers;
  for (const TraceTrack &track : both->parts.tracks)
    for (const Event *run : track.runs)
      numbers += concat(both->run_number(*run, track.process), both->is_run(*run, track.process) ? " " : "i ");
  EXPECT_EQ(numbers, "0 0i 1 2 ");
}

TEST(MergedTraces, ShareEventsAndKeepMetadataAndCounts) {
  TraceParts a = recorded(1), b = recorded(2);
  a.tracks[0].dropped = 3, b.tracks[0].dropped = 4;
  b.has_memory = true;
  a.metadata = {{"model", "x"}, {"host", "h"}};
  b.metadata = {{"model", "y"}, {"host", "h"}};
  const Ref<Trace> one = trace_of(a), other = trace_of(b), both = merged({one, other});
  EXPECT_EQ(both->num_dropped(), 7u);
  EXPECT_TRUE(both->parts.has_memory);
  EXPECT_EQ(both->parts.tracks[1].ranges[0], other->parts.tracks[0].ranges[0]) << "not copied";
  EXPECT_EQ(both->parts.tracks[1].process, 1u);
  const std::vector<std::pair<std::string, std::string>> expected{
      {"model", "x"}, {"host", "h"}, {"python 2: model", "y"}};
  EXPECT_EQ(both->parts.metadata, expected);
  EXPECT_EQ(merged({one})->parts.tracks.size(), 1u);
}

std::string merge_refusal(const std::vector<Ref<Trace>> &traces, const TraceMergeOptions &options = {}) {
  try {
    merged(traces, options);
  } catch (const Exception &e) { return e.error()->message; }
  return "";
}

TEST(MergedTraces, AreRefusedIfTheOptionsDoNotFit) {
  const Ref<Trace> one = trace_of(recorded(1)), two = trace_of(recorded(2));
  EXPECT_EQ(merge_refusal({}), "at least one trace is expected");
  EXPECT_EQ(merge_refusal({one, two, one}), "trace 2 is trace 0 again");
  EXPECT_EQ(merge_refusal({one, two}, {.labels = {"a"}}), "labels must be as many as the traces, 2, but are 1");
  EXPECT_EQ(merge_refusal({one, two}, {.labels = {"a", "a"}}), "labels 0 and 1 are both \"a\"");
  EXPECT_EQ(merge_refusal({one, two}, {.labels = {"", ""}}), "");
  EXPECT_EQ(merge_refusal({one}, {.shifts_ns = {1, 2}}), "offsets_ns must be as many as the traces, 1, but are 2");
  constexpr int64_t kMost = int64_t{1} << 60;
  EXPECT_EQ(merge_refusal({one}, {.shifts_ns = {kMost}}), "");
  EXPECT_EQ(merge_refusal({one}, {.shifts_ns = {-kMost - 1}}),
            "offsets_ns[0] is -1152921504606846977; times can be moved by at most 1152921504606846976 ns");
  const Ref<Trace> moved = merged({one}, {.shifts_ns = {kMost}});
  EXPECT_NE(merge_refusal({two, moved}, {.shifts_ns = {0, 1}}).find("offsets_ns[1] is 1;"), std::string::npos);
  EXPECT_NE(merge_refusal({moved}, {.shifts_ns = {INT64_MAX}}), "");
  EXPECT_NE(merge_refusal({one}, {.clock_errors_ns = {-2}}).find("clock_errors_ns[0] is -2"), std::string::npos);
  std::vector<TraceProcess> many(4096, TraceProcess{});
  TraceParts crowd;
  crowd.processes = many;
  EXPECT_EQ(merge_refusal({trace_of(crowd), one}), "the traces have 4097 processes; a trace has at most 4096");
  EXPECT_EQ(merge_refusal({trace_of(crowd)}), "");
}

TEST(TraceProcess, HasTheClockOfThisProcess) {
  const TraceProcess one = TraceProcess::of_this(), two = TraceProcess::of_this();
  EXPECT_EQ(one.clock_name, two.clock_name);
  EXPECT_EQ(one.host, two.host);
  EXPECT_GE(one.clock_error_ns, -1);
}

}  // namespace
}  // namespace opd
