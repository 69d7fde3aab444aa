// Recordings: each one is a span of time on the tracks of the process, and a filter. Up to 16 run at once; an event is
// written once and belongs to those whose filter let its run pass. Cost of a run: one load if nothing records; else the
// filter of each recording, and for each that it belongs to two atomic additions.
#pragma once
#include <atomic>
#include <climits>
#include <memory>
#include <vector>

#include "base/fork_mutex.h"
#include "trace/trace.h"
#include "trace/trace_context.h"
#include "trace/track.h"

namespace opd {

class Alarm;
class EventFile;

struct RecordingOptions {
  const void *source = nullptr;     // address of the VM whose runs are recorded; null: of all
  uint64_t thread = 0;              // by thread_number(); 0: all threads
  uint64_t max_calls = UINT64_MAX;  // per thread
  uint64_t sample_interval = 1;     // records one of so many runs
  bool ranges = false;              // also records ranges of the user, of all sources
  bool memory = false;              // also records memory that devices allocate and free, of all sources
  bool tasks = false;               // also records tasks of parallel loops, of all sources
  bool device_work = false;         // also records kernels and copies of devices, of all sources
  bool stacks = false;              // also records the stack that runs, ranges and marks begin in
  bool calls = true;                // false: runs without their calls, so these cost nothing
  bool all_calls = false;           // also records calls without a tensor, which TVM's profiler leaves out
  bool outcomes = false;            // its runs say whether they failed, and the trace context that they began in
  bool waits = true;                // its end waits for the runs under way, and each of its calls for the device; else
                                    // such runs are in the trace as open ones, and calls end when they return
  uint64_t max_bytes = 0;           // of all threads, in chunks; a thread has at least one; 0: no limit
  bool overwrites = false;          // what exceeds it replaces the oldest events, and is not left out
  std::string file;                 // path: events go to this file, see event_file.h; "": they stay in memory
  uint64_t last_ns = 0;             // its traces leave out what ended earlier before their end; 0: nothing
  uint64_t flush_interval_ns = 0;   // how often the file is written to the disk; 0: when the system does it
  bool reads_file = true;           // its end gives the events in the file as a trace
};

class Recording final : public Object {
 public:
  static int32_t type() { return OPD_OBJECT; }
  // Throws OPD_FAILED_PRECONDITION if 16 run already.
  static Ref<Recording> start(const RecordingOptions &options, std::unique_ptr<CallObservers> observers = nullptr);
  Recording(const RecordingOptions &options, std::unique_ptr<CallObservers> observers)
      : options(options), observers_(std::move(observers)) {}
  ~Recording();

  const RecordingOptions options;

  bool is_running() const;         // false: it has not been started, or has ended
  bool is_of_this_thread() const;  // whether the calling thread is inside a recorded run
  // Forgets the events so far, and makes room for `times` as many. Only for a recording of the calling thread alone,
  // outside of a run. `observers` are those from now on.
  void restart(uint64_t times, std::unique_ptr<CallObservers> observers);
  // Prepares the calling thread now instead of in its first run. With a file, this takes system calls: the file gets a
  // block of the thread and all names so far. It also allocates memory for the first events: 40 us.
  void open_thread();
  Ref<Trace> stop();  // to be called once; null if the events are left in a file
  using Notes = std::vector<std::pair<std::string, std::string>>;
  // The events so far, as if the recording ended now; only if it does not wait. Null if it has ended. Callable by any
  // thread, also concurrently with stop(). `notes` are added to the trace's metadata.
  Ref<Trace> snapshot(const Notes &notes = {}) const;
  // The spans that ended since the start or the last take(), and the open ones. The recording goes on without the ended
  // ones. Only for a recording that does not wait and has no observers and no file; by one thread.
  Ref<Trace> take() { return make_object<Trace>(take_parts()); }
  TraceParts take_parts();
  Alarm &alarm() const;          // of its slot: only between start() and stop()
  uint64_t num_pending() const;  // events, also of other recordings, that take() would look at
  // Adds a step of a schedule to the calling thread's events, from the tick `begin` to now.
  void add_step(uint64_t begin, uint64_t number) noexcept;

  // For the recorder, under its lock.
  CallObserver *observer_of_thread() const {  // a new one; null if there are no observers
    return observers_ ? &observers_->of_thread(static_cast<Recordings>(1u << slot_)) : nullptr;
  }
  std::unique_ptr<CallObservers> take_observers() { return std::move(observers_); }

 private:
  void close() noexcept;  // no further run begins in it; waits for those under way, if it is to
  void wait_for_runs() noexcept;
  void leave() noexcept;
  struct OpenEvents;
  std::vector<OpenEvents> read_open_events() const;
  TraceParts collect(std::vector<OpenEvents> open, bool takes = false) const;
  TraceParts until(uint64_t ended, TraceParts parts) const;
  Ref<Trace> make_trace(TraceParts parts, uint64_t now) const;

