#include "trace/recording_session.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread_state.h"

namespace opd {

ThreadTrack ThreadTrack::of_this_thread(CallEventBuffer buffer) {
  char name[64] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return {std::move(buffer), {}, ::syscall(SYS_gettid), name};
}

ThreadTrack *RecordingSession::begin(uint64_t &run) {
  if (calls_.fetch_add(1, std::memory_order_relaxed) % options.sample_interval != 0) return nullptr;
  std::scoped_lock lock(guard_);
  forget_lost_threads();
  if (closed_) return nullptr;
  ThreadTrack &lane = lane_here();
  if (lane.buffer.is_observer_busy()) return nullptr;
  ++lane.under_way;
  under_way_.fetch_add(1, std::memory_order_relaxed);
  run = runs_++;
  return &lane;
}

ThreadTrack &RecordingSession::lane_here() {
  const uint64_t thread = thread_number();
  if (const auto found = lanes_.find(thread); found != lanes_.end()) return found->second;
  ThreadTrack fresh = ThreadTrack::of_this_thread(CallEventBuffer(options.max_records, options.all_calls));
  if (observers_) fresh.buffer.set_observer(fresh.observer = &observers_->of_thread());
  return lanes_.emplace(thread, std::move(fresh)).first->second;
}

// In a forked child, the calls of the parent's other threads never end. Their records may be half written, so they are
// neither read nor freed.
void RecordingSession::forget_lost_threads() {
  if (generation_ == fork_generation()) return;
  generation_ = fork_generation();
  uint32_t calls_here = 0;
  for (auto next = lanes_.begin(); next != lanes_.end();) {
    const auto lane = next++;
    if (lane->first == thread_number()) calls_here = static_cast<uint32_t>(lane->second.under_way);
    else if (lane->second.under_way > 0) new std::map<uint64_t, ThreadTrack>::node_type(lanes_.extract(lane));
  }
  under_way_.store(calls_here, std::memory_order_relaxed);
}

bool RecordingSession::is_of_this_thread() {
  std::scoped_lock lock(guard_);
  const auto found = lanes_.find(thread_number());
  return found != lanes_.end() && found->second.under_way > 0;
}

void RecordingSession::end(ThreadTrack &lane, const RunSpan &span) {
  std::scoped_lock lock(guard_);
  forget_lost_threads();
  try {
    lane.runs.push_back(span);
  } catch (const std::bad_alloc &) {}  // without memory, its records belong to no run
  --lane.under_way;
  if (under_way_.fetch_sub(1, std::memory_order_acq_rel) == 1) under_way_.notify_all();
}

RecordingSession::Recorded RecordingSession::close() {
  {
    std::scoped_lock lock(guard_);
    forget_lost_threads();
    closed_ = true;
  }
  // Acquire pairs with the release in end(), so all records of the ended calls are visible here.
  while (const uint32_t calls = under_way_.load(std::memory_order_acquire)) under_way_.wait(calls);
  std::scoped_lock lock(guard_);  // waits until the last call has left end()
  Recorded recorded;
  for (auto &[thread, lane] : lanes_) recorded.lanes.push_back(std::move(lane));
  lanes_.clear();
  recorded.observers = std::move(observers_);
  return recorded;
}

void SessionCall::begin_recorded(NameId function) {
  span_.function = function;
  span_.begin = lane_->buffer.now();
  observed_ = kUnobserved;
  if (!lane_->observer) return;
  observed_ = lane_->observer->begin_run();
  span_.begin = lane_->buffer.now();
}

void SessionCall::end_recorded() {
  span_.end = lane_->buffer.now();
  if (observed_ != kUnobserved) lane_->observer->end_run(observed_);
  session_->end(*std::exchange(lane_, nullptr), span_);
}

}  // namespace opd
