// Threads that call one function concurrently, and the time of each thread. A single one is the calling thread.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "value/function.h"

namespace opd {

class LoadThreads {
 public:
  // `args` are shared by all threads and must outlive this. Threads use the cancel token of the calling thread. If the
  // device has its own clock, durations are measured by that clock.
  LoadThreads(Function &function, Args args, DLDevice device, int64_t num_threads);
  ~LoadThreads() { end(); }
  LoadThreads(const LoadThreads &) = delete;
  LoadThreads &operator=(const LoadThreads &) = delete;

  struct Span {
    uint64_t begin = 0, end = 0;  // on the host's clock, in ns
    uint64_t duration_ns = 0;     // time of the calls and of their work on the device
  };
  bool is_device_time() const { return is_device_time_; }  // whether durations are by the device's clock
  // Each thread makes `number` calls; all start together. Returns one span per thread, valid until the next round.
  // Throws the first error; the other threads then make no further call. A cancelled token ends the round before the
  // next call.
  const std::vector<Span> &round(int64_t number);
  // Throws once the token of the constructor's thread is cancelled, or its binding ends calls.
  void require_not_cancelled() const;

 private:
  Span call(int64_t number) const;
  void work(size_t index);
  void end();
  void await_round(std::unique_lock<std::mutex> &lock);

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

}  // namespace opd
