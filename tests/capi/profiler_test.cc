// Profilers of the whole process, and ranges.
#include <atomic>
#include <map>
#include <regex>
#include <thread>

#include "support/recording_files.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

const char *const kKernelAndPlain = R"(
.func main(x) {
  call test.profiler.kernel(%x)
  call test.profiler.plain(1)
  ret %x
})";

std::function<void()> within;

Vm program() {
  define("test.profiler.kernel", [](const opd_value *, int32_t, opd_value *) {
    const Range range("in the kernel");
    if (within) within();
  });
  define("test.profiler.plain", [](const opd_value *, int32_t, opd_value *) {});
  return Vm(Executable::assemble(kKernelAndPlain).to_module());
}

struct Span {
  double begin, end;
};
// The spans of a name in a Chrome trace, in microseconds, by rising begin.
std::vector<Span> spans(const Trace &trace, const std::string &name) {
  std::vector<Span> found;
  const std::string json = trace.chrome();
  const std::regex event("\"name\":\"" + name + "\",\"pid\":\\d+,\"tid\":\\d+,\"ts\":([0-9.]+),\"dur\":([0-9.]+)");
  for (std::sregex_iterator at(json.begin(), json.end(), event), end; at != end; ++at) {
    const double begin = std::stod((*at)[1]);
    found.push_back({begin, begin + std::stod((*at)[2])});
  }
  std::sort(found.begin(), found.end(), [](const Span &a, const Span &b) { return a.begin < b.begin; });
  return found;
}

TEST(AProfiler, RecordsAllVmsAndRangesOnAllThreads) {
  const Vm one = program(), two = program();
  const Profiler profiler;
  profiler.start();
  {
    const Range outer("outer");
    one.call("main", floats({1}));
  }
  std::thread([&] {
    const Range elsewhere(opdyno::range_name("elsewhere"));
    two.call("main", floats({1}));
    two.call("main", floats({1}));
  }).join();
  const Trace trace = profiler.stop();
  EXPECT_EQ(trace.size(), 3u) << "calls of kernels; the plain one has no tensor";
  EXPECT_EQ(trace.dropped(), 0u);
  ASSERT_EQ(spans(trace, "outer").size(), 1u);
  ASSERT_EQ(spans(trace, "elsewhere").size(), 1u);
  EXPECT_EQ(spans(trace, "main").size(), 3u);
  const auto kernels = spans(trace, "test\\.profiler\\.kernel"), inner = spans(trace, "in the kernel");
  ASSERT_EQ(kernels.size(), 3u);
  ASSERT_EQ(inner.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LE(kernels[i].begin, inner[i].begin);
    EXPECT_GE(kernels[i].end, inner[i].end);
  }
  const Span outer = spans(trace, "outer")[0], elsewhere = spans(trace, "elsewhere")[0];
  EXPECT_LE(outer.begin, kernels[0].begin);
  EXPECT_GE(outer.end, kernels[0].end);
  EXPECT_GE(elsewhere.begin, outer.end) << "one time line for both threads";
  EXPECT_LE(elsewhere.begin, kernels[1].begin);
  EXPECT_GE(elsewhere.end, kernels[2].end);
}

TEST(AProfiler, RecordsCallsWithoutTensorsIfAskedTo) {
  opd_profiler_options options;
  opd_profiler_options_init(&options);
  options.all_calls = 1;
  const Profiler profiler(&options);
  const Vm vm = program();
  profiler.start();
  vm.call("main", floats({1}));
  EXPECT_EQ(spans(profiler.stop(), "test\\.profiler\\.plain").size(), 1u);
}

TEST(AProfiler, CanBeStartedAgainAndKeepsNothingOfBefore) {
  const Profiler profiler;
  for (const char *name : {"first", "second"}) {
    profiler.start();
    { const Range range(name); }
    const Trace trace = profiler.stop();
    EXPECT_EQ(spans(trace, name).size(), 1u);
    EXPECT_EQ(spans(trace, "first").size() + spans(trace, "second").size(), 1u);
  }
}

