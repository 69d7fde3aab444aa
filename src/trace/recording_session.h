// A recording of all calls of a VM, from its start to its end, on whatever threads they come.
// Cost: a call that is recorded takes a lock twice; one that is not sampled, an atomic addition.
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
  uint32_t function;  // as CallEvent::name counts
};

// What one thread recorded.
struct ThreadTrack {
  CallEventBuffer buffer;
  std::vector<RunSpan> runs;
  int64_t thread_id;
  std::string thread_name;
  CallObserver *observer = nullptr;
  uint64_t under_way = 0;  // runs

  static ThreadTrack of_this_thread(CallEventBuffer buffer);
};

struct RecordingOptions {
  uint64_t max_records = 0;      // of a thread
  uint64_t sample_interval = 1;  // one of so many calls
  bool all_calls = false;        // those without a tensor, too
  // Of the report:
  bool folds_builtins = false;  // all calls of vm.builtin.* in one row
  bool details = false;         // columns for when, where and within what a call ran
  int32_t turn = 0;             // among the runs that it will be compared with; 0: none
};

class RecordingSession final : public Object {
 public:
  static int32_t type() { return OPD_OBJECT; }
  explicit RecordingSession(RecordingOptions o, std::unique_ptr<CallObservers> observers = nullptr)
      : options(o), observers_(std::move(observers)) {}

  const RecordingOptions options;

  // Where the calling thread's call is to be recorded, or null: it is not sampled, or the session has ended.
  ThreadTrack *begin(uint64_t &run);
  void end(ThreadTrack &lane, const RunSpan &span);
  bool is_of_this_thread();  // whether a call is under way that the calling thread makes
  struct Recorded {
    std::vector<ThreadTrack> lanes;
    std::unique_ptr<CallObservers> observers;
  };
  Recorded close();  // waits for the calls under way; to be called once

 private:
  ThreadTrack &lane_here();
  void forget_lost_threads();

  std::atomic<uint64_t> calls_{0};
  ForkMutex guard_{LockRank::kSession};
  std::map<uint64_t, ThreadTrack> lanes_;  // by thread_number()
  std::unique_ptr<CallObservers> observers_;
  uint64_t runs_ = 0;
  // Calls. close() waits for this number and not for a condition variable, which a forked child could not use: to it
  // the threads that waited in the parent would wait still.
  std::atomic<uint32_t> under_way_{0};
  uint32_t generation_ = fork_generation();
  bool closed_ = false;
};

// One call's part in a session.
class SessionCall {
 public:
  SessionCall() = default;
  SessionCall(const SessionCall &) = delete;
  ~SessionCall() { end(); }

  void begin(Ref<RecordingSession> session, uint32_t function) {
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
  void begin_recorded(uint32_t function);
  void end_recorded();

  Ref<RecordingSession> session_;
  ThreadTrack *lane_ = nullptr;
  RunSpan span_{};
  size_t observed_;  // what the lane's observer gave; only of a call that is recorded
};

}  // namespace opd
