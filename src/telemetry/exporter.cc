#include "telemetry/exporter.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/file.h"

namespace opd {

Wake::Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) fail_errno("cannot make", "a descriptor of events", errno);
}

void Wake::raise() noexcept {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
}

void Wake::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

// The server's pause is limited, so that it cannot stop the sending for good.
void Backoff::fail(uint64_t wanted_ns) {
  constexpr uint64_t kFirst = 1'000'000'000, kMost = 30'000'000'000, kMostWanted = 300'000'000'000;
  pause_ns_ = std::min(pause_ns_ ? 2 * pause_ns_ : kFirst, kMost);
  next_ns_ = monotonic_ns() + std::max(pause_ns_, std::min(wanted_ns, kMostWanted));
}

}  // namespace opd
