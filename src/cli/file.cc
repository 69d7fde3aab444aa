// Files and standard streams, where every failed read or write is an error with the system's reason.
#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "failure.h"
#include "text.h"

namespace opd::cli {

namespace {

class Descriptor {
 public:
  Descriptor(const std::string &path, int flags, const char *action)
      : fd_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail_errno(action, path, errno);
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int get() const { return fd_; }
  int close_now() {
    const int fd = fd_;
    fd_ = -1;
    return close(fd);
  }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string read_all(int fd, const std::string &path) {
  std::string content;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = read(fd, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno("read", path, errno);
    if (got == 0) return content;
    content.append(block, static_cast<size_t>(got));
  }
}

}  // namespace

std::string read_file(const std::string &path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  return read_all(Descriptor(path, O_RDONLY, "open").get(), path);
}

void write_file(const std::string &path, std::string_view content) {
  if (path == "-") return print(content);
  struct stat status;
  const bool is_special = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string target = is_special ? path : cat(path, ".", getpid(), ".tmp");
  Descriptor file(target, is_special ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC, "write");
  if (write_all(file.get(), content) && file.close_now() == 0 &&
      (is_special || rename(target.c_str(), path.c_str()) == 0))
    return;
  const int reason = errno;
  if (!is_special) unlink(target.c_str());
  fail_errno("write", path, reason);
}

void print(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text)) fail_errno("write to", "standard output", errno);
}

void print_message(std::string_view text) { write_all(STDERR_FILENO, text); }

void close_output() {
  if (close(STDOUT_FILENO) != 0 && errno != EBADF) fail_errno("write to", "standard output", errno);
}

bool has_terminal() { return isatty(STDERR_FILENO) == 1; }

}  // namespace opd::cli
