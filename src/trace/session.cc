#include "trace/session.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread_state.h"

namespace opd {

Lane Lane::of_this_thread(RecordBuffer buffer) {
  char name[64] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return {std::move(buffer), {}, ::syscall(SYS_gettid), name};
}

Lane *Session::begin(uint64_t &run) {
  if (calls_.fetch_add(1, std::memory_order_relaxed) % options.sample_interval != 0) return nullptr;
  std::scoped_lock lock(guard_);
  if (closed_) return nullptr;
  Lane &lane = lane_here();
  if (lane.buffer.is_observer_busy()) return nullptr;
  ++lane.under_way;
  ++under_way_;
  run = runs_++;
  return &lane;
}

Lane &Session::lane_here() {
  const uint64_t thread = thread_number();
  if (const auto found = lanes_.find(thread); found != lanes_.end()) return found->second;
  Lane fresh = Lane::of_this_thread(RecordBuffer(options.max_records, options.all_calls));
  if (observers_) fresh.buffer.set_observer(fresh.observer = &observers_->of_thread());
  return lanes_.emplace(thread, std::move(fresh)).first->second;
}

bool Session::is_of_this_thread() {
  std::scoped_lock lock(guard_);
  const auto found = lanes_.find(thread_number());
  return found != lanes_.end() && found->second.under_way > 0;
}

void Session::end(Lane &lane, const RunSpan &span) {
  std::scoped_lock lock(guard_);
  try {
    lane.runs.push_back(span);
  } catch (const std::bad_alloc &) {}  // its records count to no run then
  --lane.under_way;
  if (--under_way_ == 0) idle_.notify_all();
}

Session::Recorded Session::close() {
  std::unique_lock lock(guard_);
  closed_ = true;
  idle_.wait(lock, [this] { return under_way_ == 0; });
  Recorded recorded;
  for (auto &[thread, lane] : lanes_) recorded.lanes.push_back(std::move(lane));
  lanes_.clear();
  recorded.observers = std::move(observers_);
  return recorded;
}

void SessionCall::begin_recorded(uint32_t function) {
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
