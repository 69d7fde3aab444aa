#include "rpc/wire/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "rpc/wire/tls.h"

namespace opd::rpc {
namespace {

constexpr auto kAwake = std::chrono::microseconds(50);
constexpr const char *kReadsNothing = "the peer reads nothing; a message is not sent whole";

// True if nothing arrived for `limit` while the kernel repeated the same bytes, or probed a peer whose window is full.
// The kernel itself gives up after about 15 minutes. TCP_USER_TIMEOUT is no substitute: it also ends connections to
// busy peers whose window stays full, although they answer each probe.
bool is_peer_gone(int descriptor, std::chrono::milliseconds limit) {
  constexpr int kLeast = 3;  // so that one lost packet does not count as absence
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;  // not TCP
  if (size < offsetof(tcp_info, tcpi_last_ack_recv) + sizeof info.tcpi_last_ack_recv) return false;
  const bool asks_in_vain = info.tcpi_retransmits >= kLeast || info.tcpi_probes >= kLeast;
  return asks_in_vain && std::chrono::milliseconds(info.tcpi_last_ack_recv) >= limit;
}

iovec iovec_of(std::string_view bytes) { return {const_cast<char *>(bytes.data()), bytes.size()}; }

void take_from(std::span<iovec> parts, size_t size) {
  for (iovec &part : parts) {
    const size_t taken = std::min(size, part.iov_len);
    part.iov_base = static_cast<char *>(part.iov_base) + taken, part.iov_len -= taken;
    size -= taken;
  }
}

}  // namespace

int milliseconds_until(std::chrono::steady_clock::time_point end) {
  using Milliseconds = std::chrono::milliseconds;
  constexpr int64_t kMost = 1'000'000'000;
  const auto left = std::chrono::ceil<Milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, kMost));
}

Socket::Socket(int descriptor, Time stall, const PeerCheck &check)
    : descriptor_(descriptor),
      stall_(stall),
      check_(check),
      next_look_(std::chrono::steady_clock::now() + check.between) {
  const int yes = 1;  // answers are small, and the client waits for each; other kinds of sockets lack the option
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  // The kernel probes a silent peer, and ends the connection if the peer is gone, however long a call may take. While
  // sent bytes are not acknowledged, the kernel does not probe: see is_peer_gone().
  const int idle_s = static_cast<int>(check.idle.count()), between_s = static_cast<int>(check.between.count());
  setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &check.questions, sizeof check.questions);
}

Socket::~Socket() = default;

void Socket::secure(std::unique_ptr<Tls> tls) {
  for (Tls::Wants wants; (wants = tls->shake_hands()) != Tls::Wants::kNothing;)
    await_part(wants == Tls::Wants::kInput ? POLLIN : POLLOUT, "the peer stopped during the TLS handshake");
  tls_ = std::move(tls);
}

int Socket::peek(Time limit) {
  if (!poll_for(POLLIN, limit)) fail(OPD_DEADLINE_EXCEEDED, "the peer says nothing");
  unsigned char first;
  ssize_t found;
  do found = ::recv(descriptor_, &first, sizeof first, MSG_PEEK | MSG_DONTWAIT);
  while (found < 0 && errno == EINTR);
  return found > 0 ? first : -1;
}

bool Socket::looks_at_peer() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return false;
  next_look_ = now + check_.between;
  if (!is_peer_gone(descriptor_, check_.limit())) return false;
  broken_ = make_error(OPD_IO, concat("the peer's machine or network is gone: it has acknowledged nothing for ",
                                      check_.limit().count(), " s"));
  return true;
}

template <class... Text>
void Socket::await_part(short events, const Text &...text) {
  if (!poll_for(events, stall_)) fail(OPD_DEADLINE_EXCEEDED, text...);
  if (broken_) throw Exception(broken_);
}

// Waking a thread takes longer than a small message. If a busy session polls first, a call of an empty function takes
// half as long (tools/bench: python_rpc_call). But polling loses time if the peer works for long, or if it waits for
// this thread's processor. So each poll in vain doubles the number of waits that sleep at once.
bool Socket::stays_awake() {
  static const bool has_others = std::thread::hardware_concurrency() > 1;  // a peer can send while this thread polls
  constexpr int kMostAsleep = 64;
  if (!has_others || (asleep_ > 0 && asleep_-- > 0)) return false;
  pollfd waited{descriptor_, POLLIN, 0};
  if (::poll(&waited, 1, 0) > 0) return true;  // the input was here already, which says nothing about the next wait
  const auto end = std::chrono::steady_clock::now() + kAwake;
  bool is_here = false, is_late = false;
  while (!is_here && !is_late) {
    is_here = ::poll(&waited, 1, 0) > 0;
    is_late = std::chrono::steady_clock::now() >= end;  // even if the peer used this processor during the poll
  }
  if (is_late) asleep_ = next_asleep_;
  next_asleep_ = std::clamp(is_late ? 2 * next_asleep_ : next_asleep_ / 2, 1, kMostAsleep);
  return is_here;
}

bool Socket::poll_for(short events, Time limit) {
  if (broken_) return true;
  const bool has_end = end_ != std::chrono::steady_clock::time_point(), is_limited = limit.count() || has_end;
  constexpr Time kMost = std::chrono::hours(24 * 365);  // later times would not fit the clock
  auto end = limit.count() ? std::chrono::steady_clock::now() + std::min(limit, kMost) : end_;
  if (has_end) end = std::min(end, end_);
  pollfd waited{descriptor_, events, 0};
  if (events == POLLIN && (!limit.count() || limit > kAwake) && stays_awake()) return true;
  for (;;) {
    const int found = ::poll(&waited, 1, milliseconds_until(is_limited ? std::min(end, next_look_) : next_look_));
    if (found < 0 && errno != EINTR) fail(OPD_IO, "cannot wait for the peer: ", error_text(errno));
    if (found > 0 || looks_at_peer()) return true;
    if (is_limited && std::chrono::steady_clock::now() >= end) return false;
  }
}

