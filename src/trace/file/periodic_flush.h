// Syncs files to the disk periodically, so that earlier writes survive a power failure. A thread of the library does
// it, so that recording threads do not wait for the disk.
#pragma once
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <vector>

#include "base/static_guard.h"

namespace opd {

class PeriodicFlush {
 public:
  // Syncs `files` in their order; the caller keeps them open. Throws OPD_IO if no thread can be started.
  PeriodicFlush(std::chrono::nanoseconds interval, std::vector<int> files);
  ~PeriodicFlush();  // ends the thread
  PeriodicFlush(const PeriodicFlush &) = delete;

  int error() const { return error_.load(); }  // errno of the first failed sync; 0: none

 private:
  void run() noexcept;

  const std::chrono::nanoseconds interval_;
  const std::vector<int> files_;
  const uint32_t generation_ = fork_generation();
  std::binary_semaphore ends_{0};
  std::atomic<int> error_{0};
  pthread_t thread_{};
};

}  // namespace opd
