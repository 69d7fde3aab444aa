// What a track keeps of the calls' tensors, and how its events share chunks.
#include "trace/record/track.h"

#include <gtest/gtest.h>

#include <set>

#include "support/trace_builder.h"

namespace opd {
namespace {

constexpr uint64_t kMany = 1 << 20;

struct Written {
  Track track;
  std::vector<std::shared_ptr<Chunk>> chunks;

  explicit Written(uint64_t max_calls = kMany, uint32_t recordings = 1) {
    for (uint32_t i = 0; i < recordings; ++i) track.open_part(i, 1, {.max_calls = max_calls});
  }
  // A call with vectors of these sizes. Null if it was dropped.
  const Event *add(size_t call, std::vector<int64_t> sizes, Recordings recordings = 1, const EventItems &items = {}) {
    std::vector<DLTensor> tensors;
    for (int64_t &size : sizes) tensors.push_back({nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &size, nullptr, 0});
    std::vector<View> args;
    for (DLTensor &tensor : tensors) args.push_back(opd_dltensor(&tensor));
    Event *event = track.describe(recordings, recordings, args, call);
    if (!event) return nullptr;
    event->begin = event->end = ++number;
    event = track.attach(event, items);
    track.commit();
    return event;
  }
  std::vector<const Event *> events() {
    std::vector<const Event *> all;
    chunks = track.chunks_from(0);
    for (const auto &chunk : chunks)
      for (uint32_t i = 0; i < chunk->count; ++i) all.push_back(chunk->event(i));
    return all;
  }
  uint64_t number = 0;
};

TEST(Track, KeepsDimensionsOnceThatACallHadBefore) {
  Written calls;
  const Event *first = calls.add(7, {2, 3});
  EXPECT_EQ(calls.add(7, {2, 3})->shapes, first->shapes);
  const Event *other = calls.add(7, {2, 4});
  EXPECT_EQ(other->shapes, first->shapes + 4) << "of each vector its dtype and its size";
  EXPECT_EQ(shapes_text(*first), "float32[2], float32[3]");
  EXPECT_EQ(shapes_text(*other), "float32[2], float32[4]");
  EXPECT_EQ(tensor_bytes(*other), 24u);
}

TEST(Track, DistinguishesCallsThatShareAPlace) {
  Written calls;
  for (const int64_t size : {1, 2, 1, 2}) calls.add(5 + 1024 * static_cast<size_t>(size), {size});
  for (const Event *event : calls.events())
    EXPECT_EQ(shapes_text(*event), event->begin % 2 ? "float32[1]" : "float32[2]");
  const Event *none = calls.add(1, {});
  EXPECT_EQ(shapes_text(*calls.add(1, {6})), "float32[6]");
  EXPECT_EQ(shapes_text(*none) + shapes_text(*calls.add(1, {})), "");
}

// Dimensions that never repeat fill the words, ones that always repeat the events.
TEST(Track, FillsOneChunkAfterTheOther) {
  for (const bool repeats : {false, true}) {
    Written calls;
    for (int64_t i = 0; i < 40'000; ++i) calls.add(0, {repeats ? 7 : i});
    const auto events = calls.events();
    ASSERT_EQ(events.size(), 40'000u);
    for (size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(events[i]->begin, i + 1);
      ASSERT_EQ(shapes_text(*events[i]), concat("float32[", repeats ? 7 : i, "]"));
    }
    const size_t bytes = calls.chunks.size() * Chunk::kBytes / events.size();
    EXPECT_LE(bytes, repeats ? 67u : 84u) << "64 of the event, 16 of its dimensions";
    for (size_t i = 1; i < calls.chunks.size(); ++i)
      EXPECT_EQ(calls.chunks[i]->first, calls.chunks[i - 1]->first + calls.chunks[i - 1]->count);
  }
}

TEST(Track, KeepsCallsOfMoreTensorsThanAChunkHasRoomFor) {
  Written calls;
  calls.add(1, {4});
  std::vector<int64_t> many(10'000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i);
  const Event *large = calls.add(2, many), *larger = calls.add(2, std::vector<int64_t>(9'000, 7));
  calls.add(1, {5});
  EXPECT_EQ(large->num_tensors, 10'000u);
  std::string text;
  for (size_t i = 0; i < many.size(); ++i) text += concat(i ? ", " : "", "float32[", i, "]");
  EXPECT_EQ(shapes_text(*large), text);
  EXPECT_EQ(larger->num_tensors, 9'000u);
  EXPECT_TRUE(shapes_text(*larger).starts_with("float32[7], float32[7], "));
  EXPECT_EQ(calls.events().size(), 4u);
  EXPECT_EQ(shapes_text(*calls.events()[3]), "float32[5]");
}

EventItems error_items(const std::string &error, int64_t count) {
  EventItems items;
  items.add({EventItem::Type::kError, UINT16_MAX, kNoName, {MetricKind::kString}, error});
  items.add({EventItem::Type::kMetric, 2, name_id("cycles"), Metric::of_count(count), {}});
  items.add({EventItem::Type::kMetric, 2, name_id("place"), {MetricKind::kString}, "here"});
  return items;
}

// Of every length, so that items begin at each place of a chunk, also where they do not fit any more.
TEST(Track, KeepsItemsWithTheirEvents) {
  for (const size_t longest : {size_t{900}, size_t{200'000}}) {
    Written calls;
    std::vector<size_t> lengths;
    for (size_t length = 0; length < longest; length += longest / 300) lengths.push_back(length);
    for (const size_t length : lengths)
      calls.add(length, {static_cast<int64_t>(length), 3}, 1, error_items(std::string(length, 'x'), -1));
    const auto events = calls.events();
    ASSERT_EQ(events.size(), lengths.size());
    for (size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(error_of(*events[i]), std::string(lengths[i], 'x'));
      ASSERT_EQ(shapes_text(*events[i]), concat("float32[", lengths[i], "], float32[3]"));
      EventItem item;
      std::string metrics;
      for (size_t at = 0; next_item(*events[i], at, item);)
        if (item.type == EventItem::Type::kMetric)
          metrics += concat(name_text(item.name), "=",
                            item.metric.is_text() ? std::string(item.text) : concat(item.metric.count()), " ");
      ASSERT_EQ(metrics, "cycles=-1 place=here ");
    }
  }
}

TEST(Track, WithoutItemsHasNoError) {
  Written calls;
  EventItem item;
  size_t at = 0;
  const Event *event = calls.add(0, {1});
  EXPECT_FALSE(next_item(*event, at, item));
  EXPECT_EQ(error_of(*event), "");
}

TEST(Track, CountsTheCallsBeyondTheLimitOfEachRecording) {
  Written calls(5, 2);
  calls.track.open_part(1, 1, {.max_calls = 8});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(calls.add(0, {1}, 3)->recordings, 3);
  for (int i = 0; i < 4; ++i) {
    const Event *event = calls.add(0, {1}, 1);
    EXPECT_EQ(event != nullptr, i < 2);
  }
  EXPECT_EQ(calls.add(0, {1}, 3)->recordings, 2) << "the first one is full";
  for (int i = 0; i < 4; ++i) calls.add(0, {1}, 2);
  EXPECT_EQ(calls.add(0, {1}, 3), nullptr);
  EXPECT_EQ(calls.track.part(0).dropped, 4u);
  EXPECT_EQ(calls.track.part(1).dropped, 1u);
  EXPECT_EQ(calls.events().size(), 3u + 2 + 1 + 4);
}

TEST(Track, HasRoomForRunsBesideTheCalls) {
  TraceBuilder built(2);
  int64_t size = 4;
  DLTensor vector{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &size, nullptr, 0};
  const View args[] = {opd_dltensor(&vector)};
  built.call({1, 1, name_id("a"), 1}, args).call({2, 2, name_id("a"), 1}, args).run(1, 1, 3, name_id("main"));
  const TraceTrack full = built.track();
  EXPECT_EQ(full.calls.size(), 2u);
  EXPECT_EQ(full.runs.size(), 1u);
  EXPECT_EQ(full.dropped, 0u);
  for (uint64_t run = 2; run <= 4; ++run) built.run(run, run, run, name_id("main"));
  EXPECT_EQ(built.track().runs.size(), 2u) << "as many as calls, so that a long recording stays small";
  EXPECT_EQ(built.track().dropped, 2u);
}

TEST(Track, DropsOnlyWholeChunks) {
  Written calls;
  for (int64_t i = 0; i < 5000; ++i) calls.add(0, {1});
  const auto chunks = calls.track.chunks_from(0);
  ASSERT_GE(chunks.size(), 3u);
  calls.track.drop_chunks_before(chunks[2]->first - 1);
  EXPECT_EQ(calls.track.chunks_from(0)[0], chunks[1]);
  calls.track.drop_chunks_before(UINT64_MAX);
  EXPECT_EQ(calls.track.chunks_from(0).size(), 1u) << "the current one";
  EXPECT_EQ(calls.track.num_events(), 5000u);
  EXPECT_EQ(shapes_text(*chunks[0]->event(0)), "float32[1]") << "whoever holds a chunk keeps it";
}

TEST(Trace, NumbersRunsByTheirBeginAndTakesInnerOnesForPartOfTheirs) {
  TraceBuilder built;
  built.run(4, 10, 20, name_id("inner"), {}, 3).run(3, 5, 30, name_id("outer")).run(9, 40, 50, name_id("outer"));
  built.run(8, 40, 50, name_id("other"), {}, 7);  // its parent is not of the trace
  const auto trace = make_object<Trace>(built.parts({{0, 0}, 1}));
  EXPECT_EQ(trace->num_runs(), 3u);
  std::string numbers;
  for (const Event *run : trace->parts.tracks[0].runs)
    numbers += concat(trace->run_number(*run), trace->is_run(*run) ? " " : "i ");
  EXPECT_EQ(numbers, "0i 0 2 1 ");
}

}  // namespace
}  // namespace opd
