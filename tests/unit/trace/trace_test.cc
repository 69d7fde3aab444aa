// What a trace tells of its times, processes and events.
#include "trace/model/trace.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/timex.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "support/trace_builder.h"
#include "trace/record/recording.h"

namespace opd {
namespace {
struct ClockAnswer {
  int state;
  long most_error_us;
};
std::optional<ClockAnswer> clock_answer;  // of the system, about its Unix time; none: its own
}  // namespace
}  // namespace opd

// The library calls this one.
extern "C" int adjtimex(timex *answer) noexcept {
  if (!opd::clock_answer) return clock_adjtime(CLOCK_REALTIME, answer);
  answer->maxerror = opd::clock_answer->most_error_us;
  return opd::clock_answer->state;
}

namespace opd {
namespace {

// NTP's bound is in microseconds. It says nothing of a clock that nobody sets.
TEST(UnixTimes, HaveTheErrorThatTheSystemStates) {
  const auto error_of = [](const ClockAnswer &answer) {
    clock_answer = answer;
    const int64_t error = TraceProcess::of_this().clock_error_ns;
    clock_answer.reset();
    return error;
  };
  EXPECT_EQ(error_of({TIME_OK, 16}), 16'000);
  EXPECT_EQ(error_of({TIME_INS, 0}), 0);
  EXPECT_EQ(error_of({TIME_ERROR, 16}), -1);
  EXPECT_EQ(error_of({-1, 16}), -1) << "it does not answer";
  EXPECT_EQ(error_of({TIME_OK, -1}), -1);
}

TEST(AProcess, HasTheNameOfItsHost) {
  char host[256] = "";
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_EQ(TraceProcess::of_this().host, host);
}

TEST(UnixTimes, HaveTheirErrorInFilesToo) {
  std::string directory = std::filesystem::temp_directory_path() / "opdyno-clock.XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  clock_answer = {TIME_OK, 16};
  RecordingOptions options;
  options.file = directory + "/events";
  EXPECT_EQ(Recording::start(options)->stop()->parts.processes[0].clock_error_ns, 16'000);
  clock_answer.reset();
  std::filesystem::remove_all(directory);
}

TEST(UnixTimes, AreRoundedToWholeNanoseconds) {
  TraceProcess process;
  process.line = {{1000, 500}, 0.25};
  process.unix_offset_ns = 10'000, process.shift_ns = -100;
  struct Row {
    uint64_t ticks;
    int64_t ns;  // after the anchor
  };
  for (const Row &row : std::initializer_list<Row>{
           {1000, 0}, {1001, 0}, {1002, 1}, {1003, 1}, {1004, 1}, {1006, 2}, {999, 0}, {998, -1}, {997, -1}, {0, -250}})
    EXPECT_EQ(process.unix_ns(row.ticks), 10'400 + row.ns) << row.ticks;
  process.line = {{0, 0}, 1};
  process.unix_offset_ns = 1'700'000'000'123'456'789, process.shift_ns = 0;
  EXPECT_EQ(process.unix_ns(7), 1'700'000'000'123'456'796) << "a double would lose the last digits";
}

TEST(Lengths, AreInTicksOfTheFirstProcess) {
  TraceParts parts;
  parts.processes.resize(2);
  parts.processes[0].line.ns_per_tick = 2, parts.processes[1].line.ns_per_tick = 0.5;
  TraceTrack first, second;
  second.process = 1;
  EXPECT_EQ(parts.common_ticks(7, first), 7u);
  EXPECT_EQ(parts.common_ticks(5, second), 1u) << "1.25";
  EXPECT_EQ(parts.common_ticks(6, second), 2u) << "1.5";
  EXPECT_EQ(parts.common_ticks(7, second), 2u) << "1.75";
  EXPECT_EQ(parts.duration_ns(3), 6);
}

TEST(TitlesOfProcesses, NameAtMostFourProcesses) {
  TraceParts parts;
  const auto titles_of = [&](size_t count) {
    parts.processes.assign(count, {});
    for (size_t i = 0; i < count; ++i) parts.processes[i].name = concat("p", i);
    return parts.titles();
  };
  EXPECT_EQ(titles_of(1), "p0");
  EXPECT_EQ(titles_of(4), "p0, p1, p2, p3");
  EXPECT_EQ(titles_of(5), "p0, p1, p2, p3 and 1 more");
  EXPECT_EQ(titles_of(7), "p0, p1, p2, p3 and 3 more");
}

TEST(ATrace, CountsItsEventsAndHasTheirFirstAndLastTime) {
  TraceBuilder built;
  built.run(1, 100, 200, name_id("main")).range(150, 900, "range").range(120, 120, "mark", EventKind::kMark);
  built.call({130, 140, name_id("a")}, {}).memory(EventKind::kAlloc, 50, {kDLCPU, 0}, {1, 8, 8, 8});
  TraceParts parts = built.parts({{0, 0}, 1});
  parts.tracks[0].dropped = 2;
  const auto trace = make_object<Trace>(std::move(parts));
  EXPECT_EQ(trace->num_calls(), 1u);
  EXPECT_EQ(trace->num_spans(), 4u) << "memory is no span";
  EXPECT_EQ(trace->num_dropped(), 2u);
  EXPECT_EQ(trace->first_ns(), 50);
  EXPECT_EQ(trace->last_ns(), 900);
  const auto nothing = make_object<Trace>(TraceParts{});
  EXPECT_EQ(nothing->first_ns(), std::nullopt);
  EXPECT_EQ(nothing->last_ns(), std::nullopt);
}

TEST(ATrace, CanDropEventsThatEndedBeforeATick) {
  TraceBuilder built, earlier;
  built.range(10, 20, "before").range(10, 30, "at").range(25, 40, "after");
  built.memory(EventKind::kAlloc, 29, {kDLCPU, 0}, {1, 8, 8, 8})
      .memory(EventKind::kFree, 30, {kDLCPU, 0}, {1, 8, 0, 8});
  earlier.range(1, 29, "all of the thread");
  TraceParts parts = built.parts({{0, 0}, 1});
  parts.tracks.push_back(earlier.track());
  parts.drop_before(30);
  ASSERT_EQ(parts.tracks.size(), 1u);
  ASSERT_EQ(parts.tracks[0].ranges.size(), 2u);
  EXPECT_EQ(name_text(parts.tracks[0].ranges[0]->name), "at") << "it began before, but ended then";
  ASSERT_EQ(parts.tracks[0].memory.size(), 1u);
  EXPECT_EQ(parts.tracks[0].memory[0]->kind, EventKind::kFree);
}

TEST(ATrace, CanDropEventsAfterATick) {
  TraceBuilder built, later;
  built.range(10, 20, "before").range(25, 40, "goes on").range(30, 50, "at").range(31, 60, "after");
  built.range(30, 30, "mark", EventKind::kMark).range(31, 31, "mark after", EventKind::kMark);
  built.run(1, 30, 70, name_id("main")).run(2, 31, 70, name_id("main"));
  built.call({20, 30, name_id("a")}, {}).call({20, 31, name_id("b")}, {});
  later.range(31, 32, "all of the thread");
  TraceParts parts = built.parts({{0, 0}, 1});
  parts.tracks.push_back(later.track());
  parts.drop_after(30);
  ASSERT_EQ(parts.tracks.size(), 1u);
  std::string kept;
  for (const auto *list : parts.tracks[0].lists())
    for (const Event *event : *list) kept += concat(name_text(event->name), " ", event->run, ", ");
  for (const char *name : {"before 0, ", "goes on 0, ", "at 0, ", "mark 0, ", "main 1, ", "a 1, "})
    EXPECT_NE(kept.find(name), std::string::npos) << name << ": " << kept;
  for (const char *name : {"after", "main 2", "b 1"}) EXPECT_EQ(kept.find(name), std::string::npos) << kept;
}

TEST(ProcessesOfOneNumber, GetDistinctIds) {
  TraceParts parts;
  parts.processes.resize(4);
  for (const size_t i : {0u, 1u, 3u}) parts.processes[i].id = 7;
  parts.processes[2].id = 10'000'007;
  EXPECT_EQ(parts.distinct_ids(), (std::vector<int64_t>{7, 10'000'007, 20'000'007, 30'000'007}));
}

// A run within another one has the number of the outermost.
TEST(ATrace, NumbersTheOutermostRuns) {
  TraceBuilder built;
  built.run(7, 20, 30, name_id("inner"), {}, 5).run(5, 10, 40, name_id("outer")).run(9, 50, 60, name_id("second"));
  built.call({21, 22, name_id("a"), 7}, {}).call({51, 52, name_id("b"), 9}, {}).call({71, 72, name_id("c"), 8}, {});
  const auto trace = make_object<Trace>(built.parts({{0, 0}, 1}));
  ASSERT_EQ(trace->num_runs(), 2u);
  const auto &runs = trace->parts.tracks[0].runs;
  EXPECT_FALSE(trace->is_run(*runs[0])) << "inner";
  EXPECT_TRUE(trace->is_run(*runs[1]));
  EXPECT_TRUE(trace->is_run(*runs[2]));
  const auto &calls = trace->parts.tracks[0].calls;
  EXPECT_EQ(trace->run_number(*calls[0]), 0u);
  EXPECT_EQ(trace->run_number(*calls[1]), 1u);
  EXPECT_GE(trace->run_number(*calls[2]), 2u) << "of no run that is known";
}

TEST(ATrace, HasTheSizesOfItsTensors) {
  TraceBuilder built;
  int64_t dims[] = {3, 5};
  DLTensor halves{nullptr, {kDLCPU, 0}, 2, {kDLFloat, 16, 1}, dims, nullptr, 0}, bits = halves, vectors = halves;
  bits.dtype = {kDLInt, 1, 1}, vectors.dtype = {kDLFloat, 32, 4};
  const View args[] = {opd_dltensor(&halves), opd_dltensor(&bits), opd_dltensor(&vectors)};
  built.call({1, 2, name_id("a")}, args);
  const TraceTrack track = built.track();
  EXPECT_EQ(tensor_bytes(*track.calls[0]), 15 * 2u + 2 + 15 * 16) << "15 bits are two bytes";
}

}  // namespace
}  // namespace opd
