#include "trace/recording.h"

#include <pthread.h>

#include <bit>
#include <mutex>

#include "base/asymmetric_fence.h"
#include "base/static_guard.h"
#include "base/thread_state.h"
#include "trace/memory_event.h"

namespace opd {

std::atomic<uint32_t> detail::running_recordings{0}, detail::ranging_recordings{0}, detail::memory_recordings{0};

namespace {

std::atomic<uint32_t> take_ranges{0};  // a bit for each recording that takes ranges which end

Recordings bit_of(uint32_t slot) { return static_cast<Recordings>(1u << slot); }

// A recording as the threads that run see it. They read it without a lock: first `id`, then the filter. Then they enter
// (Track::Part::under_way), and look whether `id` is the same; if not, the filter may have been that of two recordings.
// A store of `under_way` comes before the thread's next load, and the end stores `id` before it passes a fence of all
// threads: either the thread sees that the recording has ended, or the end sees the run and waits for it.
struct Slot {
  std::atomic<uint64_t> id{0};  // of the recording; 0: none runs
  std::atomic<const void *> source{nullptr};
  std::atomic<uint64_t> thread{0}, interval{1};
  std::atomic<bool> all_calls{false};
  std::atomic<uint64_t> began{0};    // ticks
  std::atomic<uint64_t> calls{0};    // runs that passed the filter, for sampling
  std::atomic<bool> waiting{false};  // the end of the recording waits for runs
  std::atomic<uint32_t> ended{0};    // counts runs that ended meanwhile
  // Under Recorder::guard:
  uint64_t taken = 0;  // the number of the recording, until its trace is made; then kDraining; 0: the slot is free
  uint64_t max_calls = 0;
  Recording *recording = nullptr;

  static constexpr uint64_t kDraining = UINT64_MAX;  // runs of the ended recording are under way and use its bit
};

struct Recorder {
  ForkMutex guard{LockRank::kRecorder};
  Slot slots[kMostRecordings];
  std::vector<std::shared_ptr<Track>> tracks;  // in the order of their first events
  uint64_t last_id = 0;
  std::atomic<uint64_t> last_run{0};

  static Recorder &get() {
    static auto *recorder = new Recorder;  // never destroyed: threads may record while the process exits
    return *recorder;
  }

  // Of the calling thread.
  Track &track() {
    auto *track = static_cast<Track *>(thread_state().track);
    if (track && !is_before_fork(*track)) [[likely]]
      return *track;
    std::scoped_lock lock(guard);
    if (track) return track->refresh(), *track;
    auto fresh = std::make_shared<Track>();
    tracks.push_back(fresh);
    thread_state().track = fresh.get();
    pthread_setspecific(exit_key, fresh.get());
    return *fresh;
  }

  // Frees what no recording needs. Under the guard.
  void tidy() noexcept {
    const bool any = std::ranges::any_of(slots, [](const Slot &slot) { return slot.taken != 0; });
    for (const auto &track : tracks) {
      uint64_t first = UINT64_MAX;
      for (uint32_t slot = 0; slot < kMostRecordings; ++slot)
        if (slots[slot].taken && track->part(slot).id == slots[slot].taken)
          first = std::min(first, track->part(slot).start);
      track->drop_chunks_before(first);
    }
    if (!any) std::erase_if(tracks, [](const auto &track) { return track->has_ended() || track->is_lost(); });
  }

  bool has_run_under_way(uint32_t slot) const {  // under the guard
    return std::ranges::any_of(tracks, [&](const auto &track) {
      return !track->is_lost() && track->part(slot).under_way.load(std::memory_order_seq_cst) > 0;
    });
  }

