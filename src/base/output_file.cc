#include "base/output_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/random_bytes.h"

namespace opd {
namespace {

constexpr int kMostLinks = 40;  // the kernel's limit
constexpr int kMostNames = 16;  // Number of tries. With 64 random bits, the first name is free in practice.

// Returns N if the path names descriptor N of this process, else -1.
int own_descriptor(const std::string &path) {
  for (const std::string_view start : {"/proc/self/fd/", "/dev/fd/"})
    if (path.starts_with(start)) {
      const char *digits = path.c_str() + start.size();
      char *end = nullptr;
      const long number = *digits >= '0' && *digits <= '9' ? std::strtol(digits, &end, 10) : -1;
      return number >= 0 && number < 1 << 30 && !*end ? static_cast<int>(number) : -1;
    }
  return -1;
}

std::string directory_of(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Whether a link is in /proc. Such links lead to open files of a process, which may have no name, so no rename can
// replace them.
bool is_of_proc(const struct stat &link) {
  struct stat proc {};
  return ::stat("/proc/self", &proc) == 0 && link.st_dev == proc.st_dev;
}

// Follows symbolic links, even to a file that does not exist yet. Stops at the path of a descriptor.
int follow_links(std::string &path) {
  for (int i = 0; i < kMostLinks; ++i) {
    struct stat info {};
    if (own_descriptor(path) >= 0 || ::lstat(path.c_str(), &info) || !S_ISLNK(info.st_mode) || is_of_proc(info))
      return 0;
    char text[4096];
    const ssize_t size = ::readlink(path.c_str(), text, sizeof text);
    if (size < 0) return errno;
    if (size == sizeof text) return ENAMETOOLONG;
    const std::string target(text, static_cast<size_t>(size));
    path = target.starts_with('/') ? target : directory_of(path) + "/" + target;
  }
  return ELOOP;
}

// The name cannot be guessed, so no other user can have put a file or link there.
std::string random_name(const std::string &directory) {
  char text[32];
  std::snprintf(text, sizeof text, "/.opdyno-%016llx.tmp", draw_unique<unsigned long long>());
  return directory + text;
}

// Blocks SIGPIPE, which write() to a pipe without a reader raises. It would kill a process that does not expect it.
class PipeSignalBlock {
 public:
  PipeSignalBlock() {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalBlock() {
    const int error = errno;
    const timespec at_once{};
    // Discards the SIGPIPE of this object's own write(), but not one that was pending before.
    if (error == EPIPE && !was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

}  // namespace

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

int OutputFile::open(const std::string &path) {
  std::string target = path;
  if (const int error = follow_links(target)) return error;
  if (const int number = own_descriptor(target); number >= 0) {
    fd_ = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
    return fd_ < 0 ? errno : 0;
  }
  struct stat info {};
  replaces_ = ::stat(target.c_str(), &info) == 0;
  if (!replaces_ && errno != ENOENT) return errno;
  struct stat link {};
  if (replaces_ && (!S_ISREG(info.st_mode) || (::lstat(target.c_str(), &link) == 0 && S_ISLNK(link.st_mode))))
    return open_in_place(target);
  if (replaces_ && ::access(target.c_str(), W_OK)) return errno;  // renaming would bypass a write protection
  mode_ = info.st_mode & 07777;
  owner_ = info.st_uid, group_ = info.st_gid;
  target_ = std::move(target);
  return open_beside();
}

int OutputFile::open_in_place(const std::string &path) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
  return fd_ < 0 ? errno : 0;
}

int OutputFile::open_beside() {
  const std::string directory = directory_of(target_);
  if (::access("/proc/self/fd", X_OK) == 0) {  // needed to name the file later
    fd_ = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd_ >= 0) return 0;
  }
  for (int i = 0; i < kMostNames; ++i) {
    std::string name = random_name(directory);
    fd_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd_ >= 0) temporary_ = std::move(name);
    if (fd_ >= 0 || errno != EEXIST) return fd_ >= 0 ? 0 : errno;
  }
  return EEXIST;
}

int OutputFile::write(std::string_view bytes) {
  rlimit limit{};
  if (!target_.empty() && ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      bytes.size() > limit.rlim_cur - std::min<rlim_t>(size_, limit.rlim_cur))
    return EFBIG;
  const PipeSignalBlock block;
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
    size_ += static_cast<size_t>(n);
  }
  return 0;
}

// Gives the nameless file a temporary name, because no system call replaces a file by a nameless one.
int OutputFile::take_name() {
  const std::string from = "/proc/self/fd/" + std::to_string(fd_), directory = directory_of(target_);
  for (int i = 0; i < kMostNames; ++i) {
    std::string name = random_name(directory);
    const int failed = ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
    if (!failed) temporary_ = std::move(name);
    if (!failed || errno != EEXIST) return failed ? errno : 0;
  }
  return EEXIST;
}

int OutputFile::commit() {
  if (!target_.empty()) {
    // The owner is set first, because changing it clears bits of the mode. If the process is not root, it can only set
    // the group.
    if (replaces_ && ::fchown(fd_, owner_, group_) && ::fchown(fd_, static_cast<uid_t>(-1), group_)) errno = 0;
    if (replaces_ && ::fchmod(fd_, mode_)) return errno;
    if (::fsync(fd_) && errno != EINVAL && errno != EROFS) return errno;
    if (temporary_.empty())
      if (const int error = take_name()) return error;
  }
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed && errno != EINTR) return errno;
  if (target_.empty()) return 0;
  if (::rename(temporary_.c_str(), target_.c_str())) return errno;
  temporary_.clear();
  return 0;
}

}  // namespace opd