TEST(AProfiler, CountsDroppedEvents) {
  opd_profiler_options options;
  opd_profiler_options_init(&options);
  options.max_events = 10;
  const Profiler profiler(&options);
  profiler.start();
  for (int i = 0; i < 15; ++i) const Range range("many");
  const Trace trace = profiler.stop();
  EXPECT_EQ(spans(trace, "many").size(), 10u);
  EXPECT_EQ(trace.dropped(), 5u);
  EXPECT_TRUE(trace.table().starts_with("Dropped events: 5\n")) << trace.table();
  EXPECT_NE(trace.chrome().find("\"opdyno_dropped_calls\":5,"), std::string::npos);
  EXPECT_NE(trace.write(OPD_TRACE_SPEEDSCOPE).find(", dropped events: 5\""), std::string::npos);
  EXPECT_EQ(number_of(configuration_value(trace.report(OPD_TRACE_KEY_AVERAGES), "Dropped calls")), 5);
}

// Each of the kinds of events that several profilers record at once: runs, calls, ranges.
TEST(AProfiler, DoesNotAffectOthersIfItIsFull) {
  opd_profiler_options options;
  opd_profiler_options_init(&options);
  options.max_events = 1;
  const Vm runs(Executable::assemble(".func main(x) {\n  ret %x\n}").to_module()), calls = program();
  const std::pair<const char *, std::function<void()>> kinds[] = {
      {"main", [&] { runs.call("main", floats({1})); }},
      {"test\\.profiler\\.kernel", [&] { calls.call("main", floats({1})); }},
      {"many", [] { const Range range("many"); }},
  };
  for (const auto &[name, happens] : kinds) {
    const Profiler small(&options), large;
    small.start(), large.start();
    for (int i = 0; i < 3; ++i) happens();
    const Trace few = small.stop(), all = large.stop();
    EXPECT_EQ(spans(all, name).size(), 3u) << name;
    EXPECT_EQ(all.dropped(), 0u) << name;
    EXPECT_LE(spans(few, name).size(), 1u) << name;
    EXPECT_GE(few.dropped(), 2u) << name;
  }
}

TEST(AProfiler, SharesTheProcessWithOthersAndWithProfilesOfVms) {
  const Vm vm = program();
  const Profiler first, second;
  first.start();
  check(opd_vm_profile_start(vm.get(), nullptr));
  vm.call("main", floats({1}));
  second.start();
  vm.call("main", floats({1}));
  { const Range range("late"); }
  const Trace early = first.stop();
  vm.call("main", floats({1}));
  Report report;
  check(opd_vm_profile_stop(vm.get(), report.out(), nullptr));
  const Trace late = second.stop();
  EXPECT_EQ(early.size(), 2u);
  EXPECT_EQ(late.size(), 2u);
  EXPECT_EQ(spans(early, "late").size(), 1u);
  EXPECT_EQ(spans(late, "late").size(), 1u);
  EXPECT_EQ(opd_report_call_count(report.get()), 3 + 2) << "and two rows that are computed; no ranges";
}

TEST(AProfiler, RefusesCallsInTheWrongOrder) {
  const Profiler profiler;
  Trace trace;
  expect_error(opd_profiler_stop(profiler.get(), trace.out()), OPD_FAILED_PRECONDITION, "start it first");
  profiler.start();
  expect_error(opd_profiler_start(profiler.get()), OPD_FAILED_PRECONDITION, "started already");
  profiler.stop();
  expect_error(opd_profiler_snapshot(profiler.get(), trace.out()), OPD_FAILED_PRECONDITION, "start it first");
  expect_error(opd_profiler_stop(profiler.get(), nullptr), OPD_INVALID_ARGUMENT);
  expect_error(opd_profiler_start(nullptr), OPD_INVALID_ARGUMENT);
  opd_profiler_options options;
  opd_profiler_options_init(&options);
  options.all_calls = 2;
  opd_profiler *other = nullptr;
  expect_error(opd_profiler_create(&options, &other), OPD_INVALID_ARGUMENT, "all_calls must be 0 or 1");
}