 private:
  static bool is_before_fork(const Track &track) { return track.generation() != fork_generation(); }
  // Called when a thread exits. Its track stays while a recording may need it.
  static void leave(void *given) {
    thread_state().track = nullptr;
    Recorder &recorder = get();
    std::scoped_lock lock(recorder.guard);
    static_cast<Track *>(given)->end();
    recorder.tidy();
  }
  static inline const pthread_key_t exit_key = [] {
    pthread_key_t key;
    return pthread_key_create(&key, &leave) ? pthread_key_t(-1) : key;
  }();
};
// Made at load: a destructor that uses it must not run out of memory.
[[maybe_unused]] const Recorder &made_at_load = Recorder::get();

// First nothing begins any more, then nothing that ends is taken any more. What is open between the two is among the
// events, or in its thread's OpenSpans.
void end_begins(uint32_t place) {
  const uint32_t others = ~uint32_t{bit_of(place)};
  detail::running_recordings.fetch_and(others);
  detail::ranging_recordings.fetch_and(others);
}
void end_running(uint32_t place) {
  end_begins(place);
  take_ranges.fetch_and(~uint32_t{bit_of(place)});
  detail::memory_recordings.fetch_and(~uint32_t{bit_of(place)});
  Recorder::get().slots[place].id.store(0);
}

}  // namespace

Ref<Recording> Recording::start(const RecordingOptions &options, std::unique_ptr<CallObservers> observers) {
  auto recording = make_object<Recording>(options, std::move(observers));
  Recorder &recorder = Recorder::get();
  std::scoped_lock lock(recorder.guard);
  const auto is_free = [&](uint32_t place) {
    const uint64_t taken = recorder.slots[place].taken;
    return !taken || (taken == Slot::kDraining && !recorder.has_run_under_way(place));
  };
  uint32_t place = 0;
  while (place < kMostRecordings && !is_free(place)) ++place;
  if (place == kMostRecordings)
    fail(OPD_FAILED_PRECONDITION, kMostRecordings,
         " recordings run already in this process, which is the most; stop one first");
  Slot &slot = recorder.slots[place];
  recording->slot_ = place;
  slot.max_calls = options.max_calls;
  slot.recording = recording.get();
  slot.source.store(options.source, std::memory_order_relaxed);
  slot.thread.store(options.thread, std::memory_order_relaxed);
  slot.interval.store(options.sample_interval, std::memory_order_relaxed);
  slot.all_calls.store(options.all_calls, std::memory_order_relaxed);
  slot.began.store(ticks_of(tick_clock()), std::memory_order_relaxed);
  slot.calls.store(0, std::memory_order_relaxed);
  const uint64_t id = ++recorder.last_id;
  recording->id_ = slot.taken = id;
  slot.id.store(id);
  detail::running_recordings.fetch_or(bit_of(place), std::memory_order_release);
  if (options.ranges) {
    take_ranges.fetch_or(bit_of(place), std::memory_order_release);
    detail::ranging_recordings.fetch_or(bit_of(place), std::memory_order_release);
  }
  if (options.memory) detail::memory_recordings.fetch_or(bit_of(place), std::memory_order_release);
  return recording;
}

bool Recording::is_of_this_thread() const {
  auto *track = static_cast<Track *>(thread_state().track);
  return is_running() && track && track->part(slot_).id == id_ &&
         track->part(slot_).under_way.load(std::memory_order_relaxed) > 0;
}

void Recording::restart(uint64_t times, std::unique_ptr<CallObservers> observers) {
  Recorder &recorder = Recorder::get();
  Track &track = recorder.track();
  // Computed in doubles, which cannot overflow.
  Track::Part &part = track.part(slot_);
  const auto events = part.id == id_ ? static_cast<double>(track.num_events() - part.start) : 0;
  const double needed = std::min(events * static_cast<double>(times), static_cast<double>(options.max_calls));
  {
    std::scoped_lock lock(recorder.guard);
    part.id = 0;  // the next run opens it
    observers_ = std::move(observers);
    recorder.tidy();
  }
  // Most events of the runs have the dimensions of the warm-up's.
  constexpr double kBytes = sizeof(Event) + 8, kMostBytes = 1 << 30;
  Chunk::reserve(static_cast<size_t>(std::min(needed * kBytes, kMostBytes) / Chunk::kBytes));
}

namespace {

struct OpenEvents {
  Track *track;
  uint64_t num_ended;  // events of the track, before these were read
  std::vector<Event> events;

