// Parts of the thread that sends: pauses between tries, and a descriptor that wakes it.
#pragma once
#include <cstdint>

#include "telemetry/http_post.h"

namespace opd {

// A descriptor that can be read once raise() was called.
class Wake {
 public:
  Wake();  // throws OPD_IO
  ~Wake() { close(); }
  Wake(const Wake &) = delete;
  int fd() const { return fd_; }
  void raise() noexcept;
  void close() noexcept;  // also in a forked child, since the parent's would be raised

 private:
  int fd_;
};

// Pauses after failures, of twice the length each time.
class Backoff {
 public:
  uint64_t next_ns() const { return next_ns_; }  // of monotonic_ns(): when the next try may be
  void succeed() { pause_ns_ = 0, next_ns_ = 0; }
  void fail(uint64_t wanted_ns);  // the pause that the server asked for; 0: none

 private:
  uint64_t pause_ns_ = 0, next_ns_ = 0;
};

}  // namespace opd
