// Peers that lost their power or their network while sent bytes are not acknowledged, and those that only seem so.
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"
#include "rpc/wire/socket.h"

namespace opd::rpc {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr PeerCheck kQuick{1s, 1s, 1};  // 2 s in all

// Both ends of a connection on the loopback, in one thread.
struct TcpPair {
  int ours = -1, peers = -1;
  TcpPair() = default;
  TcpPair(const TcpPair &) = delete;
  ~TcpPair() {
    for (const int end : {ours, peers})
      if (end >= 0) ::close(end);
  }
  // `room`: of the peer, for bytes that it has not read; 0: as usual. Returns what failed; "": nothing.
  std::string connect(int room = 0) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto *const name = reinterpret_cast<sockaddr *>(&address);
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (room) ::setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    ours = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_made = ::bind(listener, name, size) == 0 && ::listen(listener, 1) == 0 &&
                         ::getsockname(listener, name, &size) == 0 && ::connect(ours, name, size) == 0 &&
                         (peers = ::accept(listener, nullptr, nullptr)) >= 0;
    const std::string why = is_made ? "" : std::strerror(errno);
    ::close(listener);
    return why;
  }
};

// The loopback device of the process's network namespace.
bool set_loopback(bool is_up) {
  const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  bool is_done = ::ioctl(any, SIOCGIFFLAGS, &request) == 0;
  request.ifr_flags = static_cast<short>(is_up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
  is_done = is_done && ::ioctl(any, SIOCSIFFLAGS, &request) == 0;
  const int error = errno;
  ::close(any);
  errno = error;
  return is_done;
}

// Whether this kernel tells within a minute that it sends in vain, for as long as the check wants.
bool tells_of_silence(int descriptor) {
  for (const auto end = Clock::now() + 60s; Clock::now() < end; ::usleep(20'000)) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
    const bool asks = info.tcpi_retransmits >= 3 || info.tcpi_probes >= 3;
    if (asks && info.tcpi_last_ack_recv >= 2000) return true;
  }
  return false;
}

// In a process of its own: its network is lost. `is_full`: before that, the peer had no room for more. Returns what the
// socket says, or "skipped: " and why.
std::string wait_for_a_gone_peer(bool is_full) {
  const auto skipped = [](const std::string &why) { return "skipped: " + why; };
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWNET) != 0)
    return skipped(std::string("there can be no further network namespace: ") + std::strerror(errno));
  if (!set_loopback(true)) return skipped(std::string("its loopback device: ") + std::strerror(errno));
  TcpPair pair;
  if (const std::string why = pair.connect(); !why.empty()) return skipped("no connection within it: " + why);
  Socket socket(pair.ours, 60s, kQuick);
  ::send(pair.peers, "hello", 5, MSG_NOSIGNAL);
  char hello[5];
  socket.read(hello, sizeof hello);
  const std::string block(1 << 20, 'x');
  while (is_full && ::send(pair.ours, block.data(), block.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) continue;
  if (!set_loopback(false)) return skipped(std::string("its loopback device: ") + std::strerror(errno));
  if (!is_full && ::send(pair.ours, "a request", 9, MSG_NOSIGNAL) != 9) return skipped("sending fails at once");
  try {
    if (!tells_of_silence(pair.ours)) return skipped("the kernel does not say that nothing is acknowledged");
    return socket.wait({}) ? "there is something to read" : "the connection was closed";
  } catch (const Exception &e) { return e.error()->message; }
}

void expect_noticed(bool is_full) {
  int said[2];
  ASSERT_EQ(::pipe(said), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(300);  // the kernel by itself takes 15 minutes
    std::string told;
    try {
      told = wait_for_a_gone_peer(is_full);
    } catch (const std::exception &e) { told = e.what(); }
    ::_exit(::write(said[1], told.data(), told.size()) < 0);
  }
  ::close(said[1]);
  std::string told(1000, '\0');
  told.resize(static_cast<size_t>(std::max<ssize_t>(::read(said[0], told.data(), told.size()), 0)));
  ::close(said[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (told.starts_with("skipped: ")) GTEST_SKIP() << told.substr(9);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(told, "the peer's machine or network is gone: it has acknowledged nothing for 2 s");
}

TEST(APeer, IsNoticedAsGoneWhileBytesAreUnacknowledged) { expect_noticed(false); }
TEST(APeer, IsNoticedAsGoneWhileItHasNoRoom) { expect_noticed(true); }

TEST(APeer, IsNotTakenForGoneIfItIsBusyAndHasNoRoom) {
  TcpPair pair;
  ASSERT_EQ(pair.connect(4096), "");
  Socket socket(pair.ours, 3s, kQuick);
  try {  // more than both kernels take
    socket.write(std::string(64 << 20, 'x'));
    ADD_FAILURE() << "all was sent, though nobody reads";
  } catch (const Exception &e) { EXPECT_EQ(e.error()->code, OPD_DEADLINE_EXCEEDED) << e.error()->message; }
}

TEST(APeer, IsNotTakenForGoneIfItSaysNothing) {
  TcpPair pair;
  ASSERT_EQ(pair.connect(), "");
  Socket socket(pair.ours, 60s, kQuick);
  socket.write("a request");
  EXPECT_FALSE(socket.has_input(3s));
  ::send(pair.peers, "x", 1, MSG_NOSIGNAL);
  EXPECT_TRUE(socket.wait(60s));
}

}  // namespace
}  // namespace opd::rpc
