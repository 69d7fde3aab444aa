// Adds events outside of calls: ranges, marks and steps of the user, tasks of parallel loops, memory, work of devices.
#include "trace/record/ranges.h"

#include "trace/record/device_work.h"
#include "trace/record/memory_event.h"
#include "trace/record/recorder.h"

namespace opd {

namespace {

// The thread's part in those recordings that ran at the tick `begin`. The loops use no lambda, because the compiler
// would not inline it, which costs too much in the usual case of one recording.
class Entered {
 public:
  [[gnu::always_inline]] Entered(Track &track, Recordings recordings, uint64_t begin) : track_(track) {
    try {
      for (; recordings; recordings = without_first(recordings)) enter_first(recordings, begin);
    } catch (...) {
      leave_all();
      throw;
    }
  }
  [[gnu::always_inline]] ~Entered() { leave_all(); }
  Entered(const Entered &) = delete;
  Recordings set() const { return set_; }

 private:
  [[gnu::always_inline]] void enter_first(Recordings recordings, uint64_t begin) {
    const uint32_t place = first_of(recordings);
    const Slot &slot = Recorder::get().slots[place];
    const uint64_t id = slot.id.load();
    if (id && slot.began.load(std::memory_order_relaxed) <= begin && enter(track_, place, id)) set_ |= bit_of(place);
  }
  [[gnu::always_inline]] void leave_all() {
    for (Recordings left = set_; left; left = without_first(left)) leave(track_, first_of(left));
  }
  Track &track_;
  Recordings set_ = 0;
};

// Adds an event to the calling thread's track, for those recordings that ran at the tick `begin`. `complete` sets the
// members that depend on the kind.
template <class Complete>
[[gnu::always_inline]] inline void add_event(Track &track, Recordings recordings, uint64_t begin, uint64_t end,
                                             const Complete &complete) {
  const Entered entered(track, recordings, begin);
  if (!entered.set()) return;
  if (Event *event = track.describe(entered.set())) {
    event->begin = begin;
    event->end = end;
    complete(*event);
    track.commit();
  }
}

[[gnu::always_inline]] inline void add_range(Track &track, Recordings recordings, const OpenSpan &range, uint64_t end,
                                             int32_t beginner = 0) {
  add_event(track, recordings, range.begin, end, [&](Event &event) {
    event.kind = range.kind;
    event.device.device_id = beginner;
    event.name = range.name;
    event.run = range.run;
    event.stack = range.stack;
  });
}

// A file shows the open spans of its threads in their blocks. Without this, a thread would get its block at its first
// event, and a range that never ends would be missing.
void open_parts_in_files(Track &track) {
  const auto recordings = read_recordings(Interest::kFiledRanges);
  each_recording(recordings, [&](uint32_t place) {
    const uint64_t id = Recorder::get().slots[place].id.load();
    if (id && track.part(place).id != id && enter(track, place, id)) leave(track, place);
  });
}

// The tasks of an ITT tool end on their own thread only. So those whose ranges ended on other threads end here, at the
// next begin or end of a range.
void end_itt_tasks_of_taken(Track &track) {
  for (uint32_t left = track.open_spans().reset_num_taken(); left > 0; --left) end_itt_task();
}

}  // namespace

// If there is no memory for the thread's track, the range is not recorded.
uint64_t begin_range_slowly(NameId name) noexcept try {
  Track &track = Recorder::get().track();
  open_parts_in_files(track);
  if (goes_to_itt()) end_itt_tasks_of_taken(track);
  OpenSpan range{.name = name, .stack = is_recording(Interest::kStacks) ? capture_stack() : 0};
  const uint64_t begin = range.begin = ticks_of(tick_clock());
  open_span(track, range);
  if (goes_to_itt()) begin_itt_task(name);
  return begin;
} catch (const std::bad_alloc &) { return 0; }

namespace {

// The event is on the calling thread's track and names the thread that began the range, because only a thread itself may
// write its track.
void end_range_of_another_thread(uint64_t begin, uint64_t end) {
  Recorder &recorder = Recorder::get();
  std::optional<OpenSpan> range;
  int32_t beginner = 0;
  {
    const std::scoped_lock lock(recorder.guard);
    for (const auto &track : recorder.tracks) {
      if (track->is_lost() || !(range = track->take_open_range(begin))) continue;
      beginner = static_cast<int32_t>(track->thread_id());
      break;
    }
  }
  if (!range) return;  // ended before, or began before the recordings of now
  const auto recordings = read_recordings(Interest::kEndedRanges);
  add_range(recorder.track(), recordings, *range, end, beginner);
  raise_alarms(recordings, range->name, begin, end);
}

}  // namespace

void end_range(uint64_t begin) noexcept try {
  if (!begin) return;
  const uint64_t end = ticks_of(tick_clock());
  Track &track = Recorder::get().track();
  if (goes_to_itt()) end_itt_tasks_of_taken(track);
  OpenSpans &spans = track.open_spans();
  const uint32_t found = spans.find(begin);
  if (!found) return end_range_of_another_thread(begin, end);
  if (goes_to_itt()) end_itt_task();
  struct Popped {
    Track &track;
    const uint32_t found;
    ~Popped() {  // after the range is among the events
      track.open_spans().pop(found);
      track.show_open_spans();
    }
  } popped{track, found};
  const OpenSpan range{.begin = begin, .name = spans.name(found), .stack = spans.stack(found)};
  add_range(track, read_recordings(Interest::kEndedRanges), range, end);
  raise_alarms(read_recordings(Interest::kEndedRanges), range.name, begin, end);
} catch (const std::bad_alloc &) {}

int32_t push_range(std::string_view name) noexcept {
  const uint32_t depth = thread_state().pushed_ranges++;
  try {
    if (is_recording(Interest::kRanges)) {
      auto &pushed = Recorder::get().track().pushed_ranges();
      if (pushed.size() == pushed.capacity()) pushed.reserve(2 * pushed.size() + 8);
      if (const uint64_t begin = begin_range(name_id(name))) pushed.push_back({depth, begin});
    }
  } catch (const std::bad_alloc &) {}
  return static_cast<int32_t>(depth);
}

// A range that was pushed while nothing recorded has no entry.
int32_t pop_range() noexcept {
  ThreadState &state = thread_state();
  if (state.pushed_ranges == 0) return -1;
  const uint32_t depth = --state.pushed_ranges;
  if (auto *track = static_cast<Track *>(state.track)) {
    auto &pushed = track->pushed_ranges();
    if (!pushed.empty() && pushed.back().depth == depth) {
      end_range(pushed.back().begin);
      pushed.pop_back();
    }
  }
  return static_cast<int32_t>(depth);
}

void add_mark(NameId name) noexcept try {
  if (!is_recording(Interest::kRanges)) return;
  if (goes_to_itt()) add_itt_marker(name);
  OpenSpan mark{.name = name, .kind = EventKind::kMark, .stack = is_recording(Interest::kStacks) ? capture_stack() : 0};
  mark.begin = ticks_of(tick_clock());
  add_range(Recorder::get().track(), read_recordings(Interest::kEndedRanges), mark, mark.begin);
} catch (const std::bad_alloc &) {}

void Recording::add_step(uint64_t begin, uint64_t number) noexcept try {
  const uint64_t end = ticks_of(tick_clock());
  add_range(Recorder::get().track(), bit_of(slot_), {begin, kNoName, EventKind::kStep, number}, end);
} catch (const std::bad_alloc &) {}

// ---- tasks

ParallelLoop begin_loop(uint32_t num_tasks) noexcept try {
  Track &track = Recorder::get().track();
  static std::atomic<uint64_t> last_loop{0};
  return {last_loop.fetch_add(1, std::memory_order_relaxed) + 1, track.open_spans().innermost_run(),
          static_cast<uint32_t>(track.thread_id()), num_tasks};
} catch (const std::bad_alloc &) { return {}; }

uint64_t task_begin() noexcept { return ticks_of(tick_clock()); }

void add_task_event(const ParallelLoop &loop, uint32_t task, uint64_t begin) noexcept try {
  const uint64_t end = ticks_of(tick_clock());
  if (!loop.number) return;
  const auto recordings = read_recordings(Interest::kTasks);
  add_event(Recorder::get().track(), recordings, begin, end, [&](Event &event) {
    event.kind = EventKind::kTask;
    event.name = kNoName;
    event.run = loop.run;
    set_loop_task(event, {loop.number, task, loop.num_tasks, loop.thread});
  });
} catch (const std::bad_alloc &) {}

// ---- memory

NameId memory_use_name(MemoryUse use) {
  static const NameId names[] = {kNoName, name_id("workspace"), name_id("parameter"), name_id("cache"),
                                 name_id("result")};
  return names[static_cast<size_t>(use)];
}

void add_memory_event(EventKind kind, DLDevice device, const MemoryChange &change, MemoryUse use) noexcept try {
  const uint64_t now = ticks_of(tick_clock());
  const NameId name = memory_use_name(use);
  const auto recordings = read_recordings(Interest::kMemory);
  add_event(Recorder::get().track(), recordings, now, now, [&](Event &event) {
    event.kind = kind;
    event.name = name;
    event.device = device;
    set_memory_change(event, change);
  });
} catch (const std::bad_alloc &) {}

// ---- work of devices

WorkLauncher launcher_of_work() {
  Track &track = Recorder::get().track();
  return {track.open_spans().innermost_run(), static_cast<uint32_t>(track.thread_id())};
}

void add_work_event(const LaunchedWork &launched, const WorkLauncher &by, const TickInterval &times) noexcept try {
  const auto recordings = read_recordings(Interest::kDeviceWork);
  add_event(Recorder::get().track(), recordings, launched.launch.begin, times.end, [&](Event &event) {
    const uint64_t ticks = launched.launch.end - launched.launch.begin;
    event.begin = times.begin;
    event.kind = EventKind::kDeviceWork;
    event.name = launched.name;
    event.run = by.run;
    event.device = launched.device;
    set_device_work(event, {launched.launch.begin, static_cast<uint32_t>(std::min<uint64_t>(ticks, UINT32_MAX)),
                            by.thread, launched.bytes, launched.stream, launched.kind});
  });
} catch (const std::bad_alloc &) { count_lost_work(1); }

void add_clock_event(DLDevice device, uint64_t began, const DeviceMoment &moment) noexcept try {
  const auto recordings = read_recordings(Interest::kDeviceWork);
  add_event(Recorder::get().track(), recordings, began, began, [&](Event &event) {
    event.kind = EventKind::kDeviceClock;
    event.run = 0;
    event.device = device;
    set_device_moment(event, moment);
  });
} catch (const std::bad_alloc &) { count_lost_work(1); }

void add_counter_event(NameId name, DLDevice device, double value) noexcept try {
  const uint64_t now = ticks_of(tick_clock());
  const auto recordings = read_recordings(Interest::kRunning);
  add_event(Recorder::get().track(), recordings, now, now, [&](Event &event) {
    event.kind = EventKind::kCounter;
    event.name = name;
    event.run = 0;
    event.device = device;
    set_counter_value(event, value);
  });
} catch (const std::bad_alloc &) {}

void count_lost_work(uint64_t count) noexcept try {
  Track &track = Recorder::get().track();
  const auto recordings = read_recordings(Interest::kDeviceWork);
  each_recording(recordings, [&](uint32_t place) {
    const uint64_t id = Recorder::get().slots[place].id.load();
    if (!id || !enter(track, place, id)) return;
    track.part(place).drop(count);
    leave(track, place);
  });
} catch (const std::bad_alloc &) {}

}  // namespace opd
