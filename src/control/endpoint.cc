#include "control/endpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace opd {
namespace {

constexpr int kBacklog = 16;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor &) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

sockaddr_un address_of(const std::string &path) {
  sockaddr_un address{};
  require(path.size() < sizeof address.sun_path, "the path of a socket has at most ", sizeof address.sun_path - 1,
          " bytes, but ", path, " has ", path.size());
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int new_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

int bind_to(int fd, const sockaddr_un &address) {
  return ::bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 ? 0 : errno;
}

// A lock on the directory of a path. If two processes find the same stale socket, only one of them replaces it. If
// another process keeps the lock, or the directory cannot be read, no lock is held.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string &path)
      : directory_(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    constexpr timespec kMoment{0, 10'000'000};
    for (int turn = 0; turn < 20 && ::flock(directory_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++turn)
      nanosleep(&kMoment, nullptr);
  }

 private:
  static std::string directory_of(const std::string &path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
  }
  Descriptor directory_;  // closing it releases the lock
};

// Removes the path if it is a socket on which no process listens.
void remove_stale(const std::string &path, const sockaddr_un &address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    fail_errno("cannot listen on", path, errno);
  }
  if (!S_ISSOCK(status.st_mode)) fail(OPD_IO, path, " exists and is no socket; it is left alone");
  const Descriptor probe(new_socket());
  if (probe.get() < 0) fail_errno("cannot listen on", path, errno);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 || errno == EAGAIN)
    fail(OPD_IO, path, " is in use: another process listens there; it is left alone");
  if (errno != ECONNREFUSED) fail_errno("cannot listen on", path, errno);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_errno("cannot replace", path, errno);
}

}  // namespace

void Endpoint::open(const std::string &path) {
  const sockaddr_un address = address_of(path);
  Descriptor made(new_socket());
  // Set the mode before binding, so that no other user can ever open it: the path gets the socket's mode.
  if (made.get() < 0 || ::fchmod(made.get(), 0600) != 0) fail_errno("cannot listen on", path, errno);
  const DirectoryLock lock(path);
  int error = bind_to(made.get(), address);
  if (error == EADDRINUSE) {
    remove_stale(path, address);
    error = bind_to(made.get(), address);
  }
  struct stat status {};
  if (!error && (::lstat(path.c_str(), &status) != 0 || ::listen(made.get(), kBacklog) != 0)) error = errno;
  if (error) fail_errno("cannot listen on", path, error);
  path_ = path, device_ = status.st_dev, inode_ = status.st_ino;
  fd_ = made.release();
}

void Endpoint::remove() noexcept {
  struct stat status {};
  if (path_.empty() || ::lstat(path_.c_str(), &status) != 0) return;
  if (status.st_dev == device_ && status.st_ino == inode_) ::unlink(path_.c_str());
}

void Endpoint::forget() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  path_.clear();
}

}  // namespace opd
