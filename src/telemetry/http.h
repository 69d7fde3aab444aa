// HTTP/1.1 without TLS: addresses, a small server, one POST request, and the pauses after failed requests. All sizes
// and waits are bounded, because the other side may send anything, send slowly, or stop reading.
#pragma once
#include <strings.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "telemetry/settings.h"

namespace opd {

// ---- addresses and heads

// Opens a listening, non-blocking socket. Changes the text to the bound address: port 0 selects a free port. The host
// must be a number or "localhost", so there is no name lookup. Throws OPD_INVALID_ARGUMENT, or OPD_IO.
int listen_at(std::string &address);

struct HttpUrl {
  std::string host, port, path;  // path: without a trailing '/'

  // Throws OPD_INVALID_ARGUMENT, or OPD_UNSUPPORTED for https.
  static HttpUrl parse(const std::string &text);
  std::string authority() const;  // value of the header Host
};

// Returns the value of a header, including surrounding blanks; "" if it is missing.
inline std::string_view header_in(std::string_view head, std::string_view name) {
  for (size_t line = head.find("\r\n"); line != head.npos; line = head.find("\r\n", line + 2)) {
    const std::string_view rest = head.substr(line + 2);
    if (rest.size() <= name.size() || rest[name.size()] != ':') continue;
    if (::strncasecmp(rest.data(), name.data(), name.size()) != 0) continue;
    const std::string_view value = rest.substr(name.size() + 1);
    return value.substr(0, value.find("\r\n"));
  }
  return "";
}

// ---- the server

struct HttpAnswer {
  std::string status;  // "200 OK"
  std::string type;    // type of the body
  std::string body;
};

// Answers GET and HEAD, and closes each connection. One thread waits for all clients at once.
class HttpServer {
 public:
  // `path`: of the target, without the query. `accept`: value of the header; "" if missing.
  using Answer = std::function<HttpAnswer(std::string_view path, std::string_view accept)>;
  explicit HttpServer(Answer answer) : answer_(std::move(answer)) {}
  ~HttpServer() { close_all(); }
  HttpServer(const HttpServer &) = delete;

  // Listens, and changes the address to the bound one. Throws like listen_at().
  void open(std::string &address);
  // Serves until that time of monotonic_ns(), or until `wake` is readable. One thread calls it.
  void serve_until(uint64_t end_ns, int wake);
  // Also called in a forked child, where the sockets are the parent's.
  void close_all() noexcept;

 private:
  enum class Phase { kReads, kWrites, kEnds };
  struct Client {
    int fd;
    uint64_t until_ns;  // deadline of the phase
    Phase phase = Phase::kReads;
    std::string head = {}, out = {};
    size_t sent = 0;
  };

  void accept_clients();
  bool read(Client &client);   // false: the client is gone
  bool write(Client &client);  // false: the client is gone
  bool drain(Client &client);
  bool go_on(Client &client);
  std::string answer_to(std::string_view request) const;

  const Answer answer_;
  ForkMutex guard_{LockRank::kTelemetrySockets};  // held while descriptors are opened and closed
  int listener_ = -1;
  std::vector<Client> clients_;  // in the order of arrival
};

// ---- requests

// Sends one POST request over a separate connection.
class HttpPost {
 public:
  struct Result {
    int status = 0;  // 0: no answer
    std::string problem = {};
    uint64_t retry_after_ns = 0;  // requested by the server; 0: none
    std::string body = {};        // body of the answer; limited to a few KiB
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
  void close() noexcept;  // called in a forked child, too, which would otherwise wake its parent

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
