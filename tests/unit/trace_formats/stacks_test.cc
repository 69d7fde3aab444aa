// Lines for flame graphs.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/trace_builder.h"
#include "trace_formats/trace_formats.h"

namespace opd {
namespace {

std::string stacks(TraceBuilder &built, bool per_event) {
  StringSink sink;
  write_stacks(*make_object<Trace>(built.parts({{0, 0}, 1})), per_event, false, sink);  // ticks are nanoseconds
  return sink.take();
}

TEST(Stacks, HaveALineForEachStackWithTheTimeOfItsLastSpanAlone) {
  TraceBuilder built;
  built.range(1'000, 2'000, "inner").range(0, 5'000, "outer").range(6'000, 7'500, "inner").range(6'000, 7'500, "outer");
  built.range(8'000, 8'000, "short").range(9'000, 9'400, "brief");
  EXPECT_EQ(stacks(built, false), "outer 4\nouter;inner 3\nbrief 1\n") << "rounded up, without those that took no time";
  EXPECT_EQ(stacks(built, true), "outer 4\nouter;inner 1\nouter;inner 1\n") << "rounded down";
}

TEST(Stacks, KeepNamesWhole) {
  TraceBuilder built;
  built.range(0, 10, "a;b c\n\x7f")
      .range(20, 30,
             "gr\xC3\xB6\xC3\x9F"
             "e")
      .range(40, 50, "")
      .range(60, 70, "\xFF\xE3\x80\x80");
  EXPECT_EQ(stacks(built, false),
            "a_b_c__ 1\ngr\xC3\xB6\xC3\x9F"
            "e 1\n_ 1\n\xEF\xBF\xBD_ 1\n");
}

TEST(Stacks, JoinTheStepsOfAProfiler) {
  TraceBuilder built;
  for (uint64_t i = 0; i < 3; ++i) built.range(i * 1'500, i * 1'500 + 1'500, nullptr, EventKind::kStep, i);
  EXPECT_EQ(stacks(built, false), "ProfilerStep* 5\n");
}

// Spans that are nested so deeply are a mistake, or a recursion. The size grows with their number, not with its square.
TEST(Stacks, LeaveOutTheOutermostFramesOfDeepOnes) {
  constexpr uint64_t kDepth = 20'000;
  TraceBuilder built;
  for (uint64_t i = 0; i < kDepth; ++i) built.range(2'000 * (kDepth - i), 2'000 * (kDepth + i), "f");
  for (const bool per_event : {false, true}) {
    const std::string text = stacks(built, per_event);
    EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(kDepth - 1));
    std::string deepest = "(outer_frames)";
    for (int i = 0; i < 512; ++i) deepest += ";f";
    EXPECT_TRUE(text.ends_with("\n" + deepest + " 4\n")) << text.substr(text.size() - 30);
    EXPECT_TRUE(text.starts_with("f 4\nf;f 4\n"));
  }
  StringSink pprof;
  write_pprof(*make_object<Trace>(built.parts({{0, 0}, 1})), pprof);
  EXPECT_LT(pprof.take().size(), kDepth * 600) << "at most 512 locations of a byte each";
}

}  // namespace
}  // namespace opd
