// Files of recordings that no library wrote: what a reader takes from them, and what it refuses.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>

#include "support/event_file_builder.h"

namespace opd {
namespace {
std::function<void(char *data, size_t size, off_t offset)> after_read;  // may change what was read; null: nothing
}  // namespace
}  // namespace opd

// The library calls it.
extern "C" ssize_t pread(int file, void *data, size_t size, off_t offset) {
  const auto got = static_cast<ssize_t>(::syscall(SYS_pread64, file, data, size, offset));
  if (opd::after_read && got > 0) opd::after_read(static_cast<char *>(data), static_cast<size_t>(got), offset);
  return got;
}

namespace opd {
namespace {

using Builder = EventFileBuilder;

Event event_of(EventKind kind, uint64_t begin, uint64_t end, NameId name = 1, Recordings recordings = 1) {
  Event event{};
  event.begin = begin, event.end = end, event.name = name, event.kind = kind, event.recordings = recordings;
  return event;
}
const std::string &known_name() {
  static const std::string block = Builder::texts(BlockType::kNames, {{1, "known"}});
  return block;
}

// ---- the description

TEST(ADescription, IsRefusedIfItIsInvalid) {
  constexpr int64_t kLong = 1'000'000'000'000'000'000;
  struct Row {
    const char *what;
    std::function<void(RecordingHeader &)> change;
    bool is_read;
  };
  const Row rows[] = {
      {"as it is", [](auto &) {}, true},
      {"another type", [](auto &h) { h.type = BlockType::kNames; }, false},
      {"no recording", [](auto &h) { h.recordings = 0; }, false},
      {"two recordings", [](auto &h) { h.recordings = 3; }, false},
      {"the last recording", [](auto &h) { h.recordings = 1u << 15; }, true},
      {"a later recording", [](auto &h) { h.recordings = 1u << 16; }, false},
      {"ticks of no length", [](auto &h) { h.ns_per_tick = 0; }, false},
      {"ticks of -1 ns", [](auto &h) { h.ns_per_tick = -1; }, false},
      {"ticks that are no number", [](auto &h) { h.ns_per_tick = NAN; }, false},
      {"the longest ticks", [](auto &h) { h.ns_per_tick = 1e6; }, true},
      {"longer ticks", [](auto &h) { h.ns_per_tick = 1.001e6; }, false},
      {"the clock 0", [](auto &h) { h.clock = ClockId{}; }, false},
      {"the clock 2", [](auto &h) { h.clock = ClockId::kTsc; }, true},
      {"the clock 3", [](auto &h) { h.clock = static_cast<ClockId>(3); }, false},
      {"the earliest system", [](auto &h) { h.unix_offset_ns = -kLong + 1; }, true},
      {"an earlier system", [](auto &h) { h.unix_offset_ns = -kLong; }, false},
      {"the latest system", [](auto &h) { h.unix_offset_ns = 3 * kLong - 1; }, true},
      {"a later system", [](auto &h) { h.unix_offset_ns = 3 * kLong; }, false},
      {"the latest anchor", [](auto &h) { h.anchor_ns = kLong - 1; }, true},
      {"a later anchor", [](auto &h) { h.anchor_ns = kLong; }, false},
      {"the latest begin", [](auto &h) { h.began = kLong - 1000; }, true},
      {"a later begin", [](auto &h) { h.began = kLong; }, false},
      {"a begin long before its anchor", [](auto &h) { h.anchor_ticks = kLong, h.began = 0, h.ended = kLong; }, false},
      {"the most ticks", [](auto &h) { h.ns_per_tick = 0.01, h.began = (uint64_t{1} << 62) - 1; }, true},
      {"more ticks", [](auto &h) { h.ns_per_tick = 0.01, h.began = uint64_t{1} << 62; }, false},
      {"a later end", [](auto &h) { h.ended = kLong; }, false},
      {"no end", [](auto &h) { h.anchor_ticks = h.began = kLong, h.ended = 0; }, true},
  };
  for (const Row &row : rows) {
    Builder built;
    row.change(built.header);
    EXPECT_EQ(refusal_of(built.description()),
              row.is_read ? "" : ": the description of the recording at offset 0 cannot be")
        << row.what;
  }
  Builder built;
  built.header.recordings = 0;
  EXPECT_EQ(refusal_of(built.description(true)), ": the description of the recording at offset 32768 cannot be");
  built.header.version = 2;
  EXPECT_EQ(refusal_of(built.description()), " has version 2 of the format, but only 1 is supported");
}

TEST(ADescription, DescribesTheRecording) {
  Builder built;
  built.header.process_id = 77, built.header.unix_offset_ns = 5'000, built.header.sample_interval = 4;
  built.header.clock_error_ns = -5, built.header.anchor_ticks = 10, built.header.anchor_ns = 100;
  built.header.ns_per_tick = 2, built.header.recordings = 8;
  std::strcpy(built.header.process_name, "server");
  std::strcpy(built.header.host, "here");
  std::memset(built.header.clock_name, 'c', sizeof built.header.clock_name);  // without a zero
  for (const bool flag : {false, true}) {
    built.header.has_memory = flag, built.header.has_stacks = !flag, built.header.is_finished = flag;
    for (const bool damaged : {false, true}) {
      const Ref<Trace> trace = read_files(built.description(damaged));
      const TraceParts &parts = trace->parts;
      const TraceProcess &process = parts.processes[0];
      EXPECT_EQ(process.id, 77);
      EXPECT_EQ(process.name, "server");
      EXPECT_EQ(process.host, "here");
      EXPECT_EQ(process.clock_name, std::string(72, 'c'));
      EXPECT_EQ(process.clock_error_ns, -1) << "not known";
      EXPECT_EQ(process.sample_interval, 4u);
      EXPECT_EQ(process.recording, Builder::kFile);
      EXPECT_EQ(process.recordings, 8);
      EXPECT_EQ(process.unix_ns(60), 5'000 + 100 + 50 * 2);
      EXPECT_EQ(parts.has_memory, flag);
      EXPECT_EQ(parts.has_stacks, !flag);
      EXPECT_EQ(parts.metadata.size(), flag ? 0u : 1u);
      if (!flag) { EXPECT_EQ(parts.metadata[0], std::pair(std::string("recovered"), std::string("1"))); }
    }
  }
  built.header.clock_error_ns = 250;
  EXPECT_EQ(read_files("", built.description())->parts.processes[0].clock_error_ns, 250) << "FILE.live alone";
}

// ---- events

struct Read {
  std::vector<std::string> events;  // their names and ticks, and what else the test looks at
  uint64_t dropped = 0;
  bool operator==(const Read &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Read &read) {
  for (const std::string &event : read.events) out << "[" << event << "]";
  return out << " dropped " << read.dropped;
}

std::string text_of(const Event &event) {
  std::string text = event.name == kNoName ? "none" : name_text(event.name);
  if (is_of_memory(event.kind)) return text;
  if (event.kind == EventKind::kDeviceWork) return text + " device";
  if (event.kind == EventKind::kCounter) return concat(text, " ", counter_value(event));
  if (event.num_tensors) text += " " + shapes_text(event);
  if (const StackId stack = stack_of(event)) text += concat(" in ", stack_frames(stack).front());
  EventItem item;
  for (size_t at = 0; next_item(event, at, item);)
    text += concat(" ", item.name == kNoName ? "none" : name_text(item.name), "=",
                   item.metric.is_text() ? std::string(item.text) : concat(item.metric.bits));
  return event.is_open ? text + " open" : text;
}
Read read(const std::string &file, const std::string &live = "") {
  const Ref<Trace> trace = read_files(file, live);
  Read found{{}, trace->num_dropped()};
  for (const TraceTrack &track : trace->parts.tracks)
    for (const auto *list : track.lists())
      for (const Event *event : *list) found.events.push_back(text_of(*event));
  return found;
}

uint64_t item_head(uint32_t name, EventItem::Type type, MetricKind kind) {
  return name | uint64_t(type) << 32 | uint64_t(kind) << 40 | uint64_t{1} << 48;
}

TEST(AnEventFromAFile, IsCheckedBeforeItIsUsed) {
  constexpr uint64_t kLong = 1'000'000'000'000'000'000, kMost = uint64_t{1} << 42;
  constexpr auto kWords = static_cast<uint32_t>(kHeaderWords);
  const auto tensor = [](int32_t ndim) { return static_cast<uint64_t>(pack_tensor({kDLFloat, 32, 1}, ndim)); };
  const auto memory = [](const MemoryChange &change) {
    return [change](Event &e) { e.kind = EventKind::kAlloc, e.name = kNoName, set_memory_change(e, change); };
  };
  const auto tensors = [](uint32_t shapes, uint32_t count) {
    return [=](Event &e) { e.shapes = shapes, e.num_tensors = count; };
  };
  const auto items = [](uint32_t place) { return [=](Event &e) { e.items = place; }; };
  const auto head = [](EventItem::Type type, MetricKind kind, uint32_t name = 1) {
    return item_head(name, type, kind);
  };
  constexpr uint64_t kMostNs = uint64_t{1} << 62;
  const auto clock = [](uint64_t device_ns, uint64_t error_ns) {
    return [=](Event &e) {
      e.kind = EventKind::kDeviceClock;
      set_device_moment(e, {e.name, e.begin, device_ns, error_ns});
    };
  };
  const auto counter = [](double value) {
    return [value](Event &e) { e.kind = EventKind::kCounter, set_counter_value(e, value); };
  };
  using Type = EventItem::Type;
  struct Row {
    const char *what;
    std::function<void(Event &)> change;
    std::vector<uint64_t> words;
    const char *expected;  // null: it is left out, and counted
  };
  const Row rows[] = {
      {"as it is", [](Event &) {}, {}, "known"},
      {"a kind that is not known", [](Event &e) { e.kind = static_cast<EventKind>(12); }, {}, nullptr},
      {"the last kind of memory", [](Event &e) { e.kind = EventKind::kBind; }, {}, "known"},
      {"work of a device",
       [](Event &e) {
         set_device_work(e, {1500, 3, 8, 64, 2, WorkKind::kCopyToHost}), e.kind = EventKind::kDeviceWork;
       },
       {},
       "known device"},
      {"unknown work of a device",
       [](Event &e) {
         set_device_work(e, {1500, 3, 8, 64, 2, static_cast<WorkKind>(6)}), e.kind = EventKind::kDeviceWork;
       },
       {},
       nullptr},
      {"work that was launched long ago",
       [](Event &e) {
         set_device_work(e, {kLong, 3, 8, 64, 2, WorkKind::kKernel}), e.kind = EventKind::kDeviceWork;
       },
       {},
       nullptr},
      {"a clock with too late a time", clock(kMostNs, 1), {}, nullptr},
      {"a clock with too large an error", clock(1, kMostNs), {}, nullptr},
      {"a counter", counter(-1.5), {}, "known -1.5"},
      {"a counter that is no number", counter(std::nan("")), {}, nullptr},
      {"an open one", [](Event &e) { e.is_open = true; }, {}, "known open"},
      {"a flag of 2", [](Event &e) { std::memset(&e.is_open, 2, 1); }, {}, nullptr},
      {"a late begin", [](Event &e) { e.begin = kLong; }, {}, nullptr},
      {"a late end", [](Event &e) { e.end = kLong; }, {}, nullptr},
      {"the latest end", [](Event &e) { e.end = kLong - 1000; }, {}, "known"},
      {"a name that is not in the file", [](Event &e) { e.name = 5; }, {}, "?"},
      {"a call without a name", [](Event &e) { e.name = kNoName; }, {}, "?"},
      {"a run without a name", [](Event &e) { e.kind = EventKind::kRun, e.name = kNoName; }, {}, "none"},
      {"a stack", [](Event &e) { e.kind = EventKind::kRange, e.stack = 4; }, {}, "known in 4444"},
      {"a stack that is not in the file", [](Event &e) { e.kind = EventKind::kRange, e.stack = 1; }, {}, "known"},
      {"the largest block", memory({1, kMost - 1, kMost - 1, kMost - 1}), {}, "none"},
      {"a larger block", memory({1, kMost, 0, 0}), {}, nullptr},
      {"too much in use", memory({1, 0, kMost, 0}), {}, nullptr},
      {"too much reserved", memory({1, 0, 0, kMost}), {}, nullptr},
      {"the deepest call", [](Event &e) { e.depth = (1u << 20) - 1; }, {}, "known"},
      {"a deeper call", [](Event &e) { e.depth = 1u << 20; }, {}, nullptr},
      {"a run, which has no depth", [](Event &e) { e.kind = EventKind::kRun, e.depth = 1u << 20; }, {}, "known"},
      {"two tensors", tensors(kWords, 2), {tensor(2), 3, 4, tensor(0)}, "known float32[3, 4], float32[]"},
      {"tensors within the header", tensors(kWords - 1, 1), {tensor(0)}, nullptr},
      {"tensors behind the words", tensors(kWords + 1, 1), {tensor(0)}, nullptr},
      {"a second tensor behind the words", tensors(kWords, 2), {tensor(0)}, nullptr},
      {"a dimension behind the words", tensors(kWords, 1), {tensor(2), 3}, nullptr},
      {"an item", items(kWords), {2, head(Type::kMetric, MetricKind::kCount), 5}, "known known=5"},
      {"an item whose name is not in the file",
       items(kWords),
       {2, head(Type::kMetric, MetricKind::kCount, 8), 5},
       "known ?=5"},
      {"an item without a name",
       items(kWords),
       {2, head(Type::kError, MetricKind::kCount, kNoName), 5},
       "known none=5"},
      {"two items",
       items(kWords),
       {4, head(Type::kMetric, MetricKind::kCount), 5, head(Type::kObserved, MetricKind::kHertz), 6},
       "known known=5 known=6"},
      {"items within the header", items(kWords - 1), {0}, nullptr},
      {"items behind the words", items(kWords + 1), {0}, nullptr},
      {"more items than words", items(kWords), {4, head(Type::kMetric, MetricKind::kCount), 5}, nullptr},
      {"far more items than words", items(kWords), {UINT64_MAX, head(Type::kMetric, MetricKind::kCount), 5}, nullptr},
      {"a type that is not known",
       items(kWords),
       {2, head(static_cast<Type>(static_cast<int>(Type::kWaited) + 1), MetricKind::kCount), 5},
       nullptr},
      {"a kind that is not known", items(kWords), {2, head(Type::kMetric, MetricKind::kRaw), 0, 0}, nullptr},
      {"half an item", items(kWords), {1, head(Type::kMetric, MetricKind::kCount)}, nullptr},
      {"a text",
       items(kWords),
       {3, head(Type::kMetric, MetricKind::kString), 8, 0x6161616161616161},
       "known known=aaaaaaaa"},
      {"a text behind the items",
       items(kWords),
       {3, head(Type::kMetric, MetricKind::kString), 9, 0x6161616161616161, 0},
       nullptr},
      {"an empty text", items(kWords), {2, head(Type::kMetric, MetricKind::kString), 0}, "known known="},
  };
  const uint64_t frame = 4444;
  const std::string stacks = Builder::texts(BlockType::kStacks, {{4, {reinterpret_cast<const char *>(&frame), 8}}});
  for (const Row &row : rows) {
    BuiltBlock events = Builder::block(BlockType::kEvents, 1);
    events.words = row.words;
    events.events.push_back(event_of(EventKind::kCall, 2000, 3000));
    row.change(events.events[0]);
    const Read expected{row.expected ? std::vector<std::string>{row.expected} : std::vector<std::string>(),
                        row.expected ? 0u : 1u};
    EXPECT_EQ(read(Builder().description() + events.sealed() + stacks + known_name()), expected) << row.what;
  }
}

// Also the largest numbers that a file may have.
TEST(AnEventFromAFile, MayDescribeTheClockOfADevice) {
  constexpr uint64_t kLargest = (uint64_t{1} << 62) - 1;
  struct Row {
    uint64_t device_ns, error_ns;
    const char *expected;
  };
  const Row rows[] = {
      {2400, 7, "known, error 7 ns, offset 100 ns, drift not known"},
      {DeviceMoment::kNotKnown, DeviceMoment::kNotKnown, "known, error not known, offset not known, drift not known"},
      {kLargest, kLargest, "known, error 4611686018427387903 ns, offset -4611686018427385403 ns, drift not known"}};
  for (const Row &row : rows) {
    BuiltBlock events = Builder::block(BlockType::kEvents, 1);
    events.events = {event_of(EventKind::kDeviceClock, 0, 0), event_of(EventKind::kDeviceWork, 2000, 2500)};
    set_device_moment(events.events[0], {1, 2500, row.device_ns, row.error_ns});
    for (Event &each : events.events) each.device = {kDLOpenCL, 0};
    set_device_work(events.events[1], {1500, 3, 8, 64, 0, WorkKind::kKernel});
    const Ref<Trace> trace = read_files(Builder().description() + events.sealed() + known_name());
    ASSERT_EQ(trace->parts.tracks_with_clocks().size(), 1u);
    EXPECT_EQ(trace->parts.tracks_with_clocks()[0]->clock->text(), row.expected);
  }
}

// The names of items are replaced in place, so another event with the same ones would have names of another file.
TEST(AnEventFromAFile, SharesItsItemsWithNoOther) {
  BuiltBlock events = Builder::block(BlockType::kEvents, 1);
  events.words = {2, item_head(1, EventItem::Type::kMetric, MetricKind::kCount), 5};
  events.events = {event_of(EventKind::kCall, 2000, 3000), event_of(EventKind::kCall, 3000, 4000)};
  events.events[0].items = events.events[1].items = static_cast<uint32_t>(kHeaderWords);
  EXPECT_EQ(read(Builder().description() + events.sealed() + known_name()), (Read{{"known known=5"}, 1}));
}

// ---- blocks

TEST(ABlock, IsTakenIfItIsWholeAndOfTheRecording) {
  const std::string description = Builder().description(), names = known_name();
  BuiltBlock one = Builder::block(BlockType::kEvents, 1);
  one.events = {event_of(EventKind::kCall, 2000, 3000)};
  const Read all{{"known"}, 0}, nothing{{}, 0};
  EXPECT_EQ(read(description + one.sealed() + names), all);
  EXPECT_EQ(read(description + one.live() + names), nothing) << "FILE has no blocks without a checksum";
  EXPECT_EQ(read(description + names, description + one.live()), all);
  for (const size_t damaged : {size_t{70}, kBlockBytes - 1}) {
    std::string block = one.sealed();
    block[damaged] = static_cast<char>(block[damaged] + 1);
    EXPECT_EQ(read(description + block + names), nothing);
    EXPECT_EQ(read(description + names, description + block), nothing) << "also in FILE.live";
  }
  BuiltBlock older = one;
  older.header.file_id = 8;
  EXPECT_EQ(read(description + older.sealed() + names), nothing) << "left from an older file";
  const std::string hole(3 * kBlockBytes, '\0');
  EXPECT_EQ(read(description + hole + one.sealed() + hole + names), all);
  EXPECT_EQ(read(description + one.sealed() + names + std::string(100, 'x')), all) << "a part of a block at the end";

  BuiltBlock full = Builder::block(BlockType::kEvents, 1);
  full.events.assign(1014, event_of(EventKind::kCall, 2000, 3000, kNoName));
  full.words.assign(2, 0);  // 624 + 2 * 8 + 1014 * 64 bytes are 64 KiB
  EXPECT_EQ(read(description + full.sealed()).events.size(), 1014u);
  full.words.assign(3, 0);
  EXPECT_EQ(read(description + full.sealed()), nothing) << "words and events overlap";
}

TEST(ABlock, IsTakenOnceOfTwoFiles) {
  const std::string description = Builder().description();
  BuiltBlock sealed = Builder::block(BlockType::kEvents, 1), part = sealed;
  part.events = {event_of(EventKind::kRange, 2000, 3000, kNoName)};
  sealed.events = {part.events[0], event_of(EventKind::kRange, 3000, 4000, kNoName)};
  const Read both{{"none", "none"}, 0};
  EXPECT_EQ(read(description + sealed.sealed(), description + part.live()), both);
  EXPECT_EQ(read(description + part.sealed(), description + sealed.live()), (Read{{"none"}, 1}))
      << "what has a checksum counts, and the other one knows of two events";
  BuiltBlock next = Builder::block(BlockType::kEvents, 1, 1);
  next.header.produced[1] = 2;
  next.events = {event_of(EventKind::kRange, 4000, 5000, kNoName)};
  EXPECT_EQ(read(description + next.sealed() + sealed.sealed()), (Read{{"none", "none", "none"}, 0}))
      << "in whatever order";
}

TEST(ABlock, CountsMissingEvents) {
  const std::string description = Builder().description();
  BuiltBlock events = Builder::block(BlockType::kEvents, 1, 3);
  events.header.produced[0] = 900, events.header.produced[1] = 5;  // that of odd blocks counts
  events.events = {event_of(EventKind::kRange, 2000, 3000, kNoName),
                   event_of(EventKind::kRange, 2500, 3000, kNoName, 2)};
  EXPECT_EQ(read(description + events.sealed()), (Read{{"none"}, 5})) << "the other event is another recording's";
  events.header.dropped = 3;
  EXPECT_EQ(read(description + events.sealed()), (Read{{"none"}, 8}));
  const auto ended = [](uint64_t produced, uint64_t dropped) {
    return Builder::threads({{1, produced, dropped, 101, "worker"}, {2, 4, 0, 102, "other"}});
  };
  EXPECT_EQ(read(description + events.sealed() + ended(10, 4)), (Read{{"none"}, 9 + 4 + 4}));
  EXPECT_EQ(read(description + ended(10, 4) + events.sealed()), (Read{{"none"}, 9 + 4 + 4}));
  EXPECT_EQ(read(description + events.sealed() + ended(2, 1)), (Read{{"none"}, 8 + 4})) << "an older one";
  const Ref<Trace> trace = read_files(description + ended(10, 4));
  ASSERT_EQ(trace->parts.tracks.size(), 2u);
  EXPECT_EQ(trace->parts.tracks[0].thread_name, "worker");
  EXPECT_EQ(trace->parts.tracks[0].thread_id, 101);
  EXPECT_EQ(trace->parts.tracks[0].dropped, 14u);

  Builder built;
  built.header.other_drops = 6;
  const Ref<Trace> full = read_files(built.description());
  ASSERT_EQ(full->parts.tracks.size(), 1u);
  EXPECT_EQ(full->parts.tracks[0].thread_name, "threads without room");
  EXPECT_EQ(full->parts.tracks[0].dropped, 6u);
  std::string live = built.description();
  const uint64_t newer = 8;
  std::memcpy(live.data() + kOtherDropsWord * 8, &newer, 8);
  EXPECT_EQ(read_files("", live)->num_dropped(), 8u) << "FILE.live counts on";
}

TEST(ABlock, GivesTheFirstOfSeveralTextsWithOneNumber) {
  BuiltBlock events = Builder::block(BlockType::kEvents, 1);
  for (const NameId name : {1u, 2u, 3u, 4u}) events.events.push_back(event_of(EventKind::kRange, 2000, 3000, name));
  const std::string description = Builder().description() + events.sealed();
  const std::string names = Builder::texts(BlockType::kNames, {{1, "eight by"}, {2, ""}, {3, "third"}, {1, "another"}});
  const Read expected{{"eight by", "", "third", "?"}, 0};
  EXPECT_EQ(read(description + names), expected);
  EXPECT_EQ(read(description + names + names), expected);
  BuiltBlock cut = Builder::block(BlockType::kNames);
  cut.words = {uint64_t{1} << 32 | 5, 0x6161616161, uint64_t{2} << 32 | 9, 0x6262626262626262};
  EXPECT_EQ(read(description + cut.sealed()), (Read{{"aaaaa", "?", "?", "?"}, 0})) << "a text behind the block's end";
}

TEST(ABlock, GivesStacksWithFramesAndTheirObjects) {
  Builder built;
  built.header.has_stacks = 1;
  BuiltBlock events = Builder::block(BlockType::kEvents, 1);
  events.events = {event_of(EventKind::kRange, 2000, 3000)};
  events.events[0].stack = 3;
  const uint64_t frames[] = {5'000, pack_frame({1, 2, 33})};
  const auto object = [](uint64_t begin, const std::string &path) {
    const uint64_t numbers[] = {begin, begin + 50, begin, 2};  // its end and its base; the build id has two characters
    return std::string(reinterpret_cast<const char *>(numbers), sizeof numbers) + "ab" + path;
  };
  const Ref<Trace> trace = read_files(
      built.description() + events.sealed() +
      Builder::texts(BlockType::kStacks, {{3, {reinterpret_cast<const char *>(frames), sizeof frames}}}) +
      Builder::texts(BlockType::kObjects, {{0, object(900, "later")}, {1, object(300, "sooner")}, {2, "short"}}) +
      Builder::texts(BlockType::kNames, {{1, "call"}, {2, "file.py"}}));
  const auto stack = stack_frames(stack_of(*trace->parts.tracks[0].ranges[0]));
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[0], 5'000u);
  const LanguageFrame named = unpack_frame(stack[1]);
  EXPECT_EQ(name_text(named.function), "call");
  EXPECT_EQ(name_text(named.file), "file.py");
  EXPECT_EQ(named.line, 33u);
  const auto &objects = trace->parts.processes[0].objects;
  ASSERT_EQ(objects.size(), 2u) << "without the damaged one";
  EXPECT_EQ(objects[0].path, "sooner");
  EXPECT_EQ(objects[0].build_id, "ab");
  EXPECT_EQ(objects[1].begin, 900u);
  EXPECT_EQ(objects[1].end, 950u);
}

// ---- what was open

TEST(AnOpenSpan, IsInTheNewestBlockOfItsThread) {
  Builder built;
  built.header.is_finished = 0, built.header.ended = 0;
  BuiltBlock events = Builder::block(BlockType::kEvents, 1);
  events.events = {event_of(EventKind::kRange, 2000, 3000), event_of(EventKind::kRange, 5000, 6000),
                   event_of(EventKind::kRun, 4000, 6000)};
  const auto span = [](uint64_t begin, EventKind kind, NameId name = 1, uint64_t run = 0, uint64_t parent = 0) {
    return OpenSpanRecord{begin, PackedSpan::of({.name = name, .kind = kind, .stack = 9}), run, parent};
  };
  events.header.open_spans[0] = span(1500, EventKind::kRun, 1, 5, 4);
  events.header.open_spans[1] = span(999, EventKind::kRange);    // before the recording
  events.header.open_spans[2] = span(5000, EventKind::kRange);   // has ended
  events.header.open_spans[3] = span(5000, EventKind::kRun, 2);  // another one of that begin
  events.header.open_spans[4] = span(5500, EventKind::kMark);    // is never open
  events.header.open_spans[5] = span(0, EventKind::kRange);      // changes just now
  events.header.open_spans[6] = span(7000, EventKind::kRange);   // after the last event
  events.header.open_spans[7] = span(7500, EventKind::kRange);   // beyond the number of spans
  events.header.num_open_spans = 7;
  const auto open_of = [](const Ref<Trace> &trace) {
    std::string text;
    for (const auto *list : {&trace->parts.tracks.at(0).runs, &trace->parts.tracks.at(0).ranges})
      for (const Event *event : *list)
        if (event->is_open)
          text += concat(name_text(event->name), " ", event->begin, "-", event->end, " ", event->run, " ",
                         event->parent_run, " ", stack_of(*event), "; ");
    return text;
  };
  const std::string names = known_name();
  EXPECT_EQ(open_of(read_files("", built.description() + events.live() + names)),
            "? 5000-6000 0 0 0; known 1500-6000 5 4 0; known 7000-7000 0 0 0; ");
  built.header.is_finished = 1, built.header.ended = 8000;
  EXPECT_EQ(open_of(read_files(built.description() + events.sealed() + names)),
            "? 5000-8000 0 0 0; known 1500-8000 5 4 0; known 7000-8000 0 0 0; ");
  BuiltBlock later = Builder::block(BlockType::kEvents, 1, 1);
  later.header.produced[1] = 3;
  later.events = {event_of(EventKind::kRange, 6500, 6600)};
  EXPECT_EQ(open_of(read_files(built.description() + events.sealed() + later.sealed() + names)), "")
      << "an older block tells nothing";
  EXPECT_EQ(open_of(read_files(built.description() + events.sealed() + Builder::threads({{1, 4, 0, 101, ""}}))), "")
      << "a newer block is lost";
  EXPECT_EQ(open_of(read_files(built.description() + events.sealed() + Builder::threads({{1, 3, 1, 101, ""}}))), "");
}

// A block's header is read before and after the block, since its thread may write meanwhile.
TEST(AnOpenSpan, IsLeftOutIfItChangesWhileItIsRead) {
  Builder built;
  built.header.is_finished = 0, built.header.ended = 0;
  BuiltBlock events = Builder::block(BlockType::kEvents, 1);
  events.events = {event_of(EventKind::kRange, 2000, 3000)};
  for (uint64_t i = 0; i < 3; ++i) events.header.open_spans[i] = {1500 + i, PackedSpan::of({.name = 1}), 0, 0};
  events.header.num_open_spans = 3;
  const std::string live = built.description() + events.live() + known_name();
  // Reads the file while `change` is done to the header of the events at its nth reading.
  const auto begins = [&](const std::function<void(BlockHeader & header, int reading)> &change) {
    int readings = 0;
    after_read = [&](char *data, size_t size, off_t offset) {
      if (offset != static_cast<off_t>(kBlockBytes) || size != sizeof(BlockHeader)) return;
      BlockHeader header;
      std::memcpy(&header, data, sizeof header);
      change(header, ++readings);
      std::memcpy(data, &header, sizeof header);
    };
    const Ref<Trace> trace = read_files("", live);
    after_read = {};
    std::vector<uint64_t> found;
    for (const TraceTrack &track : trace->parts.tracks)
      for (const Event *range : track.ranges) found.push_back(range->begin);
    std::ranges::sort(found);
    return std::pair(readings, found);
  };
  using Found = std::pair<int, std::vector<uint64_t>>;
  const auto [readings, all] = begins([](BlockHeader &, int) {});  // the file is read in several passes
  EXPECT_EQ(all, (std::vector<uint64_t>{1500, 1501, 1502, 2000}));
  EXPECT_EQ(begins([](BlockHeader &header, int reading) {
              if (reading % 2 == 0) header.open_spans[1].run = 7;
            }),
            Found(readings, {1500, 1502, 2000}));
  EXPECT_EQ(begins([](BlockHeader &header, int reading) {
              if (reading % 2 == 0) header.open_spans[0].begin = 1600, header.open_spans[2].parent_run = 7;
            }),
            Found(readings, {1501, 2000}));
  const auto other_track = [](BlockHeader &header) { ++header.track; };
  const auto other_magic = [](BlockHeader &header) { header.magic[0] ^= 1; };
  const auto next_block = [](BlockHeader &header) {
    BlockState state = BlockState::of(header.state);
    ++state.sequence;
    header.state = state.packed();
  };
  for (const std::function<void(BlockHeader &)> &change :
       {std::function<void(BlockHeader &)>(other_track), std::function<void(BlockHeader &)>(other_magic),
        std::function<void(BlockHeader &)>(next_block)}) {
    EXPECT_EQ(begins([&](BlockHeader &header, int reading) {
                if (reading % 4 == 2) change(header);
              }),
              Found(2 * readings, all))
        << "it is read again";
    EXPECT_EQ(begins([&](BlockHeader &header, int reading) {
                if (reading % 2 == 0) change(header);
              }),
              Found(100 * readings, {}))
        << "it changes all the time";
  }
}

}  // namespace
}  // namespace opd