TEST(AProfiler, EndsWhenItIsReleased) {
  {
    const Profiler profiler;
    profiler.start();
    EXPECT_TRUE(opdyno::range_is_recorded());
    const uint64_t range = opd_range_begin(opdyno::range_name("kept"));
    EXPECT_NE(range, 0u);
    opd_range_end(range);
  }
  EXPECT_FALSE(opdyno::range_is_recorded());
  EXPECT_EQ(opd_range_begin(opdyno::range_name("kept")), 0u);
}

// One row for each span of the name, in the order of their begins.
struct SpanRow {
  std::string kind;
  double start, duration, self;
  int64_t parent, depth;
  bool is_open;
};
std::vector<SpanRow> rows(const Trace &trace, const std::string &name) {
  const Report report = trace.report(OPD_TRACE_EVENTS);
  std::vector<SpanRow> found;
  const std::vector<std::string> columns = report.columns();
  for (size_t row = 0; row < report.count(); ++row) {
    if (text_value(call_value(report, row, "Name")) != name) continue;
    const auto whole = [&](const char *column, int64_t otherwise) {
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) return otherwise;
      const Value value = call_value(report, row, column);
      return value.type() == OPD_INT ? value.view().u.int64 : otherwise;
    };
    const auto number = [&](const char *column) { return number_of(call_value(report, row, column)); };
    found.push_back({text_value(call_value(report, row, "Kind")), number("Start (us)"), number("Duration (us)"),
                     number("Self (us)"), whole("Parent", -1), whole("Depth", 0), whole("Open", 0) != 0});
  }
  return found;
}

TEST(AProfiler, AcceptsInvalidNameNumbers) {
  const Profiler profiler;
  profiler.start();
  for (const uint32_t number : {UINT32_MAX, UINT32_MAX - 1, 1u << 31, (1u << 20) + 1})
    opd_range_end(opd_range_begin(number));
  const Trace trace = profiler.stop();
  EXPECT_EQ(rows(trace, "?").size(), 4u);
  for (const auto view : {OPD_TRACE_EVENTS, OPD_TRACE_KEY_AVERAGES, OPD_TRACE_KEY_AVERAGES_BY_SHAPE})
    EXPECT_EQ(trace.report(view).count(), 4u);
  for (int format = OPD_TRACE_CHROME; format <= OPD_TRACE_FLAME_SVG; ++format)
    EXPECT_NE(trace.write(static_cast<opd_trace_format>(format)), "");
}

TEST(AProfiler, StopsDuringACallAndShowsOpenSpans) {
  const Profiler profiler, later;
  const Vm vm = program();
  Trace trace;
  within = [&] {
    const Range range("amid a call");
    trace = profiler.stop();
  };
  profiler.start();
  later.start();
  {
    const Range range("around");
    vm.call("main", floats({1}));
  }
  within = nullptr;
  EXPECT_EQ(trace.size(), 0u) << "the call had not ended";
  ASSERT_EQ(rows(trace, "around").size(), 1u);
  EXPECT_TRUE(rows(trace, "around")[0].is_open);
  ASSERT_EQ(rows(trace, "main").size(), 1u);
  EXPECT_TRUE(rows(trace, "main")[0].is_open);
  EXPECT_EQ(rows(trace, "main")[0].kind, "run");
  ASSERT_EQ(rows(trace, "amid a call").size(), 1u);
  const SpanRow inner = rows(trace, "amid a call")[0], outer = rows(trace, "around")[0];
  EXPECT_EQ(inner.depth, 3) << "within two ranges and a run";
  EXPECT_NEAR(inner.start + inner.duration, outer.start + outer.duration, 0.01) << "all end with the recording";
  const Trace whole = later.stop();
  for (const char *name : {"around", "main", "amid a call"}) {
    ASSERT_EQ(rows(whole, name).size(), 1u) << name;
    EXPECT_FALSE(rows(whole, name)[0].is_open) << name;
  }
  profiler.start();
  EXPECT_EQ(profiler.stop().size(), 0u) << "can be started again, though its last recording ended amid a call";
}

