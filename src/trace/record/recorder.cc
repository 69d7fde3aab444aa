#include "trace/record/recorder.h"

#include <pthread.h>

#include <mutex>

namespace opd {
namespace {

// Called when a thread exits. Its track stays as long as a recording may need it.
void leave_at_exit(void *given) {
  thread_state().track = nullptr;
  Recorder &recorder = Recorder::get();
  std::scoped_lock lock(recorder.guard);
  auto *const track = static_cast<Track *>(given);
  for (const auto &block : track->take_files()) block->end_thread();
  track->end();
  recorder.tidy();
}
const pthread_key_t exit_key = [] {
  pthread_key_t key;
  return pthread_key_create(&key, &leave_at_exit) ? pthread_key_t(-1) : key;
}();

// Constructed at load, because a destructor that uses it must not run out of memory.
[[maybe_unused]] const Recorder &recorder_made_at_load = Recorder::get();

}  // namespace

constinit std::atomic<Recorder *> Recorder::only_{nullptr};

Recorder &Recorder::make() {
  static auto *recorder = new Recorder;  // never destroyed: threads may record while the process exits
  only_.store(recorder, std::memory_order_release);
  return *recorder;
}

void tell_waiting_end(uint32_t place) noexcept {
  std::atomic<uint32_t> &ended = Recorder::get().slots[place].ended;
  ended.fetch_add(1);
  ended.notify_all();
}

Track &Recorder::track_slowly(Track *track) {
  std::scoped_lock lock(guard);
  if (track) return track->refresh(), *track;
  auto fresh = std::make_shared<Track>();
  tracks.push_back(fresh);
  thread_state().track = fresh.get();
  pthread_setspecific(exit_key, fresh.get());
  return *fresh;
}

// Returns true if the thread has ended and no recording has events of it. Such tracks must be freed; otherwise each
// thread that ever existed would take memory.
bool Recorder::is_forgotten(Track &track) const {
  if (!track.has_ended() && !track.is_lost()) return false;
  // Another thread may end the open ranges of an ended one. If a program leaves ranges open in ever new threads, their
  // tracks must not fill the memory.
  constexpr size_t kManyTracks = 4096;
  const bool is_recorded = std::ranges::any_of(slots, [](const Slot &slot) { return slot.recording != nullptr; });
  if (is_recorded && !track.is_lost() && tracks.size() < kManyTracks && !track.read_open_spans().empty()) return false;
  for (uint32_t place = 0; place < kMostRecordings; ++place) {
    const Slot &slot = slots[place];
    if (!slot.taken || track.part(place).id != slot.taken || slot.has_file()) continue;
    if (!slot.recording) return false;
    if (track.part(place).start < track.num_events()) return false;
  }
  return true;
}

void Recorder::forget(Track &track) noexcept {
  for (uint32_t place = 0; place < kMostRecordings; ++place)
    if (const Track::Part &part = track.part(place); slots[place].taken && part.id == slots[place].taken)
      slots[place].dropped_of_ended += part.dropped.load(std::memory_order_relaxed) + part.overwritten;
}

void Recorder::tidy() noexcept {
  for (const auto &track : tracks) {
    uint64_t first = UINT64_MAX;
    for (uint32_t slot = 0; slot < kMostRecordings; ++slot)
      if (slots[slot].taken && track->part(slot).id == slots[slot].taken)
        first = std::min(first, track->part(slot).start);
    track->drop_chunks_before(first);
  }
  std::erase_if(tracks, [this](const auto &track) {
    if (!is_forgotten(*track)) return false;
    forget(*track);
    return true;
  });
}

bool Recorder::has_run_under_way(uint32_t slot) const {
  return std::ranges::any_of(tracks, [&](const auto &track) {
    return !track->is_lost() && track->part(slot).under_way.load(std::memory_order_seq_cst) > 0;
  });
}

uint64_t count_events(const Chunk &chunk, uint64_t from, uint64_t to, Recordings recordings) {
  uint64_t found = 0;
  const uint64_t end = std::min<uint64_t>(to - std::min(to, chunk.first), chunk.count.load(std::memory_order_acquire));
  for (uint64_t i = from - std::min(from, chunk.first); i < end; ++i)
    found += (chunk.event(static_cast<uint32_t>(i))->recordings & recordings) != 0;
  return found;
}

void open_part(Track &track, uint32_t place, uint64_t id) {
  Recorder &recorder = Recorder::get();
  std::scoped_lock lock(recorder.guard);
  const Slot &slot = recorder.slots[place];
  Track::PartOptions options;
  if (const Recording *recording = slot.recording) {
    options.observer = recording->observer_of_thread();
    options.max_calls = recording->options.max_calls;
    options.has_budget = recording->options.max_bytes > 0 || slot.file;
  }
  if (slot.has_file() && !(options.file = slot.file->begin_thread(track.thread_id(), track.thread_name())))
    options.max_calls = 0, options.full_file = slot.file;
  track.open_part(place, id, std::move(options));
}

namespace {

// Makes the recording forget its oldest chunk, except the threads' current ones; false: there is none.
bool forget_oldest_chunk(Recorder &recorder, uint32_t place) {
  struct Oldest {
    Track *track = nullptr;
    std::shared_ptr<Chunk> chunk;
    uint64_t next = 0;
    uint64_t end() const { return chunk->event(chunk->count.load(std::memory_order_acquire) - 1)->end; }
  } oldest;
  for (const auto &track : recorder.tracks) {
    if (track->part(place).id != recorder.slots[place].taken) continue;
    auto [chunk, next] = track->oldest_ended_chunk(track->part(place).start);
    Oldest found{track.get(), std::move(chunk), next};
    if (found.chunk && (!oldest.chunk || found.end() < oldest.end())) oldest = std::move(found);
  }
  if (!oldest.chunk) return false;
  Track::Part &part = oldest.track->part(place);
  part.overwritten += count_events(*oldest.chunk, part.start, oldest.next, bit_of(place));
  part.start = oldest.next;
  return true;
}

void keep_to_budget(Recorder &recorder, Track &track, uint32_t place) {
  const Slot &slot = recorder.slots[place];
  Track::Part &part = track.part(place);
  if (!slot.recording || part.id != slot.taken) return;
  const RecordingOptions &options = slot.recording->options;
  if (slot.has_file()) return void(part.start = track.num_events());  // the file has all events
  constexpr uint64_t kMostOfChild = uint64_t{64} << 20;               // limit for a forked child, which has no file
  const uint64_t most_bytes = options.max_bytes || !slot.file ? options.max_bytes : kMostOfChild;
  if (most_bytes == 0) return;
  const uint64_t most = std::max<uint64_t>(most_bytes / Chunk::kBytes, 1);
  const auto num_chunks = [&] {
    uint64_t chunks = 1;  // the chunk that is about to be added
    for (const auto &other : recorder.tracks)
      if (other->part(place).id == slot.taken) chunks += other->num_chunks_from(other->part(place).start);
    return chunks;
  };
  if (!options.overwrites) {
    if (num_chunks() > most) part.left = part.runs_left = 0;
    return;
  }
  for (uint64_t chunks = num_chunks(); chunks > most && forget_oldest_chunk(recorder, place); --chunks) {}
}

}  // namespace

void keep_to_budgets(Track &track) noexcept {
  Recorder &recorder = Recorder::get();
  std::scoped_lock lock(recorder.guard);
  for (uint32_t place = 0; place < kMostRecordings; ++place) keep_to_budget(recorder, track, place);
  recorder.tidy();
}

void raise_alarms_slowly(Recordings recordings, NameId name, uint64_t begin, uint64_t end, bool failed) noexcept {
  each_recording(recordings, [&](uint32_t place) {
    Slot &slot = Recorder::get().slots[place];
    if (!slot.id.load() || slot.began.load(std::memory_order_relaxed) > begin) return;
    const bool is_error = failed && slot.alarm.listens_to_errors();
    if (is_error || end - begin >= slot.alarm.slow_ticks()) slot.alarm.raise(name, end - begin, is_error);
  });
}

void tidy_open_spans(Track &track) {
  uint64_t earliest = UINT64_MAX;
  for (const Slot &slot : Recorder::get().slots)
    if (slot.id.load()) earliest = std::min(earliest, slot.began.load(std::memory_order_relaxed));
  track.open_spans().drop_before(earliest);  // no recording can own these
  std::erase_if(track.pushed_ranges(), [earliest](const Track::PushedRange &range) { return range.begin < earliest; });
  if (!track.open_spans().is_full()) return;
  const uint64_t kept_from = track.open_spans().begin_after_forgotten();
  std::erase_if(track.pushed_ranges(), [kept_from](const auto &range) { return range.begin < kept_from; });
  // Their recordings count the ranges that are about to be forgotten, because none of these can end any more.
  each_recording(read_recordings(Interest::kEndedRanges), [&](uint32_t place) {
    const Slot &slot = Recorder::get().slots[place];
    const uint64_t id = slot.id.load();
    if (!id || !enter(track, place, id)) return;
    for (size_t i = track.open_spans().num_forgotten_since(slot.began.load(std::memory_order_relaxed)); i > 0; --i)
      track.part(place).drop();
    leave(track, place);
  });
}

}  // namespace opd