bool Socket::has_input(Time limit) {
  if (begin_ < received_end_) return true;
  return tls_ ? has_secure_input(limit) : poll_for(POLLIN, limit);
}

// An error found here is kept and thrown by the next read, because callers of this function expect no errors. The
// received bytes may be a part of a record, or a record of TLS itself, so only decrypted bytes count as input. TLS is
// asked before the descriptor, because it may already have read everything from it.
bool Socket::has_secure_input(Time limit) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  while (!is_closed_ && !broken_) {
    ssize_t found = -1;
    try {
      found = receive(received_.data(), received_.size());
    } catch (const Exception &e) {
      broken_ = e.error();
      break;
    }
    is_closed_ = found == 0;
    if (found > 0) begin_ = 0, received_end_ = static_cast<size_t>(found);
    if (found >= 0) break;
    const Time left = limit.count() ? limit - (Clock::now() - begin) : limit;
    if (limit.count() && left.count() <= 0) return false;
    if (!poll_for(POLLIN, left)) return false;
  }
  return true;
}

ssize_t Socket::receive(void *to, size_t size) {
  if (broken_) throw Exception(broken_);
  if (tls_) return tls_->read(to, size);
  for (;;) {
    const ssize_t found = ::recv(descriptor_, to, size, MSG_DONTWAIT);
    if (found >= 0) return found;
    if (errno == ECONNRESET) return 0;
    if (errno == EAGAIN) return -1;
    if (errno != EINTR) fail(OPD_IO, "cannot read from the peer: ", error_text(errno));
  }
}

bool Socket::wait(Time limit) {
  while (begin_ == received_end_) {
    if (!has_input(limit)) fail(OPD_DEADLINE_EXCEEDED, "the peer sent nothing for ", limit.count() / 1'000'000, " ms");
    if (is_closed_) return false;
    if (tls_ && !broken_) break;
    const ssize_t found = receive(received_.data(), received_.size());
    if (found == 0) return false;
    if (found > 0) begin_ = 0, received_end_ = static_cast<size_t>(found);
  }
  return true;
}

void Socket::read(void *to, size_t size) {
  auto *at = static_cast<char *>(to);
  for (;;) {
    const size_t count = std::min(size, received_end_ - begin_);
    std::memcpy(at, received_.data() + begin_, count);
    begin_ += count, at += count, size -= count;
    if (size == 0) return;
    // A large part is received in place. A small part is received into the buffer, with bytes that may follow it.
    const bool is_large = size >= received_.size();
    const ssize_t found = is_large ? receive(at, size) : receive(received_.data(), received_.size());
    if (found == 0) fail(OPD_IO, "the peer closed the connection inside a message; ", size, " bytes are missing");
    if (found < 0) {
      await_part(POLLIN, "the peer stopped inside a message; ", size, " bytes are missing");
    } else if (is_large) {
      at += found, size -= static_cast<size_t>(found);
    } else {
      begin_ = 0, received_end_ = static_cast<size_t>(found);
    }
  }
}

int32_t Socket::read_number() {
  int32_t number;
  read(&number, sizeof number);
  return number;
}

// A small message is sent as one record, so as one packet.
void Socket::write_secure(std::string_view bytes) {
  while (!bytes.empty()) {
    Tls::Wants wants{};
    const size_t taken = tls_->write(bytes, wants);
    bytes.remove_prefix(taken);
    if (taken == 0) await_part(wants == Tls::Wants::kInput ? POLLIN : POLLOUT, kReadsNothing);
  }
}

void Socket::write(std::string_view head, std::string_view rest, std::string_view last) {
  if (tls_) {
    constexpr size_t kRecord = 16384;  // bytes
    const size_t begun = head.size() < kRecord ? std::min(rest.size(), kRecord - head.size()) : 0;
    write_secure(std::string(head).append(rest.substr(0, begun)));
    write_secure(rest.substr(begun));
    return write_secure(last);
  }
  iovec parts[] = {iovec_of(head), iovec_of(rest), iovec_of(last)};
  msghdr message{};
  message.msg_iov = parts, message.msg_iovlen = std::size(parts);
  for (size_t left = head.size() + rest.size() + last.size(); left > 0;) {
    const ssize_t sent = ::sendmsg(descriptor_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      left -= static_cast<size_t>(sent);
      take_from(parts, static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) fail(OPD_IO, "cannot write to the peer: ", error_text(errno));
    await_part(POLLOUT, kReadsNothing);
  }
}

void Socket::write_last(std::string_view bytes) noexcept {
  try {
    if (tls_) return write_secure(bytes);
  } catch (const std::exception &) { return; }
  while (!bytes.empty()) {
    constexpr int kMost = 1000;  // ms
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) bytes.remove_prefix(static_cast<size_t>(sent));
    pollfd waited{descriptor_, POLLOUT, 0};
    if (sent < 0 && errno != EINTR && (errno != EAGAIN || ::poll(&waited, 1, kMost) <= 0)) return;
  }
}

void Socket::drain(Time limit) noexcept {
  ::shutdown(descriptor_, SHUT_WR);
  end_at(std::chrono::steady_clock::now() + limit);
  try {
    while (poll_for(POLLIN, {}) && receive(received_.data(), received_.size()) != 0) continue;
  } catch (const std::exception &) {}  // the peer is gone
}

}  // namespace opd::rpc
