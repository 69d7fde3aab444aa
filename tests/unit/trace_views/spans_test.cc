// Spans: nested by their times; those that overlap without nesting.
#include "trace_views/spans.h"

#include <gtest/gtest.h>

#include <random>

#include "support/trace_builder.h"

namespace opd {
namespace {

struct Seen {
  std::string name;
  uint64_t self;
  int64_t parent;
  uint32_t depth, lane;
  bool operator==(const Seen &) const = default;
};
void PrintTo(const Seen &seen, std::ostream *out) {
  *out << seen.name << " self " << seen.self << " in " << seen.parent << " depth " << seen.depth << " lane "
       << seen.lane;
}

std::vector<Seen> nested(TraceBuilder &built) {
  const TraceTrack track = built.track();
  const ThreadSpans thread = nest_spans(track);
  std::vector<Seen> seen;
  for (const Span &span : thread.spans)
    seen.push_back({name_text(span.event->name), span.self, span.parent == Span::kNone ? -1 : int64_t{span.parent},
                    span.depth, span.lane});
  return seen;
}

// A letter for each begin and end of a lane.
std::string boundaries(const ThreadSpans &thread, uint32_t lane) {
  std::string text;
  each_boundary(thread, lane,
                [&](const Span &span, bool is_begin) { text += (is_begin ? "(" : ")") + name_text(span.event->name); });
  return text;
}

TEST(Spans, HaveTheirParentsAndTheTimeThatNoneWithinThemCovers) {
  TraceBuilder built;
  built.range(2, 3, "b").range(4, 7, "c").range(1, 9, "a").range(11, 12, "e").range(10, 20, "d");
  EXPECT_EQ(nested(built),
            (std::vector<Seen>{
                {"a", 4, -1, 0, 0}, {"b", 1, 0, 1, 0}, {"c", 3, 0, 1, 0}, {"d", 9, -1, 0, 0}, {"e", 1, 3, 1, 0}}));
}

TEST(Spans, FormOneTreeOfAllKinds) {
  TraceBuilder built;
  built.range(30, 40, "within").call({20, 50, name_id("kernel"), 7}, {}).run(7, 10, 60, name_id("main"));
  built.range(0, 70, "around").range(75, 75, "mark", EventKind::kMark);
  EXPECT_EQ(nested(built), (std::vector<Seen>{{"around", 20, -1, 0, 0},
                                              {"main", 20, 0, 1, 0},
                                              {"kernel", 20, 1, 2, 0},
                                              {"within", 10, 2, 3, 0},
                                              {"mark", 0, -1, 0, 0}}));
}

// Events are written at their ends, so of two with equal times the one that was written first is within the other.
TEST(Spans, WithEqualTimesNestInTheOrderOfTheirEnds) {
  TraceBuilder built;
  built.range(1, 5, "inner").range(1, 5, "middle").run(1, 1, 5, name_id("outer"));
  EXPECT_EQ(nested(built), (std::vector<Seen>{{"outer", 0, -1, 0, 0}, {"middle", 0, 0, 1, 0}, {"inner", 4, 1, 2, 0}}));
}

TEST(Spans, GetLanesIfTheyOverlapAndCountOnceInTheirParent) {
  TraceBuilder built;
  built.range(1, 5, "a").range(6, 7, "c").range(3, 8, "b").range(4, 9, "x").range(0, 10, "all");
  EXPECT_EQ(nested(built),
            (std::vector<Seen>{
                {"all", 2, -1, 0, 0}, {"a", 4, 0, 1, 0}, {"b", 4, 0, 1, 1}, {"c", 1, 2, 2, 0}, {"x", 5, 0, 1, 2}}))
      << "c is within b and x; it belongs to b, which ended first";
}

TEST(Spans, BeginAndEndInOrderOnALane) {
  TraceBuilder built;
  built.range(1, 5, "a").range(6, 7, "c").range(3, 8, "b").range(9, 10, "d").range(0, 10, "r");
  const TraceTrack track = built.track();
  const ThreadSpans thread = nest_spans(track);
  EXPECT_EQ(thread.num_lanes, 2u);
  EXPECT_EQ(boundaries(thread, 0), "(r(a)a(c)c(d)d)r");
  EXPECT_EQ(boundaries(thread, 1), "(b)b");
}

// Against the definition: a span's parent is the shortest one that contains it.
TEST(Spans, NestAsTheirTimesSay) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    // Random brackets: each is a begin or an end, at its own tick.
    TraceBuilder built;
    std::vector<uint64_t> open;
    std::vector<std::pair<uint64_t, uint64_t>> made;
    for (uint64_t tick = 1; tick < 60 || !open.empty(); ++tick) {
      if (tick < 60 && (open.empty() || random() % 2)) {
        open.push_back(tick);
      } else {
        // A tenth of the ends are not those of the last begin.
        const size_t which = random() % 10 ? open.size() - 1 : random() % open.size();
        built.range(open[which], tick, ("r" + std::to_string(open[which])).c_str());
        made.emplace_back(open[which], tick);
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    const TraceTrack track = built.track();
    const ThreadSpans thread = nest_spans(track);
    ASSERT_EQ(thread.spans.size(), made.size());
    uint64_t last = 0;
    for (uint32_t i = 0; i < thread.spans.size(); ++i) {
      const Span &span = thread.spans[i];
      const auto contains = [&](const Event &outer) {
        return outer.begin < span.event->begin && outer.end > span.event->end;
      };
      if (span.parent == Span::kNone) {
        for (const Span &other : thread.spans) EXPECT_FALSE(contains(*other.event));
      } else {
        EXPECT_LT(span.parent, i);
        EXPECT_TRUE(contains(*thread.spans[span.parent].event));
        EXPECT_GT(thread.spans[span.parent].end, i);
      }
      for (const Span &other : thread.spans) {
        if (other.lane != span.lane || other.event->begin >= span.event->begin) continue;
        EXPECT_TRUE(other.event->end < span.event->begin || other.event->end > span.event->end);
      }
      // Ticks that no span within covers, one by one.
      uint64_t self = 0;
      for (uint64_t tick = span.event->begin; tick < span.event->end; ++tick) {
        bool covered = false;
        for (uint32_t j = i + 1; j < span.end; ++j) {
          const Event &inner = *thread.spans[j].event;
          covered |= inner.begin <= tick && tick < inner.end;
        }
        self += !covered;
      }
      EXPECT_EQ(span.self, self);
      if (span.parent != Span::kNone) continue;
      EXPECT_GT(span.event->begin, last);
      last = span.event->begin;
    }
  }
}

}  // namespace
}  // namespace opd
