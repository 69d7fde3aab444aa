#include "control/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/error.h"

namespace opd {
namespace {

constexpr uint64_t kPatienceNs = 30'000'000'000;  // longest wait for a client that does not read

// Waits for the events until that time. Returns 0 at the deadline. An error of the socket is also an event.
short poll_until(int fd, short events, uint64_t until_ns) {
  for (;;) {
    const uint64_t now = monotonic_ns();
    constexpr uint64_t kMostMs = 3'600'000;
    const uint64_t left_ms = until_ns > now ? std::min((until_ns - now + kNsPerMs - 1) / kNsPerMs, kMostMs) : 0;
    pollfd waiting{fd, events, 0};
    const int found = ::poll(&waiting, 1, static_cast<int>(left_ms));
    if (found > 0) return waiting.revents;
    if (found < 0 && errno != EINTR) return POLLERR;
    if (monotonic_ns() >= until_ns) return 0;
  }
}

}  // namespace

Connection::Waited Connection::wait(uint64_t until_ns) {
  for (;;) {
    if (received_.find('\n') != std::string::npos) return Waited::kLine;
    require(received_.size() < kMostLine, "a request has at most ", kMostLine, " bytes");
    const short found = poll_until(fd_, has_ended_ ? 0 : POLLIN, until_ns);
    if (!found) return Waited::kTime;
    if (found & POLLIN) receive();
    else return Waited::kGone;
    if (found & POLLHUP && received_.find('\n') == std::string::npos && has_ended_) return Waited::kGone;
  }
}

void Connection::receive() {
  char block[kMostLine];
  const ssize_t got = ::recv(fd_, block, kMostLine - received_.size(), MSG_DONTWAIT);
  if (got > 0) received_.append(block, static_cast<size_t>(got));
  else if (got == 0 || (errno != EAGAIN && errno != EINTR)) has_ended_ = true;
}

std::string Connection::take_line() {
  const size_t end = received_.find('\n');
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

void Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    else if (errno == EAGAIN && !poll_until(fd_, POLLOUT, monotonic_ns() + kPatienceNs))
      fail(OPD_IO, "the client does not read");
    else if (errno != EAGAIN && errno != EINTR) fail(OPD_IO, "the client is gone");
  }
}

void PieceSink::put(const void *data, size_t size) {
  for (std::string_view rest(static_cast<const char *>(data), size); !rest.empty();) {
    const size_t fits = std::min(kPiece - piece_.size(), rest.size());
    piece_.append(rest.substr(0, fits));
    rest.remove_prefix(fits);
    if (piece_.size() == kPiece) finish();
  }
}

void PieceSink::finish() {
  if (piece_.empty()) return;
  connection_.send_line(concat("{\"bytes\":", piece_.size(), "}"));
  connection_.send(piece_);
  piece_.clear();
}

}  // namespace opd
