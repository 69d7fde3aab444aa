#include "cli/support/control_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr size_t most_of_a_line = 16 << 20;

// If OPDYNO_CONTROL is in its environment, this command may listen there itself.
void refuse_ourselves(int fd, const std::string &path) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == getpid())
    throw Failure(Exit::failed, cat("no other process listens at ", path,
                                    "; OPDYNO_CONTROL is set for this command, too, which took the path"));
}

}  // namespace

ControlClient::ControlClient(const std::string &path) : path_(path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    fail_usage(cat("the path of a socket has at most ", sizeof address.sun_path - 1, " bytes, but ", path, " has ",
                   path.size()));
  std::memcpy(address.sun_path, path.data(), path.size());
  socket_ = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_ || connect(fd(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED)
      throw Failure(Exit::failed, cat("no process listens at ", path, "; start it with OPDYNO_CONTROL=", path));
    fail_errno("connect to", path, errno);
  }
  refuse_ourselves(fd(), path);
}

void ControlClient::send(std::string line) {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t sent = ::send(fd(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return;  // the process has sent the reason, which is read next
    rest.remove_prefix(static_cast<size_t>(sent));
  }
}

bool ControlClient::fill() {
  char block[1 << 16];
  pollfd waiting{fd(), POLLIN, 0};  // ThreadSanitizer runs signal handlers here, but not in recv()
  while (poll(&waiting, 1, -1) < 0 && errno == EINTR) {}
  ssize_t got;
  while ((got = recv(fd(), block, sizeof block, 0)) < 0 && errno == EINTR) {}
  if (got > 0) received_.append(block, static_cast<size_t>(got));
  return got > 0;
}

Json ControlClient::receive() {
  size_t end = 0;
  for (size_t seen = 0; (end = received_.find('\n', seen)) == std::string::npos;) {
    seen = received_.size();
    if (seen > most_of_a_line) throw Failure(Exit::failed, cat("what listens at ", path_, " is no opdyno"));
    if (!fill()) return nullptr;
  }
  Json line(cJSON_ParseWithLength(received_.data(), end));
  received_.erase(0, end + 1);
  if (!line) throw Failure(Exit::failed, cat("what listens at ", path_, " is no opdyno"));
  make_printable(line.get());
  if (const std::string error = json_string(line.get(), "error"); !error.empty()) throw Failure(Exit::failed, error);
  return line;
}

std::string ControlClient::receive_bytes(size_t count) {
  while (received_.size() < count)
    if (!fill()) throw Failure(Exit::failed, "the process ended before all was received");
  std::string bytes = received_.substr(0, count);
  received_.erase(0, count);
  return bytes;
}

std::string ControlClient::receive_begin() {
  const Json line = receive();
  const cJSON *const process = json_member(line.get(), "recording");
  if (!process) throw Failure(Exit::failed, cat("what listens at ", path_, " did not start a recording"));
  const cJSON *const pid = json_member(process, "pid");
  return cat(json_string(process, "process"), " (process ",
             static_cast<int64_t>(cJSON_IsNumber(pid) ? pid->valuedouble : 0), ")");
}

}  // namespace opd::cli
