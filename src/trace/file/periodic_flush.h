// Syncs files to the disk periodically, so that earlier writes survive a power failure. A thread of the library does
// it, so that recording threads do not wait for the disk.
#pragma once
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <semaphore>
#include <vector>

#include "base/error.h"
#include "base/signals.h"
#include "base/static_guard.h"
#include "trace/file/write_failure.h"

namespace opd {

class PeriodicFlush {
 public:
  // Syncs `files` in their order; the caller keeps them open, and `failure`. Throws OPD_IO if no thread can be started.
  PeriodicFlush(std::chrono::nanoseconds interval, std::vector<int> files, WriteFailure &failure)
      : interval_(interval), files_(std::move(files)), failure_(failure) {
    const auto body = [](void *flush) -> void * {
      static_cast<PeriodicFlush *>(flush)->run();
      return nullptr;
    };
    if (!start_library_thread("opdyno-flush", body, this, thread_))
      fail(OPD_IO, "no thread that writes a recording to the disk can be started");
  }
  ~PeriodicFlush() {
    if (generation_ != fork_generation()) return;  // a forked child does not have the thread
    ends_.release();
    pthread_join(thread_, nullptr);
  }
  PeriodicFlush(const PeriodicFlush &) = delete;

 private:
  void run() noexcept {
    while (!ends_.try_acquire_for(interval_))
      for (const int file : files_)
        // EINVAL: the file does not support syncing.
        if (::fdatasync(file) && errno != EINVAL) failure_.note(errno, true);
  }

  const std::chrono::nanoseconds interval_;
  const std::vector<int> files_;
  const uint32_t generation_ = fork_generation();
  std::binary_semaphore ends_{0};
  WriteFailure &failure_;
  pthread_t thread_{};
};

}  // namespace opd
