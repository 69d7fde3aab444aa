#include "measure/load_threads.h"

#include "base/cancel_state.h"
#include "base/cancellation.h"
#include "base/clock.h"
#include "base/thread_state.h"
#include "device/device.h"

namespace opd {

LoadThreads::LoadThreads(Function &function, Args args, DLDevice device, int64_t num_threads)
    : function_(function),
      args_(args),
      device_(device),
      is_device_time_(has_working_timer(device)),
      spans_(static_cast<size_t>(num_threads)),
      cancel_(Ref<Object>::share(thread_state().cancel)) {
  if (spans_.size() == 1) return;
  try {
    for (size_t i = 0; i < spans_.size(); ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (...) {
    end();
    throw;
  }
}

void LoadThreads::end() {
  {
    const std::lock_guard lock(guard_);
    is_over_ = true;
  }
  begins_.notify_all();
  for (std::thread &thread : threads_) thread.join();
}

const std::vector<LoadThreads::Span> &LoadThreads::round(int64_t number) {
  if (threads_.empty()) {
    spans_[0] = call(number);
    return spans_;
  }
  std::unique_lock lock(guard_);
  number_ = number;
  working_ = threads_.size();
  waiting_ = threads_.size();
  ++round_;
  begins_.notify_all();
  await_round(lock);
  if (error_) std::rethrow_exception(error_);
  return spans_;
}

// Only the calling thread may answer a request, so it wakes up periodically. If calls are to end, the token ends the VM
// calls of the other threads.
void LoadThreads::await_round(std::unique_lock<std::mutex> &lock) {
  constexpr auto kBetweenAnswers = std::chrono::milliseconds(50);
  const auto has_ended = [this] { return working_ == 0; };
  auto *token = static_cast<CancelState *>(cancel_.get());
  if (!token || !token->answer) return ends_.wait(lock, has_ended);
  Ref<Error> answer;
  while (!ends_.wait_for(lock, kBetweenAnswers, has_ended)) {
    if (answer) continue;
    lock.unlock();
    answer = token->ask();
    if (answer) has_failed_ = true, token->cancel(token);
    lock.lock();
  }
  if (!answer) return;
  token->is_cancelled = false;
  error_ = std::make_exception_ptr(Exception(std::move(answer)));
}

// Functions of VMs check the token themselves. Other functions would run to the last repeat.
void LoadThreads::require_not_cancelled() const {
  auto *token = static_cast<CancelState *>(cancel_.get());
  if (!token) return;
  if (token->is_cancelled.load(std::memory_order_relaxed)) [[unlikely]]
    throw Exception(make_cancel_error(CancelReason::kCancelled, "before the next measured call"));
  if (token->is_asked.load(std::memory_order_relaxed)) [[unlikely]]
    if (Ref<Error> answer = token->ask()) throw Exception(std::move(answer));
}

LoadThreads::Span LoadThreads::call(int64_t number) const {
  wait_for_device(device_);
  Span span{monotonic_ns(), 0, 0};
  void *const stream = current_stream(device_);
  const auto timer = is_device_time_ ? start_timer(device_) : nullptr;
  for (int64_t i = 0; i < number && !has_failed_.load(std::memory_order_relaxed); ++i) {
    require_not_cancelled();
    opd::call(function_, args_);
  }
  if (timer) {
    check_stream(device_, stream);  // the function may have destroyed the stream
    timer->stop();
  }
  wait_for_device(device_);
  span.end = monotonic_ns();
  span.duration_ns = timer ? timer->elapsed_ns() : span.end - span.begin;
  return span;
}

void LoadThreads::work(size_t index) {
  if (cancel_) {
    clean_at_thread_exit();
    thread_state().cancel = Ref<Object>(cancel_).detach();
  }
  for (uint64_t round = 1;; ++round) {
    std::unique_lock lock(guard_);
    begins_.wait(lock, [&] { return is_over_ || round_ == round; });
    if (is_over_) return;
    const int64_t number = number_;
    lock.unlock();
    --waiting_;
    while (waiting_ != 0) std::this_thread::yield();  // spin, so that the first thread does not run alone
    std::exception_ptr error;
    Span span;
    try {
      span = call(number);
    } catch (...) {
      error = std::current_exception();
      has_failed_ = true;
    }
    lock.lock();
    spans_[index] = span;
    if (!error_) error_ = error;
    if (--working_ == 0) ends_.notify_one();
  }
}

}  // namespace opd
