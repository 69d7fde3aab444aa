// Records all calls of a VM while the session lasts, on any threads. Cost: two locks per recorded call; one atomic
// addition per call that is not sampled.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "base/fork_mutex.h"
#include "base/static_guard.h"
#include "trace/call_event_buffer.h"

namespace opd {

struct RunSpan {  // one call of a VM, in ticks of the buffer's clock
  uint64_t run, begin, end;
  NameId function;  // kNoName: not known
};

// The records of one thread.
struct ThreadTrack {
  CallEventBuffer buffer;
  std::vector<RunSpan> runs;
  int64_t thread_id;
  std::string thread_name;
  CallObserver *observer = nullptr;
  uint64_t under_way = 0;  // number of its runs that have not ended

  static ThreadTrack of_this_thread(CallEventBuffer buffer);
};

struct RecordingOptions {
  uint64_t max_records = 0;      // per thread
  uint64_t sample_interval = 1;  // records one of so many calls
  bool all_calls = false;        // also records calls without a tensor
  // Options of the report:
  bool folds_builtins = false;  // all calls of vm.builtin.* in one row
  bool details = false;         // columns for start, run, thread and call path
  int32_t turn = 0;             // number that pairs this run with one of a later comparison; 0: none
};

class RecordingSession final : public Object {
 public:
  static int32_t type() { return OPD_OBJECT; }
  explicit RecordingSession(RecordingOptions o, std::unique_ptr<CallObservers> observers = nullptr)
      : options(o), observers_(std::move(observers)) {}

  const RecordingOptions options;

  // The track for the calling thread's call. Null if the call is not sampled, or the session has ended.
  ThreadTrack *begin(uint64_t &run);
  void end(ThreadTrack &lane, const RunSpan &span);
  bool is_of_this_thread();  // whether the calling thread is inside a recorded call
  struct Recorded {
    std::vector<ThreadTrack> lanes;
    std::unique_ptr<CallObservers> observers;
  };
  Recorded close();  // waits for open calls; to be called once

 private:
  ThreadTrack &lane_here();
  void forget_lost_threads();

  std::atomic<uint64_t> calls_{0};
  ForkMutex guard_{LockRank::kSession};
  std::map<uint64_t, ThreadTrack> lanes_;  // by thread_number()
  std::unique_ptr<CallObservers> observers_;
  uint64_t runs_ = 0;
  // Number of open calls. close() waits on this atomic, not on a condition variable: in a forked child, a condition
  // variable would still count the threads that waited in the parent.
  std::atomic<uint32_t> under_way_{0};
  uint32_t generation_ = fork_generation();
  bool closed_ = false;
};

// The part of one call in a session.
class SessionCall {
 public:
  SessionCall() = default;
  SessionCall(const SessionCall &) = delete;
  ~SessionCall() { end(); }

  void begin(Ref<RecordingSession> session, NameId function) {
    session_ = std::move(session);
    lane_ = session_->begin(span_.run);
    if (lane_) begin_recorded(function);
  }
  void end() {
    if (lane_) end_recorded();
  }
  CallEventBuffer *records() const { return lane_ ? &lane_->buffer : nullptr; }
  uint64_t run() const { return span_.run; }

 private:
  static constexpr size_t kUnobserved = SIZE_MAX;
  void begin_recorded(NameId function);
  void end_recorded();

  Ref<RecordingSession> session_;
  ThreadTrack *lane_ = nullptr;
  RunSpan span_{};
  size_t observed_;  // result of the observer's begin_run(); only set for recorded calls
};

}  // namespace opd
