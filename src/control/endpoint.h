// The place in the file system at which a process listens.
#pragma once
#include <sys/types.h>

#include <string>

namespace opd {

// A listening Unix socket that only its user may open, bound to a path.
class Endpoint {
 public:
  // Replaces a socket that no process listens on any more. Nothing is replaced if a process listens, or if the path is
  // no socket. Takes a fraction of a second at most. Throws OPD_IO, or OPD_INVALID_ARGUMENT for a path that is too
  // long.
  void open(const std::string &path);
  int fd() const { return fd_; }
  // Removes the path if it is still this socket's.
  void remove() noexcept;
  // In a forked child: the socket and its path are the parent's.
  void forget() noexcept;

 private:
  int fd_ = -1;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace opd
