// Threads that run beside a long call: a progress line on the terminal, and a watchdog that makes the process exit at
// the time limit.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "cli/support/face.h"

namespace opd::cli {

// A line on the terminal that names the current activity, shown if it takes more than two seconds.
class Progress {
 public:
  Progress();  // shows nothing if standard error is not a terminal
  ~Progress();

  // Sets the activity. `detail` is called from another thread each time the line is drawn; its text is appended.
  void stage(std::string what, std::function<std::string()> detail = nullptr);
  // Removes the line from the terminal, before other text is printed.
  void clear();

 private:
  void draw_until(const std::stop_token &stopped);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string what_;
  std::function<std::string()> detail_;
  bool is_shown_ = false;
  std::jthread thread_;
};

// Ends the process if a call exceeds its time limit. The VM stops between operators, but a running kernel cannot be
// interrupted.
class Watchdog {
 public:
  // `token` belongs to the watched call. If no operator is known, the message names `function`.
  Watchdog(std::chrono::nanoseconds timeout, CancelToken token, std::string function);
  // The time until the deadline; at least 1 ns, since 0 would mean no deadline.
  std::chrono::nanoseconds remaining() const;

 private:
  void watch(const std::stop_token &stopped) const;

  std::chrono::nanoseconds timeout_;
  std::chrono::steady_clock::time_point deadline_;
  CancelToken token_;
  std::string function_;
  std::jthread thread_;  // last: it uses the members above
};

// The options of a call that ends at the watchdog's deadline, if there is one, or when `token` is cancelled.
opd_call_options options_of_call(const CancelToken &token, const Watchdog *watchdog);

}  // namespace opd::cli
