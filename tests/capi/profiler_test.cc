// Profilers of the whole process, and ranges.
#include <atomic>
#include <regex>
#include <thread>

#include "support/report_test.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

const char *const kProgram = R"(
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
  return Vm(Executable::assemble(kProgram).to_module());
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

TEST(AProfiler, CountsWhatFindsNoRoom) {
  opd_profiler_options options;
  opd_profiler_options_init(&options);
  options.max_events = 10;
  const Profiler profiler(&options);
  profiler.start();
  for (int i = 0; i < 15; ++i) const Range range("many");
  const Trace trace = profiler.stop();
  EXPECT_EQ(spans(trace, "many").size(), 10u);
  EXPECT_EQ(trace.dropped(), 5u);
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
  EXPECT_EQ(opd_report_call_count(report.get()), 3u + 2u) << "and two rows that are computed; no ranges";
}

TEST(AProfiler, RefusesWhatIsOutOfTurn) {
  const Profiler profiler;
  Trace trace;
  expect_error(opd_profiler_stop(profiler.get(), trace.out()), OPD_FAILED_PRECONDITION, "start it first");
  profiler.start();
  expect_error(opd_profiler_start(profiler.get()), OPD_FAILED_PRECONDITION, "records already");
  const Vm vm = program();
  within = [&] {
    expect_error(opd_profiler_stop(profiler.get(), trace.out()), OPD_FAILED_PRECONDITION, "inside of a call");
  };
  vm.call("main", floats({1}));
  within = nullptr;
  EXPECT_EQ(profiler.stop().size(), 1u);
  expect_error(opd_profiler_stop(profiler.get(), nullptr), OPD_INVALID_ARGUMENT);
  expect_error(opd_profiler_start(nullptr), OPD_INVALID_ARGUMENT);
  opd_profiler_options options;
  opd_profiler_options_init(&options);
  options.all_calls = 2;
  opd_profiler *other = nullptr;
  expect_error(opd_profiler_create(&options, &other), OPD_INVALID_ARGUMENT, "all_calls must be 0 or 1");
}

TEST(AProfiler, ThatIsReleasedEnds) {
  {
    const Profiler profiler;
    profiler.start();
    EXPECT_NE(opd_range_begin(), 0u);
  }
  EXPECT_EQ(opd_range_begin(), 0u);
}

TEST(Ranges, BelongToProfilersThatRecordAtBothEnds) {
  const Profiler first, second;
  opd_range_end(opd_range_begin(), opdyno::range_name("before"));
  first.start();
  const uint64_t begin = opd_range_begin();
  second.start();
  opd_range_end(begin, opdyno::range_name("across"));
  const uint64_t open = opd_range_begin();
  const Trace of_second = second.stop(), of_first = first.stop();
  opd_range_end(open, opdyno::range_name("open"));
  EXPECT_EQ(spans(of_first, "before").size() + spans(of_first, "open").size(), 0u);
  EXPECT_EQ(spans(of_first, "across").size(), 1u);
  EXPECT_EQ(spans(of_second, "across").size(), 0u);
  first.start();
  opd_range_end(open, opdyno::range_name("open"));
  EXPECT_EQ(spans(first.stop(), "open").size(), 0u) << "it began before this recording";
}

TEST(Ranges, HaveNumbersForTheirNames) {
  EXPECT_EQ(opd_range_name("same"), opdyno::range_name("same"));
  EXPECT_NE(opd_range_name("same"), opd_range_name("other"));
  EXPECT_EQ(opd_range_name(nullptr), opd_range_name(""));
  const Profiler profiler;
  profiler.start();
  opd_range_end(opd_range_begin(), 4'000'000);
  EXPECT_EQ(spans(profiler.stop(), "\\?").size(), 1u) << "no such name";
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

}  // namespace
