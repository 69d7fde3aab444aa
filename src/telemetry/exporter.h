// Parts of the sending thread: pauses between tries, and a descriptor that wakes it.
#pragma once
#include <cstdint>

#include "telemetry/http_post.h"

namespace opd {

// A descriptor that becomes readable when raise() is called.
class Wake {
 public:
  Wake();  // throws OPD_IO
  ~Wake() { close(); }
  Wake(const Wake &) = delete;
  int fd() const { return fd_; }
  void raise() noexcept;
  void close() noexcept;  // also called in a forked child, which would otherwise wake its parent

 private:
  int fd_;
};

// Pauses after failures; each pause is twice as long as the one before.
class Backoff {
 public:
  uint64_t next_ns() const { return next_ns_; }  // earliest time of the next try, by monotonic_ns()
  void succeed() { pause_ns_ = 0, next_ns_ = 0; }
  void fail(uint64_t wanted_ns);  // `wanted_ns`: the pause that the server requested; 0: none

 private:
  uint64_t pause_ns_ = 0, next_ns_ = 0;
};

}  // namespace opd
