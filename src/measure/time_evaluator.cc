#include "measure/time_evaluator.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "base/cancellation.h"
#include "base/clock.h"
#include "base/thread_state.h"
#include "device/device.h"
#include "stats/steady_rule.h"

namespace opd {

// Threads that call one function concurrently, and the time of each thread. If there is only one thread, it is the
// calling thread.
class LoadThreads {
 public:
  // `args` are shared by all threads and must outlive this. Threads use the cancel token of the calling thread. If the
  // device has its own clock, durations are measured by that clock.
  LoadThreads(Function &function, Args args, DLDevice device, int64_t num_threads)
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
  ~LoadThreads() { end(); }
  LoadThreads(const LoadThreads &) = delete;
  LoadThreads &operator=(const LoadThreads &) = delete;

  struct Span {
    uint64_t begin = 0, end = 0;  // on the host's clock, in ns
    uint64_t duration_ns = 0;     // time of the calls and of their work on the device
  };
  bool is_device_time() const { return is_device_time_; }  // whether durations are by the device's clock
  // Each thread makes `number` calls, and all threads start together. Returns one span per thread, valid until the next
  // round. Throws the first error; the other threads then make no further call. A cancelled token ends the round before
  // the next call.
  const std::vector<Span> &round(int64_t number) {
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
  // Throws if the token of the constructor's thread is cancelled, or if its binding ends calls. Functions of VMs check
  // the token themselves. Other functions would run to the last repeat.
  void require_not_cancelled() const {
    auto *token = static_cast<CancelState *>(cancel_.get());
    if (!token) return;
    if (token->is_cancelled.load(std::memory_order_relaxed)) [[unlikely]]
      throw Exception(make_cancel_error(CancelReason::kCancelled, "before the next measured call"));
    if (token->is_asked.load(std::memory_order_relaxed)) [[unlikely]]
      if (Ref<Error> answer = token->ask()) throw Exception(std::move(answer));
  }

 private:
  Span call(int64_t number) const {
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
  void work(size_t index) {
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
  void end() {
    {
      const std::lock_guard lock(guard_);
      is_over_ = true;
    }
    begins_.notify_all();
    for (std::thread &thread : threads_) thread.join();
  }
  // Only the calling thread may answer a request, so it wakes up periodically. If calls are to end, the token ends the
  // VM calls of the other threads.
  void await_round(std::unique_lock<std::mutex> &lock) {
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

  Function &function_;
  const Args args_;
  const DLDevice device_;
  const bool is_device_time_;
  std::vector<Span> spans_;
  Ref<Object> cancel_;  // null: no token

  std::mutex guard_;  // guards the members below
  std::condition_variable begins_, ends_;
  int64_t number_ = 0;
  uint64_t round_ = 0;
  size_t working_ = 0;  // threads that have not finished the round
  bool is_over_ = false;
  std::exception_ptr error_;  // first error of the round
  std::atomic<size_t> waiting_{0};
  std::atomic<bool> has_failed_{false};
  std::vector<std::thread> threads_;
};

namespace {

constexpr int64_t kMostCalls = int64_t{1} << 50;

void check(const char *name, int64_t value, int64_t least, int64_t most) {
  require(value >= least && value <= most, name, " must be ", least, " to ", most, ", but is ", value);
}

double elapsed(const std::vector<LoadThreads::Span> &spans) {  // seconds from the first begin to the last end
  uint64_t begin = UINT64_MAX, end = 0;
  for (const LoadThreads::Span &span : spans) begin = std::min(begin, span.begin), end = std::max(end, span.end);
  return static_cast<double>(end - begin) / 1e9;
}

void cool_down(const LoadThreads &callers, int64_t left_ms) {
  constexpr int64_t kStep = 50;  // ms between checks of the cancel token
  for (; left_ms > 0; left_ms -= kStep) {
    callers.require_not_cancelled();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(left_ms, kStep)));
  }
}

}  // namespace

TimeEvaluator::TimeEvaluator(Ref<Function> function, EvaluatorOptions plan)
    : function_(std::move(function)), plan_(std::move(plan)) {
  constexpr int64_t kDay = 24 * 3600 * 1000;
  check("number", plan_.number, 1, INT32_MAX);
  check("repeat", plan_.repeat, 1, 1 << 30);
  check("min_repeat_ms", plan_.min_repeat_ms, 0, kDay);
  check("limit_zero_time_iterations", plan_.limit_zero_time_iterations, 0, INT32_MAX);
  check("cooldown_interval_ms", plan_.cooldown_interval_ms, 0, kDay);
  check("repeats_to_cooldown", plan_.repeats_to_cooldown, 1, INT32_MAX);
  check("cache_flush_bytes", plan_.cache_flush_bytes, 0, int64_t{1} << 40);
  check("warmup", plan_.warmup, 0, INT32_MAX);
  check("steady_ms", plan_.steady_ms, 0, kDay);
  check("concurrency", plan_.concurrency, 1, 1024);
  require(plan_.cache_flush_bytes == 0 || plan_.concurrency == 1,
          "cache_flush_bytes and concurrency exclude each other: the caches of other processors are not flushed");
  device_backend(plan_.device);  // throws if the device is absent
}

Ref<Benchmark> TimeEvaluator::call(Args args) {
  if (plan_.there) return plan_.there(args);
  LoadThreads callers(*function_, args, plan_.device, plan_.concurrency);
  Benchmark::Course course;
  warm_up(callers, course);
  flush_from_.resize(static_cast<size_t>(plan_.cache_flush_bytes));
  flush_to_.resize(flush_from_.size());
  std::vector<double> seconds;
  double calls = 0, passed = 0;
  for (int64_t i = 0; i < plan_.repeat; ++i) {
    if (plan_.preprocess) opd::call(*plan_.preprocess, args);
    passed += measure(callers, seconds);
    calls += static_cast<double>(plan_.number * plan_.concurrency);
    if (i % plan_.repeats_to_cooldown == 0) cool_down(callers, plan_.cooldown_interval_ms);
  }
  course.number = plan_.number;
  course.concurrency = static_cast<size_t>(plan_.concurrency);
  course.is_device_time = callers.is_device_time();
  course.calls_per_second = passed > 0 ? calls / passed : 0;
  return make_object<Benchmark>(std::move(seconds), course);
}

// Measures batches that are long enough for the clock. If a batch is too short, the number of its calls is doubled.
void TimeEvaluator::warm_up(LoadThreads &callers, Benchmark::Course &course) const {
  constexpr double kBatch = 1e-3;
  if (plan_.warmup > 0) callers.round(plan_.warmup);
  course.warmup_count = plan_.warmup * plan_.concurrency;
  if (plan_.steady_ms == 0) return;
  const uint64_t end = monotonic_ns() + static_cast<uint64_t>(plan_.steady_ms) * 1'000'000;
  SteadyRule rule;
  int64_t number = 1;
  do {
    const double seconds = elapsed(callers.round(number));
    course.warmup_count += number * plan_.concurrency;
    if (seconds >= kBatch) {
      course.is_steady = rule.add(seconds / static_cast<double>(number));
    } else {
      number = std::min(number * 2, kMostCalls);
      rule.restart();
    }
  } while (!course.is_steady && monotonic_ns() < end);
}

// Appends each thread's seconds per call; returns the total time. Increases the number of calls until it is long
// enough.
double TimeEvaluator::measure(LoadThreads &callers, std::vector<double> &seconds) {
  double duration_ms = 0;
  int64_t zeros = 0;
  const std::vector<LoadThreads::Span> *spans;
  do {
    if (duration_ms > 0) {
      const auto number = static_cast<double>(plan_.number);
      const double wanted = static_cast<double>(plan_.min_repeat_ms) / (duration_ms / number) + 1;
      plan_.number = static_cast<int64_t>(std::min(std::max(wanted, number * 1.618), static_cast<double>(kMostCalls)));
    }
    if (!flush_from_.empty()) std::memcpy(flush_to_.data(), flush_from_.data(), flush_from_.size());
    spans = &callers.round(plan_.number);
    duration_ms = elapsed(*spans) * 1e3;
    zeros += duration_ms == 0;
  } while (duration_ms < static_cast<double>(plan_.min_repeat_ms) && zeros < plan_.limit_zero_time_iterations);
  for (const LoadThreads::Span &span : *spans)
    seconds.push_back(static_cast<double>(span.duration_ns) / 1e9 / static_cast<double>(plan_.number));
  return duration_ms / 1e3;
}

}  // namespace opd
