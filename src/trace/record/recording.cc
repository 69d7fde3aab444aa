#include "trace/record/recording.h"

#include <mutex>

#include "base/log.h"
#include "trace/file/event_file.h"
#include "trace/record/device_activity.h"
#include "trace/record/device_work.h"
#include "trace/record/memory_event.h"
#include "trace/record/recorder.h"

namespace opd {

namespace {

// There are two steps: first, no span begins for the recording any more; then, no ending span is added to it. Between
// the two, an open span is among the events or in its thread's OpenSpans, so none is missed.
void end_begins(uint32_t place) {
  for (const Interest begins : {Interest::kRunning, Interest::kRanges})
    recordings_of(begins).fetch_and(~uint32_t{bit_of(place)});
}
// A thread may have read a bit before it is cleared here. It then checks the id in enter(), which refuses it.
void end_running(uint32_t place) {
  for (size_t i = 0; i < kNumInterests; ++i)  // in their order, which begins like end_begins()
    recordings_of(static_cast<Interest>(i)).fetch_and(~uint32_t{bit_of(place)});
  Recorder::get().slots[place].id.store(0);
}

}  // namespace

Ref<Recording> Recording::start(const RecordingOptions &options, std::unique_ptr<CallObservers> observers) {
  auto recording = make_object<Recording>(options, std::move(observers));
  // The file is made before the lock is taken, because that takes system calls and may throw.
  if (!options.file.empty())
    recording->file_ = EventFile::create({options.file, options.overwrites, options.max_bytes, options.sample_interval,
                                          options.memory, options.stacks, options.flush_interval_ns});
  Recorder &recorder = Recorder::get();
  std::scoped_lock lock(recorder.guard);
  // If an ended recording did not wait for its runs, its slot is draining: these runs still mark events with its bit.
  // The end of the last run is not reported, so the slot is found free here.
  const auto is_free = [&](uint32_t place) {
    const uint64_t taken = recorder.slots[place].taken;
    return !taken || (taken == Slot::kDraining && !recorder.has_run_under_way(place));
  };
  // If all others run, a recording that does not wait shares such a bit, and leaves these runs out by their numbers.
  const auto may_share = [&](uint32_t place) {
    return !options.waits && !recording->observers_ && recorder.slots[place].taken == Slot::kDraining;
  };
  uint32_t place = 0;
  while (place < kMostRecordings && !is_free(place)) ++place;
  if (place == kMostRecordings) {
    place = 0;
    while (place < kMostRecordings && !may_share(place)) ++place;
    recording->runs_after_ = recorder.last_run.load();
  }
  if (place == kMostRecordings)
    fail(OPD_FAILED_PRECONDITION, kMostRecordings,
         " recordings run already in this process, which is the most; stop one first");
  Slot &slot = recorder.slots[place];
  const uint64_t began = ticks_of(tick_clock());
  // The file begins before the id is stored, because threads that see the id request blocks from the file.
  recording->slot_ = place;
  if (recording->file_) recording->file_->begin(recording->filter(), began);
  slot.recording = recording.get();
  slot.file = recording->file_;
  slot.dropped_of_ended = 0;
  // The filter is stored before the id. A thread that enters reads the id, the filter, and the id again: see Slot.
  slot.source.store(options.source, std::memory_order_relaxed);
  slot.thread.store(options.thread, std::memory_order_relaxed);
  slot.interval.store(options.sample_interval, std::memory_order_relaxed);
  slot.with_calls.store(options.calls, std::memory_order_relaxed);
  slot.all_calls.store(options.all_calls, std::memory_order_relaxed);
  slot.outcomes.store(options.outcomes, std::memory_order_relaxed);
  slot.syncs.store(options.waits, std::memory_order_relaxed);
  slot.began.store(began, std::memory_order_relaxed);
  slot.calls.store(0, std::memory_order_relaxed);
  // Ids increase, so a nested run needs to check only recordings that began after its outer run: see enter_all().
  const uint64_t id = ++recorder.last_id;
  recording->id_ = slot.taken = id;
  slot.id.store(id);
  // The order counts. Stacks come first, so that every run or range of the recording has its stack. kRanges lets ranges
  // begin. Before that, kEndedRanges must be set, so that their ends find the recording, and kFiledRanges, so that a
  // file shows open ranges.
  const std::pair<Interest, bool> interests[] = {{Interest::kStacks, options.stacks},
                                                 {Interest::kRunning, true},
                                                 {Interest::kFiledRanges, options.ranges && recording->file_},
                                                 {Interest::kEndedRanges, options.ranges},
                                                 {Interest::kRanges, options.ranges},
                                                 {Interest::kMemory, options.memory},
                                                 {Interest::kTasks, options.tasks},
                                                 {Interest::kDeviceWork, options.device_work}};
  for (const auto &[interest, is_asked] : interests)
    if (is_asked) recordings_of(interest).fetch_or(bit_of(place), std::memory_order_release);
  return recording;
}

EventFilter Recording::filter() const { return {bit_of(slot_), runs_after_}; }

bool Recording::is_of_this_thread() const {
  auto *track = static_cast<Track *>(thread_state().track);
  return is_running() && track && track->part(slot_).id == id_ &&
         track->part(slot_).under_way.load(std::memory_order_relaxed) > 0;
}

void Recording::restart(uint64_t times, std::unique_ptr<CallObservers> observers) {
  Recorder &recorder = Recorder::get();
  Track &track = recorder.track();
  // Doubles cannot overflow here.
  Track::Part &part = track.part(slot_);
  const auto events = part.id == id_ ? static_cast<double>(track.num_events() - part.start) : 0;
  // Without this wait, events of the warm-up's kernels could come after the restart and count as later ones.
  if (options.device_work) finish_device_work();
  const double needed = std::min(events * static_cast<double>(times), static_cast<double>(options.max_calls));
  {
    std::scoped_lock lock(recorder.guard);
    part.id = 0;                               // the next run opens the part again
    for (const auto &other : recorder.tracks)  // one of the tracks has the work of devices
      if (other->part(slot_).id == id_) other->part(slot_).start = other->num_events(), other->part(slot_).dropped = 0;
    observers_ = std::move(observers);
    recorder.tidy();
  }
  // Most events of the runs have the same dimensions as those of the warm-up.
  constexpr double kBytes = sizeof(Event) + 8, kMostBytes = 1 << 30;
  Chunk::reserve(static_cast<size_t>(std::min(needed * kBytes, kMostBytes) / Chunk::kBytes));
}

// If the first run did this, its measured time would include it: in a profile with a file, recording took 170 us of
// that run, partly because the code was not warm.
void Recording::open_thread() {
  Track &track = Recorder::get().track();
  if (track.part(slot_).id != id_) open_part(track, slot_, id_);
  if (const NameId names = name_count(); file_ && names) file_->add_names(names - 1);
  Chunk::reserve(1);
}

// A span that ends while the spans are read may also be among the ended events. It is in at least one of the two,
// because its event is published before the span is removed.
struct Recording::OpenEvents {
  Track *track;
  uint64_t num_ended;  // number of events on the track before the spans were read
  std::vector<Event> events;