// While a run that a stopped profiler recorded goes on, no other recording may get what it writes.
TEST(AProfiler, AddsNoCallsToOthersIfStoppedDuringARun) {
  const Profiler first;
  const Vm vm = program();
  std::vector<Trace> traces;
  bool is_first = true;
  within = [&] {
    if (!std::exchange(is_first, false)) return;
    first.stop();
    for (int i = 0; i < 20; ++i) {
      const Profiler other;
      other.start();
      vm.call("main", floats({1}));
      traces.push_back(other.stop());
    }
  };
  first.start();
  vm.call("main", floats({1}));
  within = nullptr;
  ASSERT_EQ(traces.size(), 20u);
  for (const Trace &trace : traces) EXPECT_EQ(trace.size(), 1u);
}

TEST(AProfiler, HasNoCallsOfAStoppedProfilersRun) {
  const Profiler first, second;
  const Vm vm = program();
  within = [&] {
    first.stop();
    second.start();
    const Range range("second's");
  };
  first.start();
  vm.call("main", floats({1}));
  within = nullptr;
  const Trace trace = second.stop();
  EXPECT_EQ(rows(trace, "second's").size(), 1u);
  EXPECT_EQ(trace.size(), 0u) << "the call began before it, and belongs to a recording that has ended";
}

TEST(AProfiler, RecordsTheStepsOfItsSchedule) {
  opd_profiler_options options;
  opd_profiler_options_init(&options);
  options.skip_first = 1, options.wait = 1, options.warmup = 1, options.active = 2, options.repeat = 2;
  const Profiler profiler(&options);
  profiler.start();
  std::vector<std::string> cycles;
  for (int i = 0; i < 12; ++i) {
    { const Range range(("work " + std::to_string(i)).c_str()); }
    const Trace trace = profiler.step();
    if (!trace.get()) continue;
    std::string seen = std::to_string(i) + ":";
    for (int j = 0; j < 12; ++j) {
      if (rows(trace, "work " + std::to_string(j)).size()) seen += " " + std::to_string(j);
      if (spans(trace, "ProfilerStep#" + std::to_string(j)).size()) seen += "#";
    }
    cycles.push_back(seen);
    EXPECT_EQ(rows(trace, "ProfilerStep*").size(), 2u);
    EXPECT_EQ(rows(trace, "ProfilerStep*")[0].kind, "step");
  }
  // By torch: steps 0 (skipped), 1 (waits), 2 (warms up), 3 and 4, 5, 6, 7 and 8.
  EXPECT_EQ(cycles, (std::vector<std::string>{"4: 3# 4#", "8: 7# 8#"}));
  EXPECT_EQ(profiler.stop().get(), nullptr) << "the schedule was not recording";
}

TEST(AProfiler, FollowsActionsInsteadOfASchedule) {
  const Profiler profiler;
  const opd_profiler_action actions[] = {
      OPD_PROFILER_NONE,   OPD_PROFILER_RECORD,          OPD_PROFILER_RECORD,
      OPD_PROFILER_WARMUP, OPD_PROFILER_RECORD_AND_SAVE, OPD_PROFILER_RECORD_AND_SAVE,
      OPD_PROFILER_NONE};
  std::string seen;
  for (int i = 0; i < 7; ++i) {
    profiler.set_action(actions[i]);
    if (i == 0) {
      profiler.start();
      continue;
    }
    const Trace trace = profiler.step();
    if (!trace.get()) continue;
    seen += std::to_string(i - 1) + ":";
    for (int j = 0; j < 7; ++j)
      if (spans(trace, "ProfilerStep#" + std::to_string(j)).size()) seen += std::to_string(j);
    seen += " ";
  }
  EXPECT_EQ(seen, "2:12 4:4 5:5 ") << "also a cycle that ends with a step that is not recorded";
  EXPECT_EQ(profiler.stop().get(), nullptr);
  expect_error(opd_profiler_set_action(profiler.get(), static_cast<opd_profiler_action>(4)), OPD_INVALID_ARGUMENT);
}

