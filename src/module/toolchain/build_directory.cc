#include "module/toolchain/build_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "module/toolchain/content_hash.h"

namespace opd {
namespace {

constexpr char kSealMark[9] = "opdyno01";  // at the end of a cached library, before the content's hash
constexpr size_t kSealBytes = 16;

constexpr std::string_view kStart = "opdyno-build-";

// Locks a directory of this user and returns its descriptor; -1 if it cannot be locked or has been removed. The lock
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

uint64_t hash_of(std::string_view content) { return ContentHash().add(content).low(); }

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
    // Before the lock, another process may have removed the directory as abandoned: then make a new one.
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

std::optional<std::string> read_sealed(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) || !S_ISREG(info.st_mode) || ::access(path.c_str(), R_OK)) return std::nullopt;
  std::string content = read_file(path);
  if (content.size() < kSealBytes || content.compare(content.size() - kSealBytes, 8, kSealMark)) return std::nullopt;
  uint64_t expected;
  std::memcpy(&expected, content.data() + content.size() - 8, 8);
  content.resize(content.size() - kSealBytes);
  if (hash_of(content) != expected) return std::nullopt;
  return content;
}

KeptLibrary keep_sealed(const std::string &library, const std::string &directory, const std::string &key) {
  std::string content = read_file(library);
  const std::string target =
      concat(directory, "/", key.empty() ? ContentHash().add("content").add(content).hex() : key, ".so");
  ByteWriter seal;
  seal.write_bytes(kSealMark, 8);
  seal.write(hash_of(content));
  const int fd = ::open(library.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const std::string bytes = seal.take();
  const bool sealed = fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                      ::fchmod(fd, 0700) == 0;
  if (fd >= 0) ::close(fd);
  if (!sealed || ::rename(library.c_str(), target.c_str()))
    fail_errno("cannot keep the compiled library as", target, errno);
  return {target, std::move(content)};
}

}  // namespace opd
