// Counters and spans, made of events; the queue of the spans; the pauses between tries.
#include "telemetry/spans.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "support/trace_builder.h"
#include "telemetry/call_metrics.h"
#include "telemetry/exporter.h"

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

TEST(AQueueOfSpans, TakesBackTheNewestOfWhatCouldNotBeSent) {
  SpanQueue queue(4);
  for (const int64_t number : {1, 2, 3}) queue.add(span_of(number));
  std::vector<SentSpan> taken = queue.take(3);
  for (const int64_t number : {4, 5}) queue.add(span_of(number));
  queue.give_back(std::move(taken));
  EXPECT_EQ(queue.num_dropped(), 1u) << "1, the oldest";
  EXPECT_EQ(numbers_of(queue.take(9)), (Numbers{2, 3, 4, 5}));
}

TEST(CountersOfCalls, HaveALabelSetForEachFunctionUpToTheMost) {
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
