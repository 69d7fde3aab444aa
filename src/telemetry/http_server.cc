#include "telemetry/http_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "telemetry/address.h"

namespace opd {
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
    if (!would_wait()) nanosleep(&kMoment, nullptr);  // for example, too many open files, which lasts
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
  } catch (...) { return false; }  // memory is short
}

bool HttpServer::read(Client &client) {
  char block[2048];
  const ssize_t got = ::recv(client.fd, block, sizeof block, MSG_DONTWAIT);
  if (got <= 0) return got < 0 && would_wait();
  client.head.append(block, static_cast<size_t>(got));
  if (client.head.find("\r\n\r\n") == std::string::npos && client.head.size() <= kMostHead) return true;
  answer(client);
  client.phase = Phase::kWrites;
  client.until_ns = monotonic_ns() + kWriteNs;
  return write(client);
}

void HttpServer::answer(Client &client) {
  const size_t end = client.head.find("\r\n\r\n");
  if (end == std::string::npos || end > kMostHead) {
    client.out = answer_text(refusal("431 Request Header Fields Too Large", "The request is too long."), true);
    return;
  }
  const std::string_view head = std::string_view(client.head).substr(0, end), line = head.substr(0, head.find("\r\n"));
  const size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == line.npos || second == line.npos || !line.substr(second + 1).starts_with("HTTP/1.")) {
    client.out = answer_text(refusal("400 Bad Request", "This is no request of HTTP/1.1."), true);
    return;
  }
  const std::string_view method = line.substr(0, first);
  if (method != "GET" && method != "HEAD") {
    client.out =
        answer_text(refusal("405 Method Not Allowed", "Only GET and HEAD are answered."), true, "Allow: GET, HEAD\r\n");
    return;
  }
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const HttpAnswer given = answer_({target.substr(0, target.find('?')), header_in(head, "accept")});
  client.out = answer_text(given, method == "GET");
}

bool HttpServer::write(Client &client) {
  const std::string_view rest = std::string_view(client.out).substr(client.sent);
  const ssize_t sent = ::send(client.fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return would_wait();
  client.sent += static_cast<size_t>(sent);
  if (client.sent < client.out.size()) return true;
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

}  // namespace opd