  std::unique_ptr<CallObservers> observers_;
  std::shared_ptr<EventFile> file_;
  uint32_t slot_ = 0;  // its bit in a set of recordings
  uint64_t id_ = 0;    // 0: it has not been started
  bool left_ = false;
  mutable ForkMutex ending_{LockRank::kSnapshots};  // of one that does not wait: it does not end amid a snapshot
};

// Ends the recordings of a source that is about to be destroyed. Their events are lost.
void end_recordings_of(const void *source) noexcept;

namespace detail {
extern std::atomic<uint32_t> running_recordings, ranging_recordings;  // a bit for each; those that record ranges
}
constexpr uint32_t kIttRanges = 1u << kMostRecordings;  // among the latter: ranges also go to a tool, see trace/itt.h
inline bool is_recording() { return detail::running_recordings.load(std::memory_order_relaxed) != 0; }

// Ranges of the user. begin_range() returns 0 if nothing records them, else the tick of the begin; end_range() takes it
// on the same thread. A range belongs to the recordings that run at its begin and at its end, or that end within it. A
// tool that listens to ranges is like a recording here.
inline bool is_recording_ranges() { return detail::ranging_recordings.load(std::memory_order_relaxed) != 0; }
uint64_t begin_range_slowly(NameId name) noexcept;
inline uint64_t begin_range(NameId name) { return is_recording_ranges() ? begin_range_slowly(name) : 0; }
void end_range(uint64_t begin) noexcept;
void add_mark(NameId name) noexcept;
// A stack of ranges. push_range() returns the new range's depth, pop_range() the depth of the range that it ends; -1:
// there is none. `name` is only read if something records.
int32_t push_range(std::string_view name) noexcept;
int32_t pop_range() noexcept;

// The writer of one run's calls.
class RunRecorder {
 public:
  void reset() { track_ = nullptr, recordings_ = all_calls_ = observed_ = syncs_ = 0, considered_ = 0; }
  bool listens() const { return track_ != nullptr; }  // to calls
  bool is_recorded() const { return listens() || only_run() != 0; }
  bool takes_all_calls() const { return all_calls_ != 0; }  // also those without a tensor
  bool syncs() const { return syncs_ != 0; }                // a call ends when the work that it gave to a device has

  // Whether a call with these arguments is to be recorded.
  bool wants(Args args) const { return all_calls_ || has_tensor(args); }

  // Called around a recorded call; these return its ticks. Observers are called outside of the interval between them.
  uint64_t begin_call(Args args) const { return only_ticks_ ? ticks_of(ClockId::kTsc) : begin_slowly(args); }
  uint64_t end_call() const { return only_ticks_ ? ticks_of(ClockId::kTsc) : ticks_of(tick_clock()); }

  struct Call {
    uint64_t begin, end;
    NameId name;
    uint32_t location, depth;
  };
  // `cache`: a number for the cache of dimensions (Track::describe). `error`: its message, if the call failed.
  void add(const Call &call, Args args, size_t cache, const Error *error = nullptr) const {
    if (error || observed_) [[unlikely]]
      return add_slowly(call, args, cache, error);
    if (Event *event = track_->describe(recordings_, all_calls_, args, cache)) {
      complete(*event, call);
      track_->commit();
    }
  }

 private:
  friend class RunRecording;
  static bool has_tensor(Args args) {
    for (const View &arg : args)
      if (arg.type == OPD_TENSOR || arg.type == OPD_DLTENSOR) return true;
    return false;
  }
  void complete(Event &event, const Call &call) const {
    event.begin = call.begin;
    event.end = call.end;
    event.name = call.name;
    event.location = call.location;
    event.depth = call.depth;
    event.run = run_;
  }
  // Those with an observer that is to see a call with these arguments.
  // Not reset for each run: nothing has written them before the run was considered.
  Recordings only_run() const { return considered_ ? only_run_ : Recordings{0}; }
  Recordings outcomes() const { return considered_ ? outcomes_ : Recordings{0}; }
  Recordings observed(Args args) const { return has_tensor(args) ? observed_ : observed_ & all_calls_; }
  uint64_t begin_slowly(Args args) const;
  void add_slowly(const Call &call, Args args, size_t cache, const Error *error) const;

  Track *track_ = nullptr;     // null: no recording listens to calls
  Recordings recordings_ = 0;  // those that listen to calls
  Recordings all_calls_ = 0;   // those of them that take calls without a tensor
  Recordings observed_ = 0;    // those of them with an observer
  Recordings syncs_ = 0;       // those of them whose calls wait for the device
  Recordings only_run_;        // those that take the run without its calls
  Recordings outcomes_;        // those that take the run's outcome
  bool only_ticks_ = false;    // there is no observer, and the clock is the TSC
  uint64_t run_ = 0;           // Event::run
  uint64_t considered_ = 0;    // the highest number of a recording whose filter the run has been through
};

// The part of one run in the recordings: from the begin of the run to the end of this object.
class RunRecording {
 public:
  RunRecording() = default;
  RunRecording(const RunRecording &) = delete;
  ~RunRecording() { end(); }

  struct Source {
    const void *address;  // of the VM
    NameId program, function;
  };
  // `outer`: of the run of the same source that this one began in; it belongs to the same recordings. To be called if
  // is_recording() or `outer` is recorded. Throws what observers throw.
  void begin(RunRecorder &recorder, const Source &source, const RunRecorder *outer);
  // Of the run, which is no exception. The error lives as long as this.
  void note_failure(const Error &error) { failure_ = &error; }
  void end() noexcept {
    if (recorder_) end_recorded();
  }

 private:
  bool enter_all(RunRecorder &recorder, const void *source);  // whether the run belongs to a new recording
  void begin_entered(RunRecorder &recorder, const Source &source, const RunRecorder *outer);
  void add_outcome(EventItems &items, bool has_failed) const;
  void end_recorded() noexcept;

  RunRecorder *recorder_ = nullptr;  // null: the run is not recorded
  Recordings begun_ = 0;             // those that began with it
  const Error *failure_ = nullptr;
  int exceptions_ = INT_MAX;  // uncaught exceptions at its begin, if a recording takes outcomes
  // Of a recorded run:
  Track *track_;
  Event event_;           // it has a begin once the run has begun
  TraceContext context_;  // if a recording takes the outcome
  struct Observed {
    uint32_t slot;
    size_t run;  // result of the observer's begin_run()
  };
  std::vector<Observed> observed_;
};

}  // namespace opd
