#include "base/build_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace opd {
namespace {

constexpr std::string_view kStart = "opdyno-build-";

// Locks a directory of this user and returns its descriptor. Returns -1 if it cannot be locked or was removed. The lock
// ends with the process.
int lock(const std::string &path, int how) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat ours {
  }, there{};
  const bool is_locked = fd >= 0 && ::fstat(fd, &ours) == 0 && ours.st_uid == ::geteuid() && ::flock(fd, how) == 0 &&
                         ::lstat(path.c_str(), &there) == 0 && there.st_ino == ours.st_ino;
  if (is_locked) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

void remove_abandoned(const std::string &parent) {
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(kStart)) continue;
    const int fd = lock(entry.path().string(), LOCK_EX | LOCK_NB);
    if (fd < 0) continue;
    std::filesystem::remove_all(entry.path(), ignored);
    ::close(fd);
  }
}

}  // namespace

BuildDirectory::BuildDirectory(const std::string &parent, bool is_itself) : stays_(is_itself) {
  if (!stays_) {
    make_in(parent);
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) fail_errno("cannot make the directory", parent, error.value());
  path_ = std::filesystem::absolute(parent).string();  // tools may work in another directory
}

void BuildDirectory::make_in(const std::string &parent) {
  remove_abandoned(parent);
  do {
    path_ = concat(parent, "/", kStart, "XXXXXX");
    if (!::mkdtemp(path_.data())) fail_errno("cannot make a directory in", parent, errno);
    lock_ = lock(path_, LOCK_SH);
    // Before the lock, another process may have removed the directory as abandoned. Then a new one is made.
  } while (lock_ < 0 && ::access(path_.c_str(), F_OK));
}

BuildDirectory::~BuildDirectory() {
  if (stays_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

std::string BuildDirectory::shown(std::string text) const {
  const std::string start = path_ + "/";
  for (size_t at = 0; (at = text.find(start, at)) != std::string::npos;) text.erase(at, start.size());
  return text;
}

}  // namespace opd
