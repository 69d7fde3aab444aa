// A recording is a span of time on the tracks of the process, and a filter. Up to 16 run at once. An event is written
// once and belongs to all recordings whose filter accepted its run.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fork_mutex.h"
#include "trace/model/trace.h"

namespace opd {

class Alarm;
class EventFile;

struct RecordingOptions {
  const void *source = nullptr;     // address of the VM whose runs are recorded; null: all VMs
  uint64_t thread = 0;              // thread_number() of the recorded thread; 0: all threads
  uint64_t max_calls = UINT64_MAX;  // per thread
  uint64_t sample_interval = 1;     // records one of this many runs
  bool ranges = false;              // also records ranges of the user, of all sources
  bool memory = false;              // also records memory that devices allocate and free, of all sources
  bool tasks = false;               // also records tasks of parallel loops, of all sources
  bool device_work = false;         // also records kernels and copies of devices, of all sources
  bool stacks = false;              // also records the stack that runs, ranges and marks begin in
  bool calls = true;                // false: records runs without their calls, which then cost nothing
  bool all_calls = false;           // also records calls without a tensor, which TVM's profiler leaves out
  bool outcomes = false;            // runs have their failure and the trace context that they began in
  bool waits = true;                // its end waits for runs under way (false: open spans), and calls for their device
  uint64_t max_bytes = 0;           // limit for the chunks of all threads; each thread has at least one; 0: no limit
  bool overwrites = false;          // true: events beyond the limit replace the oldest ones; false: they are dropped
  std::string file;                 // path: events go to this file, see event_file.h; "": they stay in memory
  uint64_t last_ns = 0;             // traces leave out events that ended longer before the trace's end; 0: none
  uint64_t flush_interval_ns = 0;   // interval of syncs to the disk; 0: the system decides
  bool reads_file = true;           // stop() returns the events in the file as a trace
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
  // Forgets the events so far, and reserves room for `times` as many. Only for a recording of the calling thread alone,
  // outside of a run. `observers` replace the former ones.
  void restart(uint64_t times, std::unique_ptr<CallObservers> observers);
  // Prepares the calling thread now instead of in its first run. With a file, this takes system calls: the file gets a
  // block for the thread and all names so far. It also allocates memory for the first events: 40 us.
  void open_thread();
  Ref<Trace> stop();             // call it once; null if the events are left in a file
  void require_written() const;  // after stop(): throws OPD_IO if the file could not be written
  // Returns the events so far, and goes on. Only for a recording of the calling thread alone, outside of a run.
  Ref<Trace> so_far() const;
  using Notes = std::vector<std::pair<std::string, std::string>>;
  // Returns the events so far, as if the recording ended now; null if it has ended. Only if it does not wait. Any
  // thread may call it, also concurrently with stop(). `notes` are added to the trace's metadata.
  Ref<Trace> snapshot(const Notes &notes = {}) const;
  // Returns the spans that ended since the start or the last take(), and the open spans. The recording goes on without
  // the ended ones. Only for a recording that does not wait and has no observers and no file. One thread at a time.
  Ref<Trace> take() { return make_object<Trace>(take_parts()); }
  TraceParts take_parts();
  Alarm &alarm() const;                    // alarm of its slot; valid only between start() and stop()
  static uint64_t num_events_of_thread();  // events of the calling thread that recordings took so far
  uint64_t num_pending() const;  // number of events that take() would read, including those of other recordings
  // Adds a step of a schedule to the calling thread's events, from the tick `begin` to now.
  void add_step(uint64_t begin, uint64_t number) noexcept;

  // The members below are for the recorder, under its lock.
  CallObserver *observer_of_thread() const {  // creates one; null if there are no observers
    return observers_ ? &observers_->of_thread(static_cast<Recordings>(1u << slot_)) : nullptr;
  }
  std::unique_ptr<CallObservers> take_observers() { return std::move(observers_); }

 private:
  EventFilter filter() const;
  void close() noexcept;  // stops new runs; waits for those under way if options.waits
  void wait_for_runs() noexcept;
  void leave() noexcept;
  struct OpenEvents;
  std::vector<OpenEvents> read_open_events() const;
  TraceParts collect(std::vector<OpenEvents> open, bool takes = false) const;
  TraceParts until(uint64_t ended, TraceParts parts) const;
  Ref<Trace> make_trace(TraceParts parts, uint64_t now) const;

  std::unique_ptr<CallObservers> observers_;
  std::shared_ptr<EventFile> file_;
  uint32_t slot_ = 0;        // its bit in a set of recordings
  uint64_t id_ = 0;          // 0: not started
  uint64_t runs_after_ = 0;  // as in EventFilter
  bool left_ = false;
  mutable ForkMutex ending_{LockRank::kSnapshots};  // if it does not wait: serialises its end and snapshots
};

// Ends the recordings of a source that is about to be destroyed. Their events are lost.
void end_recordings_of(const void *source) noexcept;

}  // namespace opd