  // Leaves out spans that are also among the ended events: the events since num_ended was read, and the one before,
  // whose span may not have been removed yet when it was published.
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

// Reads the spans of each thread that began after the recording and have not ended.
std::vector<Recording::OpenEvents> Recording::read_open_events() const {
  Recorder &recorder = Recorder::get();
  const uint64_t began = recorder.slots[slot_].began.load(std::memory_order_relaxed), now = ticks_of(tick_clock());
  std::vector<OpenEvents> open;
  std::scoped_lock lock(recorder.guard);
  for (const auto &track : recorder.tracks) {
    // Its thread did not survive a fork(), so its spans never end.
    if (track->is_lost()) continue;
    // The number is read before the spans, so that without() finds the events of spans that end from now on.
    const uint64_t num_ended = track->num_events();
    std::vector<Event> events;
    for (const OpenSpan &span : track->read_open_spans()) {
      if (span.begin < began || span.begin > now) continue;
      Event &event = events.emplace_back();
      event.begin = span.begin, event.end = now;
      event.name = span.name, event.kind = span.kind, event.is_open = true;
      event.run = span.run, event.parent_run = span.parent_run, event.stack = span.stack;
    }
    if (!events.empty()) open.push_back({track.get(), num_ended, std::move(events)});
  }
  return open;
}

bool Recording::is_running() const { return !left_ && Recorder::get().slots[slot_].id.load() == id_; }

// Device work needs two phases: runs under way may still submit work to a device, and it is only recorded while the bit
// of kDeviceWork is set. So first no run begins any more. Then the runs (if the recording waits) and the work are
// awaited. Then the other bits are cleared.
void Recording::close() noexcept {
  Slot &slot = Recorder::get().slots[slot_];
  if (options.waits) slot.waiting.store(true);
  if (options.device_work) {
    end_begins(slot_);
    if (options.waits) fence_all_threads(), wait_for_runs();  // runs may still submit work to a device
    finish_device_work();
    flush_running_activity(true);
  }
  // After the fence, a thread either sees that the recording has ended, or its run is visible here. enter() has the
  // other half.
  end_running(slot_);
  fence_all_threads();
  if (!options.waits) return;
  wait_for_runs();
  slot.waiting.store(false);
}

void Recording::wait_for_runs() noexcept {
  Recorder &recorder = Recorder::get();
  Slot &slot = recorder.slots[slot_];
  const auto has_run_under_way = [&] {
    std::scoped_lock lock(recorder.guard);
    return recorder.has_run_under_way(slot_);
  };
  // The counter is read before the runs are checked. A run that ends in between changes it, so wait() returns at once
  // and no wake-up is missed.
  for (;;) {
    const uint32_t ended = slot.ended.load();
    if (!has_run_under_way()) break;
    slot.ended.wait(ended);
  }
}

// Called after close(). Frees the slot as soon as no run uses it, and all memory that only this recording needed.
void Recording::leave() noexcept {
  left_ = true;
  Recorder &recorder = Recorder::get();
  {
    std::scoped_lock lock(recorder.guard);
    recorder.slots[slot_].recording = nullptr;
    recorder.slots[slot_].file = nullptr;
    // A run that is still under way marks its events with the bit, so no other recording may get the bit yet.
    recorder.slots[slot_].taken = recorder.has_run_under_way(slot_) ? Slot::kDraining : 0;
    recorder.tidy();
  }
  Chunk::trim();
}

Recording::~Recording() {
  if (!id_) {
    if (file_) file_->finish(0);  // the recording could not be started
    return;
  }
  if (left_) return;
  close();
  if (file_) file_->finish(ticks_of(tick_clock()));
  leave();
  // The file is closed after leave(), because until then threads may take the file from the slot. From now on, another
  // recording may write the path.
  if (file_) file_->close();
}

Ref<Trace> Recording::stop() {
  std::unique_lock ending(ending_, std::defer_lock);
  if (!options.waits) ending.lock();  // else there are no snapshots, but foreign observers
  std::vector<OpenEvents> open;
  if (!options.waits) {
    end_begins(slot_);
    open = read_open_events();
  }
  // The tick is read before close(), which may take as long as a kernel: the trace ends when the caller requested it.
  const uint64_t ended = ticks_of(tick_clock());
  close();
  const bool is_in_file = file_ && file_->is_of_this_process();
  if (is_in_file) file_->finish(ended);
  Ref<Trace> trace;
  if (!is_in_file || options.reads_file) {
    TraceParts parts = is_in_file ? read_event_file(*file_) : collect(std::move(open));
    if (observers_) parts.observers = observers_->finish();  // neither source has these summaries
    trace = make_trace(until(ended, std::move(parts)), ended);
  }
  leave();
  if (file_) file_->close();
  if (ending) ending.unlock();  // the program's log callback may use the profiler
  if (file_ && file_->has_reached_limit())
    log_warning("events of a recording are lost, and counted as dropped: ", file_->path(), " has its ",
                options.max_bytes, " bytes");
  return trace;
}

void Recording::require_written() const {
  if (const int error = file_ ? file_->error() : 0)
    fail_errno("the recording has ended, but is not complete: cannot write", file_->path(), error);
}

// While the end waits for devices, other threads go on and add events. A recording that does not wait omits those.
TraceParts Recording::until(uint64_t ended, TraceParts parts) const {
  const bool has_work = std::ranges::any_of(parts.tracks, [](const TraceTrack &t) { return !t.device_work.empty(); });
  if (has_work && !options.waits) parts.drop_after(ended);
  return parts;
}

Ref<Trace> Recording::snapshot(const Notes &notes) const {
  constexpr std::chrono::milliseconds kMostForDevices{100};  // a device that hangs must not block a dump
  if (options.device_work) finish_device_work(kMostForDevices), flush_running_activity(false);
  // The lock is held until the events are collected, so that stop() cannot release the slot or close the file
  // meanwhile.
  std::scoped_lock lock(ending_);
  if (left_) return nullptr;
  const uint64_t now = ticks_of(tick_clock());
  const bool is_in_file = file_ && file_->is_of_this_process();
  TraceParts parts = is_in_file ? read_event_file(*file_) : collect(read_open_events());
  parts.metadata.insert(parts.metadata.end(), notes.begin(), notes.end());
  return make_trace(std::move(parts), now);
}

Ref<Trace> Recording::so_far() const {
  if (options.device_work) finish_device_work(), flush_running_activity(true);
  const bool is_in_file = file_ && file_->is_of_this_process();
  return make_trace(is_in_file ? read_event_file(*file_) : collect({}), ticks_of(tick_clock()));
}

TraceParts Recording::take_parts() { return collect(read_open_events(), true); }

Ref<Trace> Recording::make_trace(TraceParts parts, uint64_t now) const {
  const auto kept = static_cast<uint64_t>(static_cast<double>(options.last_ns) / parts.processes[0].line.ns_per_tick);
  if (options.last_ns) parts.drop_before(now - std::min(kept, now));
  return make_object<Trace>(std::move(parts));
}

TraceParts Recording::collect(std::vector<OpenEvents> open, bool takes) const {
  TraceParts parts;
  TraceProcess &process = parts.processes[0];
  process = TraceProcess::of_this();
  process.line = ClockCalibration::measure(process.clock);
  // This number identifies the recording among those of all processes: a merge refuses two traces with the same one.
  process.recording = (Recorder::get().slots[slot_].began.load(std::memory_order_relaxed) << 16) + id_;
  process.recordings = bit_of(slot_);
  process.sample_interval = options.sample_interval;
  parts.has_memory = options.memory;
  parts.has_stacks = options.stacks;
  if (options.stacks) process.objects = loaded_objects();
  Recorder &recorder = Recorder::get();
  // The lock is held only to collect chunks. Their events are read afterwards: published events do not change, and the
  // chunks live as long as they are referenced here.
  struct Found {
    std::shared_ptr<Track> track;
    uint64_t start;  // number of the first event; later of the event after the last one
    OpenEvents open;
  };
  std::vector<Found> found;  // parallel to parts.tracks
  uint64_t dropped_of_ended;
  {
    std::scoped_lock lock(recorder.guard);
    dropped_of_ended = recorder.slots[slot_].dropped_of_ended;
    for (const auto &track : recorder.tracks) {
      const Track::Part &part = track->part(slot_);
      const bool has_part = part.id == id_;
      const auto open_here = std::ranges::find(open, track.get(), &OpenEvents::track);
      if (!has_part && open_here == open.end()) continue;
      TraceTrack kept;
      kept.thread_id = track->thread_id();
      kept.thread_name = track->thread_name();
      if (has_part) {
        kept.dropped = part.dropped.load(std::memory_order_relaxed) + part.overwritten;
        kept.chunks = track->chunks_from(part.start);
      }
      found.push_back(
          {track, has_part ? part.start : 0, open_here != open.end() ? std::move(*open_here) : OpenEvents()});
      parts.tracks.push_back(std::move(kept));
    }
  }
  std::vector<uint64_t> starts;
  for (const Found &seen : found) starts.push_back(seen.start);
  for (size_t i = 0; i < found.size(); ++i) {  // without the lock, because there may be millions of events
    TraceTrack &track = parts.tracks[i];
    found[i].start = track.add_events(std::exchange(track.chunks, {}), found[i].start, filter());
    track.add_open(std::move(found[i].open).without(track));
  }
  // The next take() begins after the events that were read, and so includes those published meanwhile.
  if (takes) {
    std::scoped_lock lock(recorder.guard);
    for (size_t i = 0; i < found.size(); ++i) {
      Track::Part &part = found[i].track->part(slot_);
      if (part.id != id_) continue;
      // Events that were overwritten meanwhile, but are taken here, are not lost.
      if (part.start > starts[i]) {
        // If the thread has ended and its track is no longer in the recorder, its losses were added to the slot's.
        const bool is_forgotten = std::ranges::find(recorder.tracks, found[i].track) == recorder.tracks.end();
        uint64_t &lost = is_forgotten ? recorder.slots[slot_].dropped_of_ended : part.overwritten;
        for (const auto &chunk : parts.tracks[i].chunks)
          lost -= count_events(*chunk, starts[i], std::min(part.start, found[i].start), bit_of(slot_));
      }
      part.start = std::max(part.start, found[i].start);
    }
    recorder.tidy();
  }
  // No event is left of these threads, but the trace counts their dropped events.
  parts.finish_tracks("ended threads", dropped_of_ended);
  return parts;
}

Alarm &Recording::alarm() const { return Recorder::get().slots[slot_].alarm; }

uint64_t Recording::num_events_of_thread() { return Recorder::get().track().num_events(); }

uint64_t Recording::num_pending() const {
  Recorder &recorder = Recorder::get();
  uint64_t pending = 0;
  std::scoped_lock lock(recorder.guard);
  for (const auto &track : recorder.tracks)
    if (const Track::Part &part = track->part(slot_); part.id == id_) pending += track->num_events() - part.start;
  return pending;
}

// No wait is needed: no run of a source is under way while it is destroyed. The owners of the recordings still call
// stop(), which frees the slots.
void end_recordings_of(const void *source) noexcept {
  for (uint32_t place = 0; place < kMostRecordings; ++place) {
    std::unique_ptr<CallObservers> observers;  // destroyed after the lock is released
    Recorder &recorder = Recorder::get();
    std::scoped_lock lock(recorder.guard);
    Slot &slot = recorder.slots[place];
    if (!slot.recording || slot.source.load(std::memory_order_relaxed) != source) continue;
    observers = slot.recording->take_observers();
    end_running(place);
  }
}

}  // namespace opd
