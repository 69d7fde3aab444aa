#include "cli/serve/session_gate.h"

#include <sys/socket.h>

#include <cerrno>

#include "cli/support/failure.h"
#include "cli/support/file.h"

namespace opd::cli {

namespace {

constexpr char asked = 'a', let_in = 'y', refused = 'n';

// Returns 0 if the other side has ended.
char receive(const Descriptor &end) {
  char said = 0;
  ssize_t count;
  do count = recv(end.get(), &said, 1, 0);
  while (count < 0 && errno == EINTR);
  return count == 1 ? said : 0;
}

void say(const Descriptor &end, char what) { send(end.get(), &what, 1, MSG_NOSIGNAL); }

}  // namespace

SessionGate::SessionGate() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) fail_errno("make", "a pair of sockets", errno);
  servers_ = Descriptor(ends[0]), sessions_ = Descriptor(ends[1]);
}

bool SessionGate::ask() {
  servers_.reset();
  say(sessions_, asked);
  const bool is_let_in = receive(sessions_) == let_in;
  sessions_.reset();
  return is_let_in;
}

bool SessionGate::has_asked() { return receive(servers_) == asked; }

void SessionGate::answer(bool is_let_in) {
  say(servers_, is_let_in ? let_in : refused);
  servers_.reset();
}

}  // namespace opd::cli
