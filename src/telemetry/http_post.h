// Sends one POST request by HTTP/1.1, without TLS, over a separate connection. All sizes and waits are bounded. The
// sending thread also has pauses between tries, and a descriptor that wakes it.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fork_mutex.h"
#include "telemetry/address.h"
#include "telemetry/settings.h"

namespace opd {

class HttpPost {
 public:
  struct Result {
    int status = 0;  // 0: no answer
    std::string problem = {};
    uint64_t retry_after_ns = 0;  // requested by the server; 0: none
    std::string body = {};        // body of the answer; limited to some KiB
    bool is_success() const { return status >= 200 && status < 300; }
    // Whether the same request may succeed later (OTLP specification, "Failures").
    bool is_transient() const {
      return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
    }
  };
  HttpPost(HttpUrl url, const TelemetrySettings &settings);
  ~HttpPost() { close(); }
  HttpPost(const HttpPost &) = delete;

  // One thread calls it. `end_ns`: the deadline, by monotonic_ns(). Another thread may move it nearer and then makes
  // `wake` readable.
  Result send(std::string_view path, std::string_view body, const std::atomic<uint64_t> &end_ns, int wake);
  // Also called in a forked child, where the socket is the parent's.
  void close() noexcept;
  const HttpUrl &url() const { return url_; }

 private:
  struct Moment;
  void connect(const Moment &end);
  void send_all(std::string_view bytes, const Moment &end);
  Result receive(const Moment &end);

  const HttpUrl url_;
  std::string headers_;
  ForkMutex guard_{LockRank::kTelemetrySockets};  // held while the descriptor is opened and closed
  int fd_ = -1;
};

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
