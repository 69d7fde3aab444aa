#include "trace/file/periodic_flush.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/library_thread.h"

namespace opd {

PeriodicFlush::PeriodicFlush(std::chrono::nanoseconds interval, std::vector<int> files)
    : interval_(interval), files_(std::move(files)) {
  const auto body = [](void *flush) -> void * {
    static_cast<PeriodicFlush *>(flush)->run();
    return nullptr;
  };
  if (!start_library_thread("opdyno-flush", body, this, thread_))
    fail(OPD_IO, "no thread that writes a recording to the disk can be started");
}

PeriodicFlush::~PeriodicFlush() {
  if (generation_ != fork_generation()) return;  // a forked child does not have the thread
  ends_.release();
  pthread_join(thread_, nullptr);
}

void PeriodicFlush::run() noexcept {
  while (!ends_.try_acquire_for(interval_))
    for (const int file : files_)
      // EINVAL: the file does not support syncing.
      if (int none = 0; ::fdatasync(file) && errno != EINVAL) error_.compare_exchange_strong(none, errno);
}

}  // namespace opd