TEST(AProfiler, GivesItsTraceIfStoppedDuringACycle) {
  opd_profiler_options options;
  opd_profiler_options_init(&options);
  options.active = 5;
  const Profiler profiler(&options);
  profiler.start();
  EXPECT_EQ(profiler.step().get(), nullptr);
  { const Range range("last"); }
  const Trace trace = profiler.stop();
  ASSERT_NE(trace.get(), nullptr);
  EXPECT_EQ(rows(trace, "last").size(), 1u);
  EXPECT_EQ(rows(trace, "ProfilerStep*").size(), 2u);
  for (const char *bad : {"no active step", "skip_first_wait", "too many"}) {
    opd_profiler_options wrong;
    opd_profiler_options_init(&wrong);
    opd_profiler *made = nullptr;
    if (bad[0] == 'n') wrong.wait = 1;
    if (bad[0] == 's') wrong.active = 1, wrong.skip_first_wait = 2;
    if (bad[0] == 't') wrong.active = UINT64_MAX;
    expect_error(opd_profiler_create(&wrong, &made), OPD_INVALID_ARGUMENT);
  }
}

TEST(Ranges, BelongToProfilersThatRecordAtTheirBegin) {
  const Profiler first, second;
  const uint32_t before = opdyno::range_name("before"), across = opdyno::range_name("across"),
                 late = opdyno::range_name("late");
  opd_range_end(opd_range_begin(before));
  first.start();
  const uint64_t begin = opd_range_begin(across);
  second.start();
  opd_range_end(begin);
  const uint64_t open = opd_range_begin(late);
  const Trace of_second = second.stop(), of_first = first.stop();
  EXPECT_EQ(rows(of_first, "before").size(), 0u);
  EXPECT_EQ(rows(of_first, "across").size(), 1u);
  EXPECT_EQ(rows(of_second, "across").size(), 0u);
  for (const Trace *trace : {&of_first, &of_second}) {
    ASSERT_EQ(rows(*trace, "late").size(), 1u);
    EXPECT_TRUE(rows(*trace, "late")[0].is_open);
  }
  first.start();
  opd_range_end(open);
  opd_range_end(open);
  opd_range_end(12345);
  EXPECT_EQ(rows(first.stop(), "late").size(), 0u) << "it began before this recording";
}

TEST(Ranges, HaveNumbersForTheirNames) {
  EXPECT_EQ(opd_range_name("same"), opdyno::range_name("same"));
  EXPECT_NE(opd_range_name("same"), opd_range_name("other"));
  EXPECT_EQ(opd_range_name(nullptr), opd_range_name(""));
  const Profiler profiler;
  profiler.start();
  opd_range_end(opd_range_begin(4'000'000));
  EXPECT_EQ(spans(profiler.stop(), "\\?").size(), 1u) << "no such name";
}

TEST(Ranges, AreKeptWholeIfTheyOverlap) {
  const Profiler profiler;
  profiler.start();
  const uint64_t a = opd_range_begin(opdyno::range_name("a")), b = opd_range_begin(opdyno::range_name("b"));
  opd_range_end(a);
  { const Range c("c"); }
  opd_range_end(b);
  const Trace trace = profiler.stop();
  ASSERT_EQ(rows(trace, "a").size(), 1u);
  ASSERT_EQ(rows(trace, "b").size(), 1u);
  EXPECT_EQ(rows(trace, "a")[0].depth, 0);
  EXPECT_EQ(rows(trace, "b")[0].depth, 0) << "neither contains the other";
  EXPECT_EQ(rows(trace, "c")[0].depth, 1);
  const std::regex track("\"name\":\"([ab])\",\"pid\":\\d+,\"tid\":(\\d+)");
  const std::string json = trace.chrome();
  std::map<std::string, int64_t> tracks;
  for (std::sregex_iterator at(json.begin(), json.end(), track), end; at != end; ++at)
    tracks[(*at)[1]] = std::stoll((*at)[2]);
  EXPECT_EQ(tracks.at("b") - tracks.at("a"), 10'000'000) << "a track beside the thread's";
}

