// Counters and spans, made of events; the queue of the spans; the pauses between tries.
#include "telemetry/spans.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "support/trace_builder.h"
#include "telemetry/http.h"
#include "telemetry/metric.h"

namespace opd {
namespace {

TEST(PausesAfterFailures, DoubleFromOneSecondToThirty) {
  Backoff backoff;
  EXPECT_EQ(backoff.next_ns(), 0u);
  const auto expect_pause = [&](uint64_t wanted_ns, uint64_t pause_ns) {
    const uint64_t before = monotonic_ns();
    backoff.fail(wanted_ns);
    const uint64_t after = monotonic_ns();
    EXPECT_GE(backoff.next_ns(), before + pause_ns);
    EXPECT_LE(backoff.next_ns(), after + pause_ns);
  };
  constexpr uint64_t kSecond = 1'000'000'000;
  for (const uint64_t seconds : {1, 2, 4, 8, 16, 30, 30}) expect_pause(0, seconds * kSecond);
  backoff.succeed();
  EXPECT_EQ(backoff.next_ns(), 0u);
  expect_pause(5 * kSecond, 5 * kSecond);      // the server's wish, which is longer than the first
  expect_pause(1 * kSecond, 2 * kSecond);      // and here shorter than the second
  expect_pause(900 * kSecond, 300 * kSecond);  // the longest that a server can wish
}

SentSpan span_of(int64_t number) {
  SentSpan span;
  span.begin_ns = number;
  return span;
}
std::vector<int64_t> numbers_of(const std::vector<SentSpan> &spans) {
  std::vector<int64_t> numbers;
  for (const SentSpan &span : spans) numbers.push_back(span.begin_ns);
  return numbers;
}
using Numbers = std::vector<int64_t>;

TEST(AQueueOfSpans, KeepsTheNewest) {
  SpanQueue queue(3);
  for (const int64_t number : {1, 2, 3}) queue.add(span_of(number));
  EXPECT_EQ(queue.num_dropped(), 0u);
  queue.add(span_of(4));
  EXPECT_EQ(queue.num_dropped(), 1u);
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(numbers_of(queue.take(2)), (Numbers{2, 3}));
  EXPECT_EQ(numbers_of(queue.take(2)), (Numbers{4}));
  EXPECT_EQ(numbers_of(queue.take(2)), Numbers{});
  SpanQueue none(0);
  none.add(span_of(1));
  EXPECT_EQ(none.num_dropped(), 1u);
  EXPECT_EQ(none.size(), 0u);
}

TEST(AQueueOfSpans, TakesBackTheNewestUnsentSpans) {
  SpanQueue queue(4);
  for (const int64_t number : {1, 2, 3}) queue.add(span_of(number));
  std::vector<SentSpan> taken = queue.take(3);
  for (const int64_t number : {4, 5}) queue.add(span_of(number));
  queue.give_back(std::move(taken));
  EXPECT_EQ(queue.num_dropped(), 1u) << "1, the oldest";
  EXPECT_EQ(numbers_of(queue.take(9)), (Numbers{2, 3, 4, 5}));
}

TEST(CountersOfCalls, HaveALabelSetForEachFunctionUpToTheLimit) {
  TraceBuilder built;
  for (const char *name : {"a", "b", "c", "a", "d"}) built.run(1, 0, 1'000, name_id(name));
  built.call({0, 2'000, name_id("x")}, {}).call({0, 3'000, name_id("y")}, {}).call({0, 4'000, name_id("z")}, {});
  CallMetrics metrics(2);
  metrics.add(built.parts({{0, 0}, 1}));
  std::vector<Series> all;
  metrics.write(all, true);
  std::string text;
  for (const Series &series : all) {
    text += series.name + ":";
    for (const Point &point : series.points) {
      text += " ";
      for (const auto &[key, label] : point.labels) text += key == "program" ? "" : label;
      text +=
          concat("=", series.kind == SeriesKind::kHistogram ? static_cast<double>(point.histogram.count) : point.value);
    }
    text += "\n";
  }
  EXPECT_EQ(text,
            "opdyno_calls: a=2 b=1 other=2\nopdyno_call_errors: a=0 b=0 other=0\n"
            "opdyno_call_duration_seconds: a=2 b=1 other=2\nopdyno_operator_calls: x=1 y=1 other=1\n"
            "opdyno_operator_errors: x=0 y=0 other=0\nopdyno_operator_seconds: x=2e-06 y=3e-06 other=4e-06\n"
            "opdyno_label_overflow: =3\n");
  std::vector<Series> few;
  metrics.write(few, false);
  EXPECT_EQ(few.size(), 4u);
}

EventItems items_of(EventItem::Type type, std::string_view text) {
  EventItems items;
  items.add({type, UINT16_MAX, kNoName, {MetricKind::kString}, text});
  return items;
}

// A run that has not ended.
Event open_run(uint64_t number, uint64_t begin, NameId name) {
  Event event{};
  event.begin = begin, event.end = begin + 1'000, event.name = name, event.kind = EventKind::kRun;
  event.is_open = true, event.recordings = 1, event.run = number, event.location = kNoName;
  return event;
}

TEST(CountersOfCalls, DistinguishProgramsAndCountEndedCalls) {
  const NameId f = name_id("f"), first = name_id("first"), second = name_id("second");
  TraceBuilder built;
  built.run(1, 0, 1'000, f, {}, 0, first).run(2, 2'000, 5'000, f, items_of(EventItem::Type::kFailure, ""), 0, second);
  built.run(3, 5'000, 6'000, f, items_of(EventItem::Type::kFailure, "why"), 0, second);
  built.call({0, 500, name_id("x")}, {}, 0, items_of(EventItem::Type::kError, "why")).call({0, 500, kNoName}, {});
  TraceParts parts = built.parts({{0, 0}, 1});
  const Event open[] = {open_run(4, 7'000, f)};
  parts.tracks[0].add_open(open);
  CallMetrics metrics(10);
  metrics.add(parts);
  std::vector<Series> all;
  metrics.write(all, true);
  EXPECT_EQ(prometheus_text({all[0], all[1], all[3], all[4], all[5], all[6]}, false),
            "# HELP opdyno_calls_total Calls of functions of programs that have ended.\n"
            "# TYPE opdyno_calls_total counter\n"
            "opdyno_calls_total{program=\"first\",function=\"f\"} 1\n"
            "opdyno_calls_total{program=\"second\",function=\"f\"} 2\n"
            "# HELP opdyno_call_errors_total Calls that ended with an error.\n"
            "# TYPE opdyno_call_errors_total counter\n"
            "opdyno_call_errors_total{program=\"first\",function=\"f\"} 0\n"
            "opdyno_call_errors_total{program=\"second\",function=\"f\"} 2\n"
            "# HELP opdyno_operator_calls_total Calls of operators.\n"
            "# TYPE opdyno_operator_calls_total counter\n"
            "opdyno_operator_calls_total{operator=\"x\"} 1\nopdyno_operator_calls_total{operator=\"\"} 1\n"
            "# HELP opdyno_operator_errors_total Calls of operators that failed.\n"
            "# TYPE opdyno_operator_errors_total counter\n"
            "opdyno_operator_errors_total{operator=\"x\"} 1\nopdyno_operator_errors_total{operator=\"\"} 0\n"
            "# HELP opdyno_operator_seconds_total Time in operators, with what they call.\n"
            "# TYPE opdyno_operator_seconds_total counter\n"
            "opdyno_operator_seconds_total{operator=\"x\"} 5e-07\n"
            "opdyno_operator_seconds_total{operator=\"\"} 5e-07\n"
            "# HELP opdyno_label_overflow_total Calls that are counted with the labels \"other\", since there are too "
            "many label sets.\n# TYPE opdyno_label_overflow_total counter\nopdyno_label_overflow_total 0\n");
  ASSERT_EQ(all[2].points.size(), 2u);
  EXPECT_EQ(all[2].kind, SeriesKind::kHistogram);
  EXPECT_DOUBLE_EQ(all[2].points[1].histogram.sum, 4e-6);
}

// "name, its parent's name" of each span; "-": it has none that is known.
std::vector<std::string> nesting_of(const std::vector<SentSpan> &spans) {
  std::vector<std::string> found;
  for (const SentSpan &span : spans) {
    std::string parent = "-";
    for (const SentSpan &other : spans)
      if (other.id == span.parent) parent = name_text(other.name);
    found.push_back(concat(name_text(span.name), " ", parent));
  }
  std::ranges::sort(found);
  return found;
}
using Lines = std::vector<std::string>;

TEST(SpansOfRuns, LieWithinTheRunsAroundThem) {
  TraceBuilder built;
  built.run(3, 20, 30, name_id("inner")).run(2, 10, 40, name_id("middle")).run(4, 40, 50, name_id("next"));
  built.run(1, 10, 60, name_id("outer")).run(5, 60, 70, name_id("behind"));
  SpanQueue queue(100);
  SpanMaker maker(false, queue);
  maker.add(built.parts({{0, 0}, 1}));
  const std::vector<SentSpan> spans = queue.take(100);
  EXPECT_EQ(nesting_of(spans), (Lines{"behind -", "inner middle", "middle outer", "next outer", "outer -"}));
  for (const SentSpan &span : spans) {
    const bool is_behind = name_text(span.name) == "behind";
    EXPECT_EQ(span.trace == spans[0].trace, !is_behind) << name_text(span.name);
    EXPECT_EQ(span.thread, 42);
    EXPECT_FALSE(span.has_failed || span.is_operator);
  }
  EXPECT_EQ(spans[0].begin_ns, 10);
  EXPECT_EQ(spans[0].end_ns, 60);
}

TEST(SpansOfOperators, LieWithinEachOtherOrInTheirRun) {
  TraceBuilder built;
  built.call({22, 24, name_id("kernel")}, {}).call({20, 30, name_id("call")}, {}).call({30, 35, name_id("next")}, {});
  built.run(1, 10, 40, name_id("main"));
  SpanQueue queue(100);
  SpanMaker maker(true, queue);
  maker.add(built.parts({{0, 0}, 1}));
  const std::vector<SentSpan> spans = queue.take(100);
  EXPECT_EQ(nesting_of(spans), (Lines{"call main", "kernel call", "main -", "next main"}));
  for (const SentSpan &span : spans) EXPECT_EQ(span.is_operator, name_text(span.name) != "main");
}

// What a collector is told of a span, but for the numbers.
std::string told_of(const SentSpan &span) {
  return concat(name_text(span.name), " of ", name_text(span.program), span.is_operator ? ", operator" : ", function",
                " ", span.begin_ns, "-", span.end_ns, " on ", span.thread, span.has_failed ? ", failed: " : "",
                span.message);
}

// A program's clock of 2 ns a tick, which was 0 at the Unix time 100.
TEST(SpansOfRuns, HaveTheDataOfTheirEvents) {
  const NameId program = name_id("program");
  TraceBuilder built;
  built.call({20, 30, name_id("good"), 1}, {});
  built.call({32, 31, name_id("bad"), 1}, {}, 0, items_of(EventItem::Type::kError, "no luck"));
  built.run(1, 10, 40, name_id("fails"), items_of(EventItem::Type::kFailure, "no luck at all"), 0, program);
  built.run(2, 50, 49, name_id("unknown"), items_of(EventItem::Type::kFailure, ""), 0, program);
  built.run(3, 60, 70, name_id("works"), {}, 0, program);
  SpanQueue queue(100);
  SpanMaker maker(true, queue);
  maker.add(built.parts({{0, 100}, 2}, 77));
  Lines told;
  for (const SentSpan &span : queue.take(100)) told.push_back(told_of(span));
  std::ranges::sort(told);
  EXPECT_EQ(told,
            (Lines{"bad of program, operator 164-164 on 77, failed: no luck",
                   "fails of program, function 120-180 on 77, failed: no luck at all",
                   "good of program, operator 140-160 on 77", "unknown of program, function 200-200 on 77, failed: ",
                   "works of program, function 220-240 on 77"}));
}

TEST(SpansOfRuns, HaveNumbersThatAreNotZeroInBothHalves) {
  TraceBuilder built;
  built.run(1, 10, 20, name_id("a")).run(2, 30, 40, name_id("b"));
  SpanQueue queue(100);
  SpanMaker maker(false, queue);
  maker.add(built.parts({{0, 0}, 1}));
  const std::vector<SentSpan> spans = queue.take(100);
  ASSERT_EQ(spans.size(), 2u);
  const auto half = [](const SentSpan &span, size_t from) {
    return std::vector<uint8_t>(span.trace.begin() + static_cast<std::ptrdiff_t>(from),
                                span.trace.begin() + static_cast<std::ptrdiff_t>(from) + 8);
  };
  for (const size_t from : {0, 8}) {
    EXPECT_NE(half(spans[0], from), std::vector<uint8_t>(8));
    EXPECT_NE(half(spans[0], from), half(spans[1], from));
  }
  EXPECT_NE(spans[0].id, SentSpan::Id{});
  EXPECT_NE(spans[0].id, spans[1].id);
}

// The run around it may be on another thread, or may have been read before, or may last.
TEST(SpansOfRuns, BelongToTheTraceOfTheRunThatTheyBeganIn) {
  SpanQueue queue(100);
  SpanMaker maker(false, queue);
  TraceBuilder inner, lasting, outer;
  inner.run(2, 20, 30, name_id("inner"), {}, 1);
  maker.add(inner.parts({{0, 0}, 1}));
  lasting.run(3, 32, 34, name_id("later"), {}, 1);
  TraceParts parts = lasting.parts({{0, 0}, 1});
  const Event open[] = {open_run(1, 10, name_id("outer"))};
  parts.tracks[0].add_open(open);
  maker.add(parts);
  EXPECT_EQ(queue.size(), 2u) << "the outer one lasts";
  outer.run(1, 10, 40, name_id("outer"));
  maker.add(outer.parts({{0, 0}, 1}));
  const std::vector<SentSpan> spans = queue.take(100);
  EXPECT_EQ(nesting_of(spans), (Lines{"inner outer", "later outer", "outer -"}));
  for (const SentSpan &span : spans) EXPECT_EQ(span.trace, spans[0].trace);
}

EventItems context_items(bool is_sampled) {
  const TraceContext context{{1, 2, 3}, {4, 5, 6}, static_cast<uint8_t>(is_sampled ? 1 : 0)};
  return items_of(EventItem::Type::kContext, {reinterpret_cast<const char *>(&context), sizeof context});
}

TEST(SpansOfRuns, AreSentIfTheCallerKeepsTheTrace) {
  SpanQueue queue(100);
  SpanMaker maker(true, queue);
  for (const bool is_sampled : {true, false}) {
    TraceBuilder built;
    built.call({12, 14, name_id("kernel"), 1}, {}).run(1, 10, 20, name_id("main"), context_items(is_sampled));
    maker.add(built.parts({{0, 0}, 1}));
    const std::vector<SentSpan> spans = queue.take(100);
    EXPECT_EQ(nesting_of(spans), is_sampled ? (Lines{"kernel main", "main -"}) : Lines{});
    for (const SentSpan &span : spans) {
      EXPECT_EQ(span.trace, (SentSpan::TraceId{1, 2, 3}));
      if (!span.is_operator) { EXPECT_EQ(span.parent, (SentSpan::Id{4, 5, 6})); }
    }
  }
  EXPECT_EQ(queue.num_dropped(), 0u);
}

// Nothing is left of what was sent, or is not wanted, or found no room: else operators would be dropped later.
TEST(SpansOfOperators, FreeTheirRoomWithTheirRun) {
  SpanQueue queue(4);
  SpanMaker maker(true, queue);
  for (const bool is_sampled : {true, false})
    for (uint64_t run = 1; run <= 4; ++run) {
      TraceBuilder built;
      for (const uint64_t begin : {12, 14, 16}) built.call({begin, begin + 1, name_id("kernel"), run}, {});
      built.run(run, 10, 20, name_id("main"), context_items(is_sampled));
      maker.add(built.parts({{0, 0}, 1}));
      EXPECT_EQ(queue.take(100).size(), is_sampled ? 4u : 0u);
      EXPECT_EQ(queue.num_dropped(), 0u);
    }
  const auto add_runs = [&](uint64_t first, bool is_sampled, uint64_t calls) {  // 6, of which two find no room
    TraceBuilder built;
    for (uint64_t i = 0; i < calls; ++i) built.call({12, 14, name_id("kernel"), first}, {});
    for (uint64_t run = first; run < first + 6; ++run)
      built.run(run, run * 100, run * 100 + 5, name_id("main"), context_items(is_sampled));
    maker.add(built.parts({{0, 0}, 1}));
    const size_t kept = queue.take(100).size();
    return kept;
  };
  EXPECT_EQ(add_runs(11, true, 3), 4u);
  EXPECT_EQ(queue.num_dropped(), 2u + 3u) << "two runs, the first with three operators";
  EXPECT_EQ(add_runs(21, false, 3), 0u);
  EXPECT_EQ(queue.num_dropped(), 5u) << "nobody wants these";
  EXPECT_EQ(add_runs(31, true, 4), 4u);
  EXPECT_EQ(queue.num_dropped(), 5u + 2u + 4u) << "the room of the others is free";
}

TEST(SpansOfRuns, TakeNoRoomFromEndedOnesWhileTheyAreOpen) {
  TraceBuilder built;
  built.run(1, 10, 20, name_id("first")).run(2, 30, 40, name_id("second"));
  TraceParts parts = built.parts({{0, 0}, 1});
  const Event open[] = {open_run(3, 50, name_id("lasts"))};
  parts.tracks[0].add_open(open);
  SpanQueue queue(1);
  SpanMaker maker(false, queue);
  maker.add(parts);
  EXPECT_EQ(queue.num_dropped(), 1u);
  EXPECT_EQ(nesting_of(queue.take(9)), Lines{"second -"});
}

TEST(SpansOfOperators, AreDroppedWithTheOldestRunIfTheyAreTooMany) {
  TraceBuilder built;  // the runs have not ended
  for (const uint64_t run : {1, 2, 3}) built.call({run * 10, run * 10 + 5, name_id("kernel"), run}, {});
  SpanQueue queue(2);
  SpanMaker maker(true, queue);
  maker.add(built.parts({{0, 0}, 1}));
  EXPECT_EQ(queue.num_dropped(), 1u) << "that of run 1";
  TraceBuilder ends;
  ends.run(3, 25, 40, name_id("main"));
  maker.add(ends.parts({{0, 0}, 1}));
  EXPECT_EQ(nesting_of(queue.take(100)), (Lines{"kernel main", "main -"}));
}

TEST(SpansOfRuns, AreOfTheNewestIfTheQueueHasNoRoomForAll) {
  TraceBuilder built;
  for (const uint64_t run : {1, 2, 3}) built.run(run, run * 10, run * 10 + 5, name_id(concat("run", run)));
  SpanQueue queue(2);
  SpanMaker maker(false, queue);
  maker.add(built.parts({{0, 0}, 1}));
  EXPECT_EQ(queue.num_dropped(), 1u);
  EXPECT_EQ(nesting_of(queue.take(100)), (Lines{"run2 -", "run3 -"}));
}

}  // namespace
}  // namespace opd
