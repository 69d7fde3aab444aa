// State shared by recordings and the threads that they record: a slot for each recording, a track for each thread. Only
// for use in trace/.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "base/asymmetric_fence.h"
#include "base/fork_mutex.h"
#include "base/static_guard.h"
#include "base/thread_state.h"
#include "trace/file/event_file.h"
#include "trace/record/alarm.h"
#include "trace/record/ranges.h"
#include "trace/record/recording.h"
#include "trace/record/track.h"

namespace opd {

inline Recordings bit_of(uint32_t slot) { return static_cast<Recordings>(1u << slot); }

// A recording as running threads see it. They read it without a lock. A thread reads `id`, then the filter. It enters
// (Track::Part::under_way) and reads `id` again. If `id` has changed, the filter may be a mix of two recordings. The
// thread stores `under_way` before its next load. The end of the recording stores `id` and then makes all threads pass
// a fence. So either the thread sees that the recording has ended, or the end sees the run and waits for it.
struct Slot {
  std::atomic<uint64_t> id{0};  // id of the recording; 0: the slot is idle
  std::atomic<const void *> source{nullptr};
  std::atomic<uint64_t> thread{0}, interval{1};
  std::atomic<bool> with_calls{true}, all_calls{false}, outcomes{false}, syncs{true};
  std::atomic<uint64_t> began{0};    // ticks
  std::atomic<uint64_t> calls{0};    // counts runs that passed the filter, for sampling
  std::atomic<bool> waiting{false};  // the end of the recording waits for runs
  std::atomic<uint32_t> ended{0};    // counts runs that ended while `waiting`
  Alarm alarm;
  // Under Recorder::guard:
  uint64_t taken = 0;  // id of the recording until its trace is made; then kDraining; 0: the slot is free
  Recording *recording = nullptr;
  std::shared_ptr<EventFile> file;  // null: the recording is kept in memory
  uint64_t dropped_of_ended = 0;    // events dropped by threads whose other data is gone

  // False in a forked child.
  bool has_file() const { return file && file->is_of_this_process(); }

  static constexpr uint64_t kDraining = UINT64_MAX;  // runs of the ended recording still use its bit
};

struct Recorder {
  ForkMutex guard{LockRank::kRecorder};
  Slot slots[kMostRecordings];
  std::vector<std::shared_ptr<Track>> tracks;  // in the order of their first events
  uint64_t last_id = 0;
  std::atomic<uint64_t> last_run{0};

  static Recorder &get() {
    Recorder *const recorder = only_.load(std::memory_order_acquire);
    return recorder ? *recorder : make();
  }

  // The track of the calling thread.
  Track &track() {
    auto *track = static_cast<Track *>(thread_state().track);
    if (track && !is_before_fork(*track)) [[likely]]
      return *track;
    return track_slowly(track);
  }

  void tidy() noexcept;                         // called under the guard; frees what no recording needs
  bool has_run_under_way(uint32_t slot) const;  // called under the guard

 private:
  static Recorder &make();
  static constinit std::atomic<Recorder *> only_;
  static bool is_before_fork(const Track &track) { return track.generation() != fork_generation(); }
  Track &track_slowly(Track *track);  // makes a new track if it is null
  bool is_forgotten(Track &track) const;
  void forget(Track &track) noexcept;
};

void tell_waiting_end(uint32_t place) noexcept;  // reports the end of a run
// Ends what enter() began for the thread.
[[gnu::always_inline]] inline void leave(Track &track, uint32_t place) {
  const Slot &slot = Recorder::get().slots[place];
  std::atomic<uint32_t> &under_way = track.part(place).under_way;
  const uint32_t left = under_way.load(std::memory_order_relaxed) - 1;
  store_before_loads(under_way, left);
  if (slot.waiting.load() && left == 0) [[unlikely]]
    tell_waiting_end(place);
}

// Counts the chunk's events numbered `from` to `to` (exclusive) that belong to the recordings.
uint64_t count_events(const Chunk &chunk, uint64_t from, uint64_t to, Recordings recordings);

// Called the first time that a thread takes part in a recording. Also makes its observer.
void open_part(Track &track, uint32_t place, uint64_t id);

// Takes part in the recording if its id is still this one. The recording's end then waits for leave().
[[gnu::always_inline]] inline bool enter(Track &track, uint32_t place, uint64_t id) {
  Track::Part &part = track.part(place);
  store_before_loads(part.under_way, part.under_way.load(std::memory_order_relaxed) + 1);
  try {
    if (Recorder::get().slots[place].id.load() == id) {
      if (part.id != id) open_part(track, place, id);
      if (!part.observer || !part.observer->is_busy()) return true;
    }
  } catch (...) {
    leave(track, place);
    throw;
  }
  leave(track, place);
  return false;
}

// If a span took too long or failed, raises the alarms of those recordings that ran when it began.
void raise_alarms_slowly(Recordings recordings, NameId name, uint64_t begin, uint64_t end, bool failed) noexcept;
inline void raise_alarms(Recordings recordings, NameId name, uint64_t begin, uint64_t end, bool failed = false) {
  if (end - begin >= detail::slow_ticks.load(std::memory_order_relaxed) || failed) [[unlikely]]
    raise_alarms_slowly(recordings, name, begin, end, failed);
}

void tidy_open_spans(Track &track);  // forgets spans that no recording may have
[[gnu::always_inline]] inline void open_span(Track &track, const OpenSpan &span) {
  if (track.open_spans().is_suspicious() && !goes_to_itt()) [[unlikely]]
    tidy_open_spans(track);
  track.open_spans().push(span);
  track.show_open_spans();
}

}  // namespace opd
