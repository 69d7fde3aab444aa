// The socket path on which a process listens.
#pragma once
#include <sys/types.h>

#include <string>

namespace opd {

// A listening Unix socket, bound to a path, that only its user may open.
class Endpoint {
 public:
  // Replaces a stale socket, but neither one on which a process listens nor another file. Takes at most a fraction of a
  // second. Throws OPD_IO, or OPD_INVALID_ARGUMENT if the path is too long.
  void open(const std::string &path);
  int fd() const { return fd_; }
  // Removes the path if it still belongs to this socket.
  void remove() noexcept;
  // Called in a forked child, where the socket and its path are the parent's.
  void forget() noexcept;

 private:
  int fd_ = -1;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace opd
