// A track: the events of one thread. Only its thread writes; others read published events. An event is written once,
// however many recordings it belongs to. Cost of a call's event: the stores, and a comparison of the tensors'
// dimensions, which are stored only if the chunk lacks them.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fork_mutex.h"
#include "trace/file/event_file.h"
#include "trace/model/open_spans.h"
#include "trace/model/trace_context.h"
#include "value/tensor.h"

namespace opd {

class Track {
 public:
  // One recording's part of the track. The owner writes it, and opens it under the recorder's lock.
  struct Part {
    uint64_t id = 0;                   // id of the recording; if it is another one's, this recording has no event here
    uint64_t start = 0;                // number of the first event of the recording
    uint64_t left = 0;                 // room for calls, not reduced by those that settle() has not seen
    uint64_t runs_left = 0;            // room for runs
    std::atomic<uint64_t> dropped{0};  // calls and runs for which there was no room; others may read it
    uint64_t overwritten = 0;          // events of chunks that made room for newer ones; guarded by the recorder's lock
    CallObserver *observer = nullptr;
    std::shared_ptr<ThreadBlock> file;     // null: the recording is not written to a file
    std::shared_ptr<EventFile> full_file;  // null: not in a file, or there is room for the thread's events
    std::atomic<uint32_t> under_way{0};    // number of runs that have not ended

    void drop(uint64_t count = 1) {
      dropped.store(dropped.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
      if (file) file->count_drop(count);
      if (full_file) full_file->count_drop(count);
    }
  };

  Track();  // makes the track of the calling thread
  Track(const Track &) = delete;

  int64_t thread_id() const { return thread_id_; }
  const std::string &thread_name() const { return thread_name_; }
  // Whether its thread did not survive a fork(). Then nothing is under way, and its observers may be half changed.
  bool is_lost() const;
  void refresh();                                      // called by the owner in a forked child
  uint32_t generation() const { return generation_; }  // fork_generation() as of the last refresh()
  bool has_ended() const { return has_ended_; }        // whether its thread has exited
  void end() noexcept;                                 // called by the owner at its exit; frees what only it needs

  Part &part(uint32_t recording) { return parts_[recording]; }
  // Begins the part of a recording, whose bit may have been another recording's before.
  struct PartOptions {
    uint64_t max_calls = UINT64_MAX;
    CallObserver *observer = nullptr;
    bool has_budget = false;                    // each new chunk is reported to keep_to_budgets()
    std::shared_ptr<ThreadBlock> file = {};     // also gets each event
    std::shared_ptr<EventFile> full_file = {};  // counts dropped events
  };
  void open_part(uint32_t recording, uint64_t id, PartOptions options);

  // Describes the tensors among `args` in the next event, which the caller completes and commits. The event belongs to
  // `recordings`, or if there is no tensor, to their subset `all_calls`. Returns null if none of these has room; the
  // event is then counted as dropped. `call`: a number for the cache of dimensions; calls with the same number should
  // mostly have equal dimensions.
  Event *describe(Recordings recordings, Recordings all_calls, Args args, size_t call) {
    // These two tests cover all rare cases: describe_slowly() sets both members by the room in recordings and chunk.
    if (recordings != current_ || room_ == 0) [[unlikely]]
      return describe_slowly(recordings, all_calls, args, call);
    return fill(all_calls, args, call);
  }
  // The same for an event without arguments.
  Event *describe(Recordings recordings) {
    if (recordings != current_ || room_ == 0) [[unlikely]]
      return describe_slowly(recordings, recordings, {}, 0);
    return describe_as(0, {kDLCPU, 0}, 0);
  }
  // Adds items to the described event. Returns the event, which may move to another chunk.
  Event *attach(Event *event, const EventItems &items);
  void commit() {
    --next_;
    --room_;
    // Release: a thread that reads the count sees the events.
    chunk_->count.store(count(), std::memory_order_release);
    if (in_files_) [[unlikely]]
      write_to_files();
  }
  // Writes a complete event. Runs take no room from calls: a recording has as much for either. Drops the event if
  // memory cannot be allocated.
  void add_run(const Event &run, const EventItems &items) noexcept;
  // Subtracts the events written since the last call from the room of their recordings. Called when a run ends.
  void settle();

  // Only the owner may call it, and calls show_open_spans() after each change.
  OpenSpans &open_spans() { return open_spans_; }
  void show_open_spans() {
    if (in_files_) [[unlikely]]
      each_recording(in_files_, [this](uint32_t recording) { parts_[recording].file->show_open_spans(open_spans_); });
  }
  // Callable by any thread.
  std::vector<OpenSpan> read_open_spans() const { return open_spans_.read(); }
  std::optional<OpenSpan> take_open_range(uint64_t begin) { return open_spans_.take_range(begin); }
  struct PushedRange {
    uint32_t depth;
    uint64_t begin;
  };
  std::vector<PushedRange> &pushed_ranges() { return pushed_ranges_; }  // the ranges that are recorded

  // The trace context of the thread's current request; for the owner.
  const TraceContext &context() const { return context_; }
  void set_context(const TraceContext &context) { context_ = context; }

