#include "trace/session.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace opd {

Lane Lane::of_this_thread(RecordBuffer buffer) {
  char name[64] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return {std::move(buffer), {}, ::syscall(SYS_gettid), name};
}

Lane *Session::begin(uint64_t &run) {
  if (calls_.fetch_add(1, std::memory_order_relaxed) % options.sample_interval != 0) return nullptr;
  const int64_t thread = ::syscall(SYS_gettid);
  std::scoped_lock lock(guard_);
  if (closed_) return nullptr;
  auto place = lanes_.find(thread);
  if (place == lanes_.end())
    place = lanes_.emplace(thread, Lane::of_this_thread(RecordBuffer(options.max_records, options.all_calls))).first;
  ++under_way_;
  run = runs_++;
  return &place->second;
}

void Session::end(Lane &lane, const RunSpan &span) {
  std::scoped_lock lock(guard_);
  try {
    lane.runs.push_back(span);
  } catch (const std::bad_alloc &) {}  // its records count to no run then
  if (--under_way_ == 0) idle_.notify_all();
}

std::vector<Lane> Session::close() {
  std::unique_lock lock(guard_);
  closed_ = true;
  idle_.wait(lock, [this] { return under_way_ == 0; });
  std::vector<Lane> lanes;
  for (auto &[thread, lane] : lanes_) lanes.push_back(std::move(lane));
  lanes_.clear();
  return lanes;
}

}  // namespace opd