TEST(Ranges, LeaveNothingOpenIfTheyOverlap) {
  const Profiler profiler;
  profiler.start();
  const uint32_t name = opdyno::range_name("overlaps");
  const uint64_t around = opd_range_begin(opdyno::range_name("around"));
  for (int i = 0; i < 100; ++i) {  // more than the open ranges that a trace shows
    const uint64_t a = opd_range_begin(name), b = opd_range_begin(name);
    opd_range_end(a);
    opd_range_end(b);
  }
  const uint64_t open = opd_range_begin(opdyno::range_name("still open"));
  const Trace trace = profiler.stop();
  opd_range_end(open);
  opd_range_end(around);
  EXPECT_EQ(rows(trace, "overlaps").size(), 200u);
  ASSERT_EQ(rows(trace, "still open").size(), 1u);
  EXPECT_TRUE(rows(trace, "still open")[0].is_open);
}

TEST(Ranges, ArePoppedInReverseOrder) {
  EXPECT_EQ(opd_range_pop(), -1) << "there is none";
  const Profiler profiler;
  EXPECT_EQ(opd_range_push("unseen"), 0);
  profiler.start();
  EXPECT_EQ(opd_range_push("outer"), 1);
  EXPECT_EQ(opd_range_push(nullptr), 2);
  opdyno::mark("now");
  EXPECT_EQ(opd_range_pop(), 2);
  EXPECT_EQ(opd_range_pop(), 1);
  EXPECT_EQ(opd_range_pop(), 0);
  EXPECT_EQ(opd_range_pop(), -1);
  const Trace trace = profiler.stop();
  EXPECT_EQ(rows(trace, "unseen").size(), 0u) << "it began before";
  ASSERT_EQ(rows(trace, "outer").size(), 1u);
  ASSERT_EQ(rows(trace, "").size(), 1u);
  EXPECT_EQ(rows(trace, "")[0].depth, 1);
  ASSERT_EQ(rows(trace, "now").size(), 1u);
  EXPECT_EQ(rows(trace, "now")[0].kind, "mark");
  EXPECT_EQ(rows(trace, "now")[0].duration, 0);
  EXPECT_EQ(rows(trace, "now")[0].depth, 2);
}

TEST(Ranges, AreForgottenIfTooManyNeverEnd) {
  const Profiler profiler;
  profiler.start();
  const uint32_t name = opdyno::range_name("never ended");
  const uint64_t first = opd_range_begin(name);
  for (int i = 0; i < 1 << 18; ++i) ASSERT_NE(opd_range_begin(name), 0u);
  opd_range_end(first);
  { const Range range("later"); }
  const Trace trace = profiler.stop();
  EXPECT_EQ(rows(trace, "later").size(), 1u);
  EXPECT_EQ(rows(trace, "never ended").size(), 64u) << "the outermost; others were forgotten when there were too many";
  EXPECT_EQ(trace.dropped(), ((1u << 18) - 64) / 2);
}