  uint64_t num_events();  // published events; callable by any thread
  // The chunks with events from `first` on; callable by any thread.
  std::vector<std::shared_ptr<Chunk>> chunks_from(uint64_t first);
  size_t num_chunks_from(uint64_t first);  // callable by any thread
  // The first of these chunks and the number of the first event after it; null if the only one is the chunk that the
  // thread writes. Callable by any thread.
  std::pair<std::shared_ptr<Chunk>, uint64_t> oldest_ended_chunk(uint64_t first);
  std::vector<std::shared_ptr<ThreadBlock>> take_files();  // called by the owner when its thread exits
  void drop_chunks_before(uint64_t first) noexcept;        // callable by any thread; keeps the current chunk

 private:
  static constexpr size_t kMostWords = 64;  // a call with at most this many words needs no slow path
  static constexpr size_t kKnown = 1024;
  struct Known {
    uint32_t at, size;  // index and size, in words
  };

  // In the common case, the dimensions equal those of the same call before in this chunk. A chunk has a few thousand
  // events, and a large model as many calls. So for a new call, the last dimensions are tried.
  Event *fill(Recordings all_calls, Args args, size_t call) {
    Known &known = caches_->calls[call % kKnown];
    const Known guess = known.size ? known : last_;
    const int64_t *word = chunk_->words() + guess.at;
    const int64_t *const end = word + guess.size;
    uint32_t tensors = 0;
    DLDevice device{kDLCPU, 0};
    for (const View &arg : args) {
      const DLTensor *tensor = try_dltensor(arg);
      if (!tensor) continue;
      const int32_t ndim = tensor->ndim;
      if (end - word <= ndim || *word++ != pack_tensor(tensor->dtype, ndim)) return fill_anew(args, call);
      const int64_t *const shape = tensor->shape;
      for (int32_t i = 0; i < ndim; ++i)
        if (*word++ != shape[i]) return fill_anew(args, call);
      ++tensors;
      device = tensor->device;
    }
    if (tensors ? word != end : all_calls != current_) [[unlikely]]
      return tensors ? fill_anew(args, call) : describe_slowly(current_, all_calls, args, call);
    if (tensors) known = guess;
    return describe_as(tensors, device, guess.at);
  }
  Event *describe_as(uint32_t tensors, DLDevice device, uint32_t shapes) const {
    next_->kind = EventKind::kCall;
    next_->is_open = false;
    next_->recordings = current_;
    next_->device = device;
    next_->num_tensors = tensors;
    next_->shapes = shapes;
    next_->items = 0;
    return next_;
  }
  Event *fill_anew(Args args, size_t call);
  Known keep_words(size_t size);
  uint32_t count() const { return static_cast<uint32_t>(chunk_->event(0) - next_); }  // events in the chunk
  uint32_t events_that_fit() const {                                                  // assuming kMostWords words each
    const auto free_words = static_cast<size_t>(reinterpret_cast<int64_t *>(next_ + 1) - chunk_->words()) - top_;
    constexpr size_t kEventWords = sizeof(Event) / sizeof(int64_t);
    return static_cast<uint32_t>((free_words - std::min(free_words, kMostWords)) / kEventWords);
  }
  size_t free_words() const { return static_cast<size_t>(reinterpret_cast<int64_t *>(next_) - chunk_->words()) - top_; }
  bool has_place() const {
    return chunk_ && !is_ended_ && reinterpret_cast<int64_t *>(next_) >= chunk_->words() + top_;
  }
  Event *describe_slowly(Recordings recordings, Recordings all_calls, Args args, size_t call);
  void next_chunk(size_t words);  // makes room for an event and the words
  void write_to_files();

  const uint64_t thread_number_;
  uint32_t generation_;
  int64_t thread_id_;
  std::string thread_name_;
  bool has_ended_ = false;

  Recordings current_ = 0;  // the recordings that have room, as of the last slow call
  uint32_t room_ = 0;       // number of events that need no slow call
  uint32_t top_ = 0;        // the chunk's first free word
  uint32_t settled_ = 0;    // number of events that settle() has seen
  bool is_ended_ = false;   // the chunk gets no further events
  Recordings in_files_ = 0, with_budget_ = 0;
  Event *next_ = nullptr;   // the place of the next event
  Chunk *chunk_ = nullptr;  // the last of chunks_
  Known last_{};            // the last dimensions in this chunk
  // Known dimensions in this chunk, by the number of the call and by their hash. Allocated separately, so that an ended
  // thread keeps its events only.
  struct Caches {
    std::array<Known, kKnown> calls{};
    std::array<Known, 256> contents{};
  };
  std::unique_ptr<Caches> caches_;  // null if there is no chunk
  std::array<Part, kMostRecordings> parts_;
  OpenSpans open_spans_;
  std::vector<PushedRange> pushed_ranges_;
  TraceContext context_{};

  ForkMutex guard_{LockRank::kTrack};  // guards chunks_; the owner reads its last chunk without it
  std::vector<std::shared_ptr<Chunk>> chunks_;
};

// Called by the owner before it begins a chunk. Makes room for it in those recordings that keep to a budget, or else
// takes the track's room for events.
void keep_to_budgets(Track &track) noexcept;  // defined in recorder.cc

}  // namespace opd
