// Recordings: each one is a span of time on the tracks of the process, and a filter. Up to 16 run at once; an event is
// written once and belongs to those whose filter let its run pass.
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
extern std::atomic<uint32_t> running_recordings;  // a bit for each
}
inline bool is_recording() { return detail::running_recordings.load(std::memory_order_relaxed) != 0; }

}  // namespace opd