// When there are too many, those that an earlier recording left open are forgotten first.
TEST(Ranges, AreKeptThoughAnEarlierRecordingLeftManyOpen) {
  std::thread([] {
    const uint32_t left = opdyno::range_name("left open"), nested = opdyno::range_name("nested");
    const Profiler profiler;
    profiler.start();
    for (int i = 0; i < 260'000; ++i) ASSERT_NE(opd_range_begin(left), 0u);
    profiler.stop();
    profiler.start();
    std::vector<uint64_t> ranges;
    for (int i = 0; i < 10'000; ++i) ranges.push_back(opd_range_begin(nested));
    for (; !ranges.empty(); ranges.pop_back()) opd_range_end(ranges.back());
    const Trace trace = profiler.stop();
    EXPECT_EQ(rows(trace, "nested").size(), 10'000u);
    EXPECT_EQ(rows(trace, "left open").size(), 0u);
    EXPECT_EQ(trace.dropped(), 0u);
  }).join();
}

TEST(Ranges, AreCountedAsDroppedIfTooManyArePushed) {
  constexpr int kPushed = 5 << 16;
  const Profiler profiler;
  profiler.start();
  for (int i = 0; i < kPushed; ++i) ASSERT_EQ(opd_range_push("deep"), i);
  ASSERT_EQ(opd_range_push("innermost"), kPushed);
  for (int i = kPushed; i >= 0; --i) ASSERT_EQ(opd_range_pop(), i);
  EXPECT_EQ(opd_range_pop(), -1);
  const Trace trace = profiler.stop();
  EXPECT_EQ(rows(trace, "innermost").size(), 1u);
  EXPECT_EQ(spans(trace, "deep").size() + trace.dropped(), static_cast<size_t>(kPushed));
}

TEST(Ranges, HaveTheirNamesAtAnyDepth) {
  const Profiler profiler;
  profiler.start();
  constexpr int kDepth = 200;
  for (int i = 0; i < kDepth; ++i) opd_range_push(("depth " + std::to_string(i)).c_str());
  for (int i = 0; i < kDepth / 2; ++i) opd_range_pop();
  const Trace trace = profiler.stop();
  for (int i = 0; i < kDepth / 2; ++i) opd_range_pop();
  for (int i = kDepth / 2; i < kDepth; ++i) ASSERT_EQ(rows(trace, "depth " + std::to_string(i)).size(), 1u) << i;
  for (int i = 0; i < 64; i += 9) EXPECT_TRUE(rows(trace, "depth " + std::to_string(i))[0].is_open) << i;
}

// Every range that lies between a start and a stop is in the trace, and no other, whatever the other threads do.
TEST(Ranges, AreAllAccountedForWhileProfilersComeAndGo) {
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  for (int t = 0; t < 3; ++t)
    others.emplace_back([&] {
      const uint32_t name = opdyno::range_name("noise");
      while (!done) const Range range(name);
    });
  const uint32_t mine = opdyno::range_name("mine"), outside = opdyno::range_name("outside");
  for (int i = 0; i < 100; ++i) {
    const Profiler profiler;
    { const Range range(outside); }
    profiler.start();
    for (int j = 0; j < 20; ++j) const Range range(mine);
    const Trace trace = profiler.stop();
    { const Range range(outside); }
    if (i % 10) continue;  // reading takes longer than recording
    EXPECT_EQ(spans(trace, "mine").size(), 20u);
    EXPECT_EQ(spans(trace, "outside").size(), 0u);
  }
  done = true;
  for (std::thread &other : others) other.join();
}

// A program that ends no range must not fill the memory.
TEST(AProfiler, CountsTheRangesThatItForgets) {
  const Profiler profiler;
  profiler.start();
  const uint32_t name = opdyno::range_name("nested");
  std::vector<uint64_t> open;
  for (int i = 0; i < 270'000; ++i) open.push_back(opd_range_begin(name));
  while (!open.empty()) opd_range_end(std::exchange(open.back(), 0)), open.pop_back();
  const Trace trace = profiler.stop();
  constexpr size_t kForgotten = ((1 << 18) - 64) / 2;
  EXPECT_EQ(trace.dropped(), kForgotten);
  EXPECT_EQ(num_spans(trace), 270'000u - kForgotten);
}

}  // namespace
