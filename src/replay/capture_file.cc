#include "replay/capture_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/file.h"

namespace opd {
namespace {

// Resolves symbolic links, so that the file behind a link is replaced or created. A rename to the link's own path would
// replace the link.
std::string target_of(const std::string &path) {
  constexpr int kMostLinks = 40;  // Linux's limit
  namespace fs = std::filesystem;
  struct stat info {};
  if (::stat(path.c_str(), &info) && errno != ENOENT) fail_errno("cannot write", path, errno);
  // A rename would replace a device or a pipe. The mode is 0 if nothing exists at the path.
  if (info.st_mode && !S_ISREG(info.st_mode))
    fail(OPD_INVALID_ARGUMENT, "cannot record to ", path, ": not a regular file");
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(target, error)); ++i) {
    const fs::path link = fs::read_symlink(target, error);
    if (error) fail_errno("cannot write", path, error.value());
    target = target.parent_path() / link;  // equals `link` if that is absolute
  }
  return target;
}

// Creates and opens a file beside `path`, which becomes its name: a rename works only within one file system. Only the
// owner can read the file, because it has a call's data.
int open_beside(std::string &path) {
  path += ".XXXXXX";
  return ::mkostemp(path.data(), O_CLOEXEC);
}

}  // namespace

std::string checked_capture_path(const std::string &path) {
  std::error_code error;
  const std::string whole = std::filesystem::absolute(path, error).string();  // absolute, because a program may change
                                                                              // its directory
  if (error) fail_errno("cannot write", path, error.value());
  // Creates a file as a test, because permissions alone do not reveal a read-only file system. At this time the caller
  // can still choose another path; once the call has begun, it cannot.
  std::string probe = target_of(whole);
  const int fd = open_beside(probe);
  if (fd < 0) fail_errno("cannot write", path, errno);
  ::close(fd);
  ::unlink(probe.c_str());
  return whole;
}

CaptureFile::CaptureFile(const std::string &path) : path_(target_of(path)), temporary_(path_), process_(::getpid()) {
  fd_ = open_beside(temporary_);
  if (fd_ < 0) fail_errno("cannot write", path_, errno);
  try {
    write(capture_header());
  } catch (...) {
    ::close(fd_);
    ::unlink(temporary_.c_str());
    throw;
  }
}

CaptureFile::~CaptureFile() {
  ::close(fd_);
  // A child of fork() keeps the file, because the parent is still writing it.
  if (!temporary_.empty() && !is_of_parent()) ::unlink(temporary_.c_str());
}

bool CaptureFile::is_of_parent() const { return ::getpid() != process_; }

void CaptureFile::add(BlockKind kind, std::string_view content) {
  if (is_of_parent()) return;
  // If the process dies between the two writes, the last block is cut off. Readers accept that (replay/blocks.h).
  const BlockHead head = head_of(kind, blocks_, content);
  write({reinterpret_cast<const char *>(&head), sizeof head});
  write(content);
  ++blocks_;
}

void CaptureFile::place() {
  if (temporary_.empty() || is_of_parent()) return;
  // The rename is atomic: the path has either the earlier capture or everything before this call. Nothing is synced: a
  // crash of the process loses no written bytes, only a crash of the system does.
  if (::rename(temporary_.c_str(), path_.c_str())) fail_errno("cannot write", path_, errno);
  temporary_.clear();
}

void CaptureFile::return_to(Mark mark) {
  if (is_of_parent()) return;
  // ftruncate() leaves the file position after the new end, so it is set as well.
  if (::ftruncate(fd_, static_cast<off_t>(mark.size)) || ::lseek(fd_, static_cast<off_t>(mark.size), SEEK_SET) < 0)
    fail_errno("cannot write", path_, errno);
  size_ = mark.size, blocks_ = mark.blocks;
}

void CaptureFile::remove() {
  if (temporary_.empty() && !is_of_parent()) ::unlink(path_.c_str());
}

void CaptureFile::write(std::string_view bytes) {
  if (!may_write_file(size_ + bytes.size())) fail_errno("cannot write", path_, EFBIG);
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("cannot write", path_, errno);
    size_ += static_cast<uint64_t>(n);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace opd
