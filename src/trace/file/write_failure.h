// The first failed write of a recording's file. A thread of its own logs it at once: the thread that wrote may hold
// locks, and the program's log callback may record, or wait for that thread.
#pragma once
#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/static_guard.h"

namespace opd {

// Thread-safe, except for end().
class WriteFailure {
 public:
  explicit WriteFailure(const std::string &path) : path_(path) {}
  ~WriteFailure() { end(); }
  WriteFailure(const WriteFailure &) = delete;

  // Later errors mostly follow from the first, so only the first counts. `logs`: also logs it.
  void note(int error_number, bool logs) noexcept {
    int none = 0;
    if (!error_.compare_exchange_strong(none, error_number) || !logs || generation_ != fork_generation()) return;
    const auto body = [](void *failure) -> void * {
      static_cast<WriteFailure *>(failure)->log();
      return nullptr;
    };
    // If there is no thread, the end of the recording reports the error.
    is_logging_ = start_library_thread("opdyno-log", body, this, thread_);
  }
  // Waits until the log callback has returned. No thread may call note() concurrently.
  void end() noexcept {
    if (!is_logging_.exchange(false) || generation_ != fork_generation()) return;  // a child does not have the thread
    if (pthread_equal(thread_, pthread_self())) pthread_detach(thread_);           // the callback ends the recording
    else pthread_join(thread_, nullptr);
  }

  int error() const { return error_.load(); }  // errno; 0: all writes succeeded

 private:
  void log() const noexcept try {  // the object may end in the callback
    log_warning("events of a recording are lost, and counted as dropped: cannot write ", path_, ": ",
                error_text(error()));
  } catch (const std::bad_alloc &) {}

  const std::string path_;
  const uint32_t generation_ = fork_generation();
  std::atomic<int> error_{0};
  std::atomic<bool> is_logging_{false};
  pthread_t thread_{};
};

}  // namespace opd