  // Without those that are among the ended events, too: an event is published before its span is taken out.
  std::vector<Event> without(TraceTrack &ended) && {
    std::erase_if(events, [&](const Event &span) {
      const auto &list = ended.list_of(span.kind);
      for (auto at = list.rbegin(); at != list.rend() && Chunk::number_of(**at) + 1 >= num_ended; ++at)
        if ((*at)->begin == span.begin) return true;
      return false;
    });
    return std::move(events);
  }
};
// What each thread has begun since the recording did, and not ended.
std::vector<OpenEvents> read_open_events(uint32_t place) {
  Recorder &recorder = Recorder::get();
  const uint64_t began = recorder.slots[place].began.load(std::memory_order_relaxed), now = ticks_of(tick_clock());
  std::vector<OpenEvents> open;
  std::scoped_lock lock(recorder.guard);
  for (const auto &track : recorder.tracks) {
    if (track->is_lost()) continue;
    const uint64_t num_ended = track->num_events();
    std::vector<Event> events;
    for (const OpenSpan &span : track->read_open_spans()) {
      if (span.begin < began || span.begin > now) continue;
      Event &event = events.emplace_back();
      event.begin = span.begin, event.end = now;
      event.name = span.name, event.kind = span.kind, event.is_open = true;
      event.run = span.run, event.parent_run = span.parent_run;
    }
    if (!events.empty()) open.push_back({track.get(), num_ended, std::move(events)});
  }
  return open;
}

}  // namespace

bool Recording::is_running() const { return !left_ && Recorder::get().slots[slot_].id.load() == id_; }

void Recording::close() noexcept {
  Recorder &recorder = Recorder::get();
  Slot &slot = recorder.slots[slot_];
  end_running(slot_);
  if (options.waits) slot.waiting.store(true);
  fence_all_threads();
  if (!options.waits) return;
  const auto has_run_under_way = [&] {
    std::scoped_lock lock(recorder.guard);
    return recorder.has_run_under_way(slot_);
  };
  for (;;) {
    const uint32_t ended = slot.ended.load();
    if (!has_run_under_way()) break;
    slot.ended.wait(ended);
  }
  slot.waiting.store(false);
}

// To be called after close(): frees the slot as soon as no run uses it, and what only this recording needed.
void Recording::leave() noexcept {
  left_ = true;
  Recorder &recorder = Recorder::get();
  {
    std::scoped_lock lock(recorder.guard);
    recorder.slots[slot_].recording = nullptr;
    recorder.slots[slot_].taken = recorder.has_run_under_way(slot_) ? Slot::kDraining : 0;
    recorder.tidy();
  }
  Chunk::trim();
}

Recording::~Recording() {
  if (!id_ || left_) return;
  close();
  leave();
}

Ref<Trace> Recording::stop() {
  TraceParts parts;
  std::vector<OpenEvents> open;
  if (!options.waits) {
    end_begins(slot_);
    open = read_open_events(slot_);
  }
  close();
  if (observers_) parts.observers = observers_->finish();
  parts.line = ClockCalibration::measure(parts.clock);
  parts.recordings = bit_of(slot_);
  parts.sample_interval = options.sample_interval;
  parts.has_memory = options.memory;
  parts.describe_process();
  Recorder &recorder = Recorder::get();
  std::vector<uint64_t> starts;
  std::vector<OpenEvents> open_of;  // as parts.tracks
  {
    std::scoped_lock lock(recorder.guard);
    for (const auto &track : recorder.tracks) {
      const Track::Part &part = track->part(slot_);
      const bool has_part = part.id == id_;
      const auto found = std::ranges::find(open, track.get(), &OpenEvents::track);
      if (!has_part && found == open.end()) continue;
      TraceTrack kept;
      kept.thread_id = track->thread_id();
      kept.thread_name = track->thread_name();
      if (has_part)
        kept.dropped = part.dropped.load(std::memory_order_relaxed), kept.chunks = track->chunks_from(part.start);
      starts.push_back(has_part ? part.start : 0);
      open_of.push_back(found != open.end() ? std::move(*found) : OpenEvents());
      parts.tracks.push_back(std::move(kept));
    }
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    TraceTrack &track = parts.tracks[i];
    track.add_events(std::exchange(track.chunks, {}), starts[i], bit_of(slot_));
    track.add_open(std::move(open_of[i]).without(track));
  }
  std::erase_if(parts.tracks, [](const TraceTrack &track) { return track.is_empty(); });
  leave();
  return make_object<Trace>(std::move(parts));
}

void end_recordings_of(const void *source) noexcept {
  for (uint32_t place = 0; place < kMostRecordings; ++place) {
    std::unique_ptr<CallObservers> observers;  // end after the lock is released
    Recorder &recorder = Recorder::get();
    std::scoped_lock lock(recorder.guard);
    Slot &slot = recorder.slots[place];
    if (!slot.recording || slot.source.load(std::memory_order_relaxed) != source) continue;
    observers = slot.recording->take_observers();
    end_running(place);
  }
}

// ---- runs

void RunRecording::begin(RunRecorder &recorder, const void *source, NameId function, const RunRecorder *outer) {
  if (outer) {
    recorder = *outer;
    Recordings busy = 0;
    each_recording(recorder.observed_, [&](uint32_t slot) {
      if (recorder.track_->part(slot).observer->is_busy()) busy |= bit_of(slot);
    });
    const auto kept = static_cast<Recordings>(~busy);
    recorder.recordings_ &= kept, recorder.all_calls_ &= kept, recorder.observed_ &= kept;
    if (!recorder.recordings_) recorder.track_ = nullptr;
  }
  const bool is_new = enter_all(recorder, source);
  if (!is_new && !recorder.listens()) return;
  if (!is_new) recorder_ = &recorder, event_ = {};
  begin_entered(recorder, function, outer);
}

namespace {

void leave(Track &track, uint32_t place) {
  Slot &slot = Recorder::get().slots[place];
  std::atomic<uint32_t> &under_way = track.part(place).under_way;
  const uint32_t left = under_way.load(std::memory_order_relaxed) - 1;
  store_before_loads(under_way, left);
  if (left > 0 || !slot.waiting.load()) return;
  slot.ended.fetch_add(1);
  slot.ended.notify_all();
}

// The first time that a thread takes part in a recording. Also makes its observer.
void open_part(Track &track, uint32_t place, uint64_t id) {
  Recorder &recorder = Recorder::get();
  std::scoped_lock lock(recorder.guard);
  const Slot &slot = recorder.slots[place];
  track.open_part(place, id, slot.max_calls, slot.recording ? slot.recording->observer_of_thread() : nullptr);
}

// Takes part in the recording if it is still the one of this number: then its end waits for leave().
bool enter(Track &track, uint32_t place, uint64_t id) {
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

// The track, if the recording began after those that were considered, and the run passes its filter. The run is then
// under way in the recording.
Track *enter_run(uint32_t place, const void *source, uint64_t considered, uint64_t &id, bool &all_calls) {
  Slot &slot = Recorder::get().slots[place];
  id = slot.id.load();
  if (id <= considered) return nullptr;
  const void *const wanted = slot.source.load(std::memory_order_relaxed);
  const uint64_t thread = slot.thread.load(std::memory_order_relaxed);
  if ((wanted && wanted != source) || (thread && thread != thread_number())) return nullptr;
  if (slot.calls.fetch_add(1, std::memory_order_relaxed) % slot.interval.load(std::memory_order_relaxed) != 0)
    return nullptr;
  all_calls = slot.all_calls.load(std::memory_order_relaxed);
  Track &track = Recorder::get().track();
  return enter(track, place, id) ? &track : nullptr;
}

void open_span(Track &track, const OpenSpan &span) {
  if (track.open_spans().is_suspicious()) [[unlikely]] {
    uint64_t earliest = UINT64_MAX;
    for (const Slot &slot : Recorder::get().slots)
      if (slot.id.load()) earliest = std::min(earliest, slot.began.load(std::memory_order_relaxed));
    track.tidy_open_spans(earliest);
  }
  track.open_spans().push(span);
}

}  // namespace

// Recordings get rising numbers, and are seen to begin in that order. So the highest number that a run has considered
// tells which ones are new to the runs within it.
bool RunRecording::enter_all(RunRecorder &recorder, const void *source) {
  const auto running = static_cast<Recordings>(detail::running_recordings.load(std::memory_order_acquire));
  const uint64_t considered = recorder.considered_;
  each_recording(running, [&](uint32_t place) {
    bool all_calls = false;
    uint64_t id;
    Track *const track = enter_run(place, source, considered, id, all_calls);
    recorder.considered_ = std::max(recorder.considered_, id);
    if (!track) return;
    // From here on end() leaves the recording, also after an exception.
    if (!recorder_) recorder_ = &recorder, event_ = {};
    recorder.track_ = track;
    begun_ |= bit_of(place);
    recorder.recordings_ |= bit_of(place);
    if (all_calls) recorder.all_calls_ |= bit_of(place);
    if (track->part(place).observer) recorder.observed_ |= bit_of(place);
  });
  return recorder_;
}

void RunRecording::begin_entered(RunRecorder &recorder, NameId function, const RunRecorder *outer) {
  recorder.run_ = Recorder::get().last_run.fetch_add(1, std::memory_order_relaxed) + 1;
  recorder.only_ticks_ = !recorder.observed_ && tick_clock() == ClockId::kTsc;
  event_.kind = EventKind::kRun;
  event_.recordings = recorder.recordings_;  // those of the outer run must know where its calls belong
  event_.name = function;
  event_.run = recorder.run_;
  event_.parent_run = outer && outer->listens() ? outer->run_ : 0;
  each_recording(static_cast<Recordings>(recorder.observed_ & begun_), [&](uint32_t place) {
    observed_.reserve(kMostRecordings);
    observed_.push_back({place, recorder.track_->part(place).observer->begin_run()});
  });
  event_.begin = ticks_of(tick_clock());
  open_span(*recorder.track_, {event_.begin, function, EventKind::kRun, event_.run, event_.parent_run});
}

void RunRecording::end_recorded() noexcept {
  event_.end = ticks_of(tick_clock());
  Track &track = *std::exchange(recorder_, nullptr)->track_;
  EventItems items;
  while (!observed_.empty()) {
    const auto [place, run] = observed_.back();
    observed_.pop_back();
    track.part(place).observer->end_run(run, items);
  }
  if (event_.begin) {
    track.add_run(event_, items);
    track.open_spans().cut(event_.begin);  // after it is among the events
  }
  each_recording(begun_, [&](uint32_t place) { leave(track, place); });
}

uint64_t RunRecorder::begin_slowly(Args args) const {
  DLDevice device{kDLCPU, 0};
  bool any_tensor = false;
  for (size_t i = args.size(); i-- > 0 && !any_tensor;)
    if (const DLTensor *tensor = try_dltensor(args[i])) device = tensor->device, any_tensor = true;
  each_recording(observed(args), [&](uint32_t place) { track_->part(place).observer->begin_call(device); });
  return ticks_of(tick_clock());
}

void RunRecorder::add_slowly(const Call &call, Args args, size_t cache, const Error *error) const {
  EventItems items;
  if (error) items.add({EventItem::Type::kError, UINT16_MAX, kNoName, {MetricKind::kString}, error->message});
  each_recording(observed(args), [&](uint32_t place) { track_->part(place).observer->end_call(call.begin, items); });
  Event *event = track_->describe(recordings_, all_calls_, args, cache);
  if (!event) return;
  complete(*event, call);
  track_->attach(event, items);
  track_->commit();
}

// ---- ranges

namespace {

// Adds an event to the calling thread's track, for those of the recordings that ran at the tick `begin`. `complete`
// sets the members that tell one kind from another.
template <class Complete>
void add_event(Track &track, Recordings recordings, uint64_t begin, uint64_t end, const Complete &complete) {
  struct Entered {
    Track &track;
    Recordings set = 0;
    ~Entered() {
      each_recording(set, [this](uint32_t place) { leave(track, place); });
    }
  } entered{track};
  each_recording(recordings, [&](uint32_t place) {
    const Slot &slot = Recorder::get().slots[place];
    const uint64_t id = slot.id.load();
    if (!id || slot.began.load(std::memory_order_relaxed) > begin) return;
    if (enter(track, place, id)) entered.set |= bit_of(place);
  });
  if (!entered.set) return;
  if (Event *event = track.describe(entered.set)) {
    event->begin = begin;
    event->end = end;
    complete(*event);
    track.commit();
  }
}

void add_range(Track &track, Recordings recordings, const OpenSpan &range, uint64_t end) {
  add_event(track, recordings, range.begin, end, [&](Event &event) {
    event.kind = range.kind;
    event.name = range.name;
    event.run = range.run;
  });
}

Recordings taking_ranges() { return static_cast<Recordings>(take_ranges.load(std::memory_order_acquire)); }

}  // namespace

// Without memory for the thread's track, the range is not recorded.
uint64_t begin_range_slowly(NameId name) noexcept try {
  Track &track = Recorder::get().track();
  const uint64_t begin = ticks_of(tick_clock());
  open_span(track, {begin, name});
  return begin;
} catch (const std::bad_alloc &) { return 0; }

void end_range(uint64_t begin) noexcept try {
  if (!begin) return;
  const uint64_t end = ticks_of(tick_clock());
  Track &track = Recorder::get().track();
  OpenSpans &spans = track.open_spans();
  const uint32_t found = spans.find(begin);
  if (!found) return;
  struct Popped {
    OpenSpans &spans;
    const uint32_t found;
    ~Popped() { spans.pop(found); }  // after it is among the events
  } popped{spans, found};
  add_range(track, taking_ranges(), {begin, spans.name(found)}, end);
} catch (const std::bad_alloc &) {}

int32_t push_range(std::string_view name) noexcept {
  const uint32_t depth = thread_state().pushed_ranges++;
  try {
    if (is_recording_ranges()) {
      auto &pushed = Recorder::get().track().pushed_ranges();
      pushed.reserve(pushed.size() + 1);
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
  if (!is_recording_ranges()) return;
  const uint64_t now = ticks_of(tick_clock());
  add_range(Recorder::get().track(), taking_ranges(), {now, name, EventKind::kMark}, now);
} catch (const std::bad_alloc &) {}

void Recording::add_step(uint64_t begin, uint64_t number) noexcept try {
  const uint64_t end = ticks_of(tick_clock());
  add_range(Recorder::get().track(), bit_of(slot_), {begin, kNoName, EventKind::kStep, number}, end);
} catch (const std::bad_alloc &) {}

// ---- memory

NameId memory_use_name(MemoryUse use) {
  static const NameId workspace = name_id("workspace"), parameter = name_id("parameter");
  return use == MemoryUse::kWorkspace ? workspace : use == MemoryUse::kParameter ? parameter : kNoName;
}

void add_memory_event(EventKind kind, DLDevice device, const MemoryChange &change, MemoryUse use) noexcept try {
  const uint64_t now = ticks_of(tick_clock());
  const NameId name = memory_use_name(use);
  const auto recordings = static_cast<Recordings>(detail::memory_recordings.load(std::memory_order_acquire));
  add_event(Recorder::get().track(), recordings, now, now, [&](Event &event) {
    event.kind = kind;
    event.name = name;
    event.device = device;
    set_memory_change(event, change);
  });
} catch (const std::bad_alloc &) {}

}  // namespace opd
