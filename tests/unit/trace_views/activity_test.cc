// What `opdyno top` shows of an interval: times within it, and the spans that ended in it.
#include <gtest/gtest.h>

#include "support/trace_builder.h"
#include "trace_views/key_averages.h"

namespace opd {
namespace {

// "name calls/full/ticks/self/threads" of each row.
std::vector<std::string> rows_of(TraceParts parts, uint64_t from) {
  const auto trace = make_object<Trace>(std::move(parts));
  std::vector<std::string> rows;
  for (const Activity &row : activity_since(*trace, from))
    rows.push_back(concat(name_text(row.event->name), " ", row.count, "/", row.full_ticks, "/", row.ticks, "/",
                          row.self_ticks, "/", row.num_threads));
  return rows;
}
using Rows = std::vector<std::string>;

TEST(ActivityOfAnInterval, HasTheTimeThatEachNameTookWithinIt) {
  TraceBuilder built;
  built.range(10, 40, "inner").range(45, 50, "inner").range(0, 100, "outer").range(100, 110, "inner");
  EXPECT_EQ(rows_of(built.parts({{0, 0}, 1}), 0), (Rows{"outer 1/100/100/65/1", "inner 3/45/45/45/1"}));
}

TEST(ActivityOfAnInterval, LeavesOutSpansBeforeIt) {
  TraceBuilder built;
  built.range(10, 29, "before").range(20, 30, "at its begin").range(25, 40, "inner").range(5, 60, "outer");
  EXPECT_EQ(rows_of(built.parts({{0, 0}, 1}), 30),
            (Rows{"outer 1/55/30/20/1", "inner 1/15/10/10/1", "at its begin 1/10/0/0/1"}));
}

TEST(ActivityOfAnInterval, CountsTheTimeOfRangesThatCrossOnce) {
  TraceBuilder built;
  built.range(0, 50, "first").range(40, 60, "second").range(60, 60, "at its end").range(60, 70, "third");
  EXPECT_EQ(rows_of(built.parts({{0, 0}, 1}), 0),
            (Rows{"first 1/50/50/40/1", "second 1/20/20/20/1", "third 1/10/10/10/1", "at its end 1/0/0/0/1"}));
}

TEST(ActivityOfAnInterval, CountsThreadsAndNoMarks) {
  TraceBuilder first, second;
  first.range(0, 10, "a").range(20, 25, "b").range(26, 26, "mark", EventKind::kMark).range(30, 35, "a");
  second.range(0, 7, "a");
  TraceParts parts = first.parts({{0, 0}, 1});
  parts.tracks.push_back(second.track(43, "other"));
  EXPECT_EQ(rows_of(std::move(parts), 0), (Rows{"a 3/22/22/22/2", "b 1/5/5/5/1"}));
}

TEST(ActivityOfAnInterval, HasOpenSpans) {
  TraceBuilder built;
  built.range(20, 30, "inner");
  TraceParts parts = built.parts({{0, 0}, 1});
  Event open{};
  open.begin = 10, open.end = 50, open.name = name_id("open"), open.kind = EventKind::kRange, open.recordings = 1;
  open.is_open = true;
  parts.tracks[0].add_open({&open, 1});
  EXPECT_EQ(rows_of(std::move(parts), 15), (Rows{"open 0/0/35/25/1", "inner 1/10/10/10/1"}));
}

}  // namespace
}  // namespace opd
