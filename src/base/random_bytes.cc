#include "base/random_bytes.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "base/file.h"

namespace opd {
namespace {

// Signals interrupt the call only before it has returned bytes, or for more than 256 bytes.
bool draw(void *to, size_t size, unsigned flags) noexcept {
  auto *at = static_cast<char *>(to);
  while (size > 0) {
    const ssize_t count = ::getrandom(at, size, flags);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count, size -= static_cast<size_t>(count);
  }
  return true;
}

// The output function of SplitMix64.
uint64_t mixed(uint64_t number) {
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
  number = (number ^ number >> 27) * 0x94D049BB133111EBu;
  return number ^ number >> 31;
}

}  // namespace

void draw_secret_bytes(void *to, size_t size) {
  if (!draw(to, size, 0)) fail(OPD_IO, "the system provides no random bytes: ", error_text(errno));
}

void draw_unique_bytes(void *to, size_t size) noexcept {
  if (draw(to, size, GRND_NONBLOCK)) return;
  static std::atomic<uint64_t> count{0};
  uint64_t state = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) ^
                   (static_cast<uint64_t>(::getpid()) << 40);
  auto *at = static_cast<char *>(to);
  for (size_t part; size > 0; at += part, size -= part) {
    const uint64_t word = mixed(state += 0x9E3779B97F4A7C15u * ++count);
    part = std::min(size, sizeof word);
    std::memcpy(at, &word, part);
  }
}

}  // namespace opd
