#include "telemetry/http_post.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/file.h"

namespace opd {
namespace {

constexpr size_t kMostAnswer = 64 << 10;
constexpr uint64_t kPatienceNs = 10'000'000'000;

template <class Number>
bool read_number(std::string_view text, Number &out) {
  const size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return false;
  const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), out);
  return error == std::errc() && end != text.data() + first;
}

}  // namespace

// The deadline of a request: its own limit, or the end of the session if that is earlier.
struct HttpPost::Moment {
  uint64_t own_ns;
  const std::atomic<uint64_t> &end_ns;
  int wake;

  uint64_t ns() const { return std::min(own_ns, end_ns.load(std::memory_order_relaxed)); }
  void wait(int fd, short events) const {
    for (;;) {
      const uint64_t now = monotonic_ns(), end = ns();
      if (now >= end) fail(OPD_DEADLINE_EXCEEDED, "the collector does not answer in time");
      const uint64_t left_ms = (end - now + kNsPerMs - 1) / kNsPerMs;
      // Once the session ends, nothing more can wake it.
      const bool may_wake = end_ns.load(std::memory_order_relaxed) == UINT64_MAX;
      pollfd waiting[] = {{fd, events, 0}, {may_wake ? wake : -1, POLLIN, 0}};
      if (::poll(waiting, 2, static_cast<int>(std::min<uint64_t>(left_ms, 60'000))) > 0 && waiting[0].revents) return;
    }
  }
};

HttpPost::HttpPost(HttpUrl url, const TelemetrySettings &settings) : url_(std::move(url)) {
  headers_ = concat("Host: ", url_.authority(), "\r\nUser-Agent: opdyno/", settings.version,
                    "\r\nContent-Type: application/json\r\nConnection: close\r\n");
  for (const auto &[name, value] : settings.headers) headers_ += concat(name, ": ", value, "\r\n");
}

void HttpPost::close() noexcept {
  const std::scoped_lock lock(guard_);
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

HttpPost::Result HttpPost::send(std::string_view path, std::string_view body, const std::atomic<uint64_t> &end_ns,
                                int wake) {
  const Moment end{monotonic_ns() + kPatienceNs, end_ns, wake};
  Result result;
  try {
    connect(end);
    send_all(concat("POST ", url_.path, path, " HTTP/1.1\r\n", headers_, "Content-Length: ", body.size(), "\r\n\r\n"),
             end);
    send_all(body, end);
    result = receive(end);
  } catch (const Exception &e) { result = {.problem = e.error()->message}; }
  close();
  return result;
}

void HttpPost::connect(const Moment &end) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  if (const int code = ::getaddrinfo(url_.host.c_str(), url_.port.c_str(), &wanted, &found))
    fail(OPD_IO, "there is no address for ", url_.host, ": ", ::gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo *)> addresses(found, &::freeaddrinfo);
  int error = 0;
  for (const addrinfo *address = found; address; address = address->ai_next) {
    close();
    {
      const std::scoped_lock lock(guard_);
      fd_ = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    if (fd_ < 0) fail_errno("cannot connect to", url_.authority(), errno);
    error = ::connect(fd_, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      end.wait(fd_, POLLOUT);
      socklen_t size = sizeof error;
      if (::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    }
    if (!error) return;
  }
  fail_errno("cannot connect to", url_.authority(), error);
}

void HttpPost::send_all(std::string_view bytes, const Moment &end) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    else if (errno == EAGAIN) end.wait(fd_, POLLOUT);
    else if (errno != EINTR) fail_errno("cannot send to", url_.authority(), errno);
  }
}

HttpPost::Result HttpPost::receive(const Moment &end) {
  std::string text;
  size_t head = std::string::npos, wanted = kMostAnswer;
  while (text.size() < wanted) {
    char block[4096];
    const ssize_t got = ::recv(fd_, block, std::min(sizeof block, wanted - text.size()), MSG_DONTWAIT);
    if (got == 0) break;
    if (got < 0 && errno != EAGAIN && errno != EINTR) fail_errno("cannot read the answer of", url_.authority(), errno);
    if (got < 0) {
      end.wait(fd_, POLLIN);
      continue;
    }
    text.append(block, static_cast<size_t>(got));
    if (head != std::string::npos || (head = text.find("\r\n\r\n")) == std::string::npos) continue;
    const bool has_length = read_number(header_in(std::string_view(text).substr(0, head), "content-length"), wanted);
    wanted = has_length ? std::min(kMostAnswer, wanted) + head + 4 : kMostAnswer;
  }
  Result result;
  const std::string_view all = text;
  constexpr std::string_view kHttp = "HTTP/1.";
  if (head == std::string::npos || !all.starts_with(kHttp) || all.size() < 12 ||
      !read_number(all.substr(9, 3), result.status) || result.status < 100)
    fail(OPD_BAD_FORMAT, "what answers at ", url_.authority(), " does not speak HTTP/1.1");
  if (uint32_t seconds = 0; read_number(header_in(all.substr(0, head), "retry-after"), seconds))
    result.retry_after_ns = uint64_t{seconds} * 1'000'000'000;
  result.body = all.substr(head + 4);
  if (!result.is_success()) {
    result.problem = concat(url_.authority(), " answers ", all.substr(9, all.find("\r\n") - 9));
    if (!result.body.empty()) result.problem += concat(": ", std::string_view(result.body).substr(0, 200));
  }
  return result;
}

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
