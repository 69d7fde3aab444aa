// Ends the process if a call exceeds its time limit. The VM stops between operators, but a running kernel cannot be
// interrupted.
#pragma once
#include <chrono>
#include <string>
#include <thread>

#include "cli/support/face.h"

namespace opd::cli {

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

}  // namespace opd::cli
