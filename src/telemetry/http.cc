#include "telemetry/http.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/host_port.h"
#include "base/text.h"

namespace opd {

// ---- addresses

int listen_at(std::string &address) {
  HostPort at = HostPort::parse(address);
  if (at.host == "localhost") at.host = "127.0.0.1";
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  require(::getaddrinfo(at.host.c_str(), at.port.c_str(), &wanted, &found) == 0, "\"", at.host,
          "\" is not an address of this machine: a number is expected, for example 127.0.0.1");
  const std::unique_ptr<addrinfo, void (*)(addrinfo *)> addresses(found, &::freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  constexpr int kBacklog = 128;
  if (fd < 0 || ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, kBacklog) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr *>(&own), &size) != 0) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    fail_errno("cannot listen at", at.text(), error);
  }
  at.port = concat(ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&own)->sin6_port
                                                   : reinterpret_cast<sockaddr_in *>(&own)->sin_port));
  address = at.text();
  return fd;
}

HttpUrl HttpUrl::parse(const std::string &text) {
  constexpr std::string_view kHttp = "http://";
  if (text.starts_with("https://"))
    fail(OPD_UNSUPPORTED, text, ": opdyno sends without TLS; send to a collector on this machine, which can use it");
  require(text.starts_with(kHttp), "\"", text, "\" must begin with http://");
  for (const char c : text)
    require(c > ' ' && c < 0x7F && c != '@' && c != '?' && c != '#', "\"", text,
            "\" has a character that no address of a collector has");
  std::string_view rest = std::string_view(text).substr(kHttp.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  HostPort at = HostPort::parse(rest.substr(0, slash), "80", text);
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  return {std::move(at.host), std::move(at.port), std::string(path)};
}

std::string HttpUrl::authority() const { return HostPort{host, port}.text(); }

// ---- the server

namespace {

constexpr size_t kMostHead = 8192, kMostClients = 32;
constexpr uint64_t kReadNs = 5'000'000'000, kWriteNs = 10'000'000'000, kEndNs = 1'000'000'000;

std::string answer_text(const HttpAnswer &answer, bool with_body, std::string_view more = "") {
  std::string text =
      concat("HTTP/1.1 ", answer.status, "\r\nContent-Type: ", answer.type, "\r\nContent-Length: ", answer.body.size(),
             "\r\nCache-Control: no-store\r\nConnection: close\r\n", more, "\r\n");
  if (with_body) text += answer.body;
  return text;
}

HttpAnswer refusal(std::string_view status, std::string_view why) {
  return {std::string(status), "text/plain; charset=utf-8", concat(why, "\n")};
}

bool would_wait() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

void HttpServer::open(std::string &address) {
  const std::scoped_lock lock(guard_);
  listener_ = listen_at(address);
}

void HttpServer::close_all() noexcept {
  const std::scoped_lock lock(guard_);
  for (const Client &client : clients_) ::close(client.fd);
  clients_.clear();
  if (listener_ >= 0) ::close(std::exchange(listener_, -1));
}

void HttpServer::serve_until(uint64_t end_ns, int wake) {
  for (uint64_t now; (now = monotonic_ns()) < end_ns;) {
    std::vector<pollfd> waiting{{wake, POLLIN, 0}, {listener_, POLLIN, 0}};
    uint64_t until = end_ns;
    for (const Client &client : clients_) {
      waiting.push_back({client.fd, static_cast<short>(client.phase == Phase::kWrites ? POLLOUT : POLLIN), 0});
      until = std::min(until, client.until_ns);
    }
    const uint64_t left_ms = until > now ? (until - now + kNsPerMs - 1) / kNsPerMs : 0;
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(std::min<uint64_t>(left_ms, 60'000))) < 0) {
      if (errno != EINTR) return;
      continue;
    }
    if (waiting[0].revents) return;
    now = monotonic_ns();
    for (size_t i = 0; i < clients_.size(); ++i) {
      Client &client = clients_[i];
      const bool stays = waiting[2 + i].revents ? go_on(client) : now < client.until_ns;
      if (stays) continue;
      const std::scoped_lock lock(guard_);
      ::close(std::exchange(client.fd, -1));
    }
    {
      const std::scoped_lock lock(guard_);  // a forked child walks through the clients
      std::erase_if(clients_, [](const Client &client) { return client.fd < 0; });
    }
    if (waiting[1].revents) accept_clients();
  }
}

// If there are too many clients, the new one replaces the oldest: clients that only connect must not keep others out.
void HttpServer::accept_clients() {
  std::unique_lock lock(guard_);
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    lock.unlock();
    constexpr timespec kMoment{0, 100'000'000};
    if (!would_wait()) nanosleep(&kMoment, nullptr);  // an error such as too many open files lasts
    return;
  }
  try {
    clients_.push_back({fd, monotonic_ns() + kReadNs});
  } catch (const std::bad_alloc &) { return void(::close(fd)); }
  if (clients_.size() <= kMostClients) return;
  ::close(clients_.front().fd);
  clients_.erase(clients_.begin());
}

bool HttpServer::go_on(Client &client) {
  try {
    return client.phase == Phase::kReads    ? read(client)
           : client.phase == Phase::kWrites ? write(client)
                                            : drain(client);
  } catch (...) { return false; }  // no memory
}

bool HttpServer::read(Client &client) {
  char block[2048];
  const ssize_t got = ::recv(client.fd, block, sizeof block, MSG_DONTWAIT);
  if (got <= 0) return got < 0 && would_wait();
  client.head.append(block, static_cast<size_t>(got));
  if (client.head.find("\r\n\r\n") == std::string::npos && client.head.size() <= kMostHead) return true;
  client.out = answer_to(client.head);
  client.phase = Phase::kWrites;
  client.until_ns = monotonic_ns() + kWriteNs;
  return write(client);
}

std::string HttpServer::answer_to(std::string_view request) const {
  const size_t end = request.find("\r\n\r\n");
  if (end == std::string::npos || end > kMostHead)
    return answer_text(refusal("431 Request Header Fields Too Large", "The request is too long."), true);
  const std::string_view head = request.substr(0, end), line = head.substr(0, head.find("\r\n"));
  const size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == line.npos || second == line.npos || !line.substr(second + 1).starts_with("HTTP/1."))
    return answer_text(refusal("400 Bad Request", "This is not a request of HTTP/1.1."), true);
  const std::string_view method = line.substr(0, first);
  if (method != "GET" && method != "HEAD")
    return answer_text(refusal("405 Method Not Allowed", "Only GET and HEAD are answered."), true,
                       "Allow: GET, HEAD\r\n");
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const HttpAnswer given = answer_(target.substr(0, target.find('?')), header_in(head, "accept"));
  return answer_text(given, method == "GET");
}

bool HttpServer::write(Client &client) {
  const std::string_view rest = std::string_view(client.out).substr(client.sent);
  const ssize_t sent = ::send(client.fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return would_wait();
  client.sent += static_cast<size_t>(sent);
  if (client.sent < client.out.size()) return client.until_ns = monotonic_ns() + kWriteNs, true;  // slow, but reads
  // Closing a socket with unread bytes resets the connection, and the client could lose the answer.
  ::shutdown(client.fd, SHUT_WR);
  client.phase = Phase::kEnds;
  client.until_ns = monotonic_ns() + kEndNs;
  std::string().swap(client.out);
  return true;
}

bool HttpServer::drain(Client &client) {
  char block[4096];
  const ssize_t got = ::recv(client.fd, block, sizeof block, MSG_DONTWAIT);
  return got > 0 ? monotonic_ns() < client.until_ns : got < 0 && would_wait();
}

// ---- requests

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
