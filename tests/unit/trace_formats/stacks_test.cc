// Lines for flame graphs.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace opd
