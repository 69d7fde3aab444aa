#include "base/cache_directory.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/environment.h"
#include "base/file.h"

namespace opd {
namespace {

std::string home_directory() {
  if (const std::string home = environment("HOME"); home.starts_with('/')) return home;
  char buffer[4096];
  passwd entry{}, *found = nullptr;
  return ::getpwuid_r(::geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found && found->pw_dir ? found->pw_dir
                                                                                                         : "";
}

// Makes the directory if absent. Returns "" if this user owns it and can use it, and no other user can write to it.
// Otherwise returns the reason.
std::string make_private(const std::string &directory) {
  for (size_t at = 1; at != std::string::npos;) {
    at = directory.find('/', at);
    const std::string part = directory.substr(0, at);
    if (::mkdir(part.c_str(), 0700) && errno != EEXIST) return concat("cannot make ", part, ": ", error_text(errno));
    if (at != std::string::npos) ++at;
  }
  struct stat info {};
  if (::stat(directory.c_str(), &info) || !S_ISDIR(info.st_mode)) return concat(directory, " is not a directory");
  if (info.st_uid != ::geteuid()) return concat(directory, " belongs to another user");
  if (info.st_mode & (S_IWGRP | S_IWOTH)) return concat("others may write to ", directory, ": run chmod 700 on it");
  if (::access(directory.c_str(), R_OK | W_OK | X_OK))
    return concat("cannot write to ", directory, ": ", error_text(errno));
  return "";
}

}  // namespace

std::string cache_directory(const std::string &wanted) {
  const std::string chosen = wanted.empty() ? environment("OPDYNO_CACHE_DIR") : wanted;
  if (!chosen.empty()) {
    const std::string problem = make_private(chosen);
    if (!problem.empty()) fail(OPD_IO, "the cache directory cannot be used: ", problem);
    return chosen;
  }
  struct Usual {
    std::string directory, existing;  // `existing`: a parent that is not made
  };
  std::vector<Usual> usual;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); xdg.starts_with('/'))
    usual.push_back({xdg + "/opdyno", "/"});
  // The home of a service's user often does not exist, on purpose.
  if (const std::string home = home_directory(); !home.empty()) usual.push_back({home + "/.cache/opdyno", home});
  usual.push_back({concat("/tmp/opdyno-", ::geteuid()), "/tmp"});
  std::string problems;
  for (const auto &[directory, existing] : usual) {
    const bool exists = ::access(existing.c_str(), F_OK) == 0;
    const std::string problem = exists ? make_private(directory) : concat(existing, " does not exist");
    if (problem.empty()) return directory;
    problems += concat(problems.empty() ? "" : "; ", problem);
  }
  fail(OPD_IO, "no cache directory can be used: ", problems, "; set OPDYNO_CACHE_DIR");
}

// ---- the directory's files

namespace {

constexpr char kSealMark[9] = "opdyno01";  // stands after the content, before its hash
constexpr size_t kSealBytes = 16;

uint64_t hash_of(std::string_view content) { return ContentHash().add(content).low(); }

namespace fs = std::filesystem;

// Whether the library gives such names to its files. A directory may also contain other files of its owner.
bool is_kept_name(std::string_view name, std::string_view suffix) {
  constexpr size_t kDigits = 32;  // length of a hash
  return name.size() == kDigits + suffix.size() && name.ends_with(suffix) &&
         name.find_first_not_of("0123456789abcdef") == kDigits;
}

// Removes the least recently used files until at most `most_bytes` are left.
void shrink(const std::string &directory, std::string_view suffix, uintmax_t most_bytes) {
  struct File {
    fs::path path;
    fs::file_time_type used;
    uintmax_t bytes;
  };
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // another process may remove it
    if (!is_kept_name(at->path().filename().native(), suffix) || !at->is_regular_file(gone)) continue;
    const File file{at->path(), at->last_write_time(gone), at->file_size(gone)};
    if (!gone) files.push_back(file);
  }
  std::sort(files.begin(), files.end(), [](const File &a, const File &b) { return a.used > b.used; });
  uintmax_t bytes = 0;
  for (const File &file : files) {
    bytes += file.bytes;
    std::error_code ignored;
    if (bytes > most_bytes) fs::remove(file.path, ignored);
  }
}

}  // namespace

size_t most_kept_bytes() { return bytes_from_environment("OPDYNO_KEPT_PROGRAMS_MB", 256); }

std::optional<std::string> read_sealed(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) || !S_ISREG(info.st_mode) || ::access(path.c_str(), R_OK)) return std::nullopt;
  if (info.st_uid != ::geteuid() || info.st_mode & (S_IWGRP | S_IWOTH)) return std::nullopt;
  std::string content = read_file(path);
  if (content.size() < kSealBytes || content.compare(content.size() - kSealBytes, 8, kSealMark)) return std::nullopt;
  uint64_t expected;
  std::memcpy(&expected, content.data() + content.size() - 8, 8);
  content.resize(content.size() - kSealBytes);
  if (hash_of(content) != expected) return std::nullopt;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // marks the file as used now
  return content;
}

KeptFile keep_sealed(const std::string &file, const std::string &directory, const std::string &key,
                     std::string_view suffix) {
  std::string content = read_file(file);
  const std::string target =
      concat(directory, "/", key.empty() ? ContentHash().add("content").add(content).hex() : key, suffix);
  ByteWriter seal;
  seal.write_bytes(kSealMark, 8);
  seal.write(hash_of(content));
  if (!may_write_file(content.size() + kSealBytes)) fail_errno("cannot keep the compiled library as", target, EFBIG);
  const size_t most = most_kept_bytes();
  shrink(directory, suffix, most - std::min(most, content.size()));
  const Descriptor made(::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string bytes = seal.take();
  const bool sealed = made.get() >= 0 &&
                      ::write(made.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                      ::fchmod(made.get(), 0700) == 0;
  if (!sealed || ::rename(file.c_str(), target.c_str()))
    fail_errno("cannot keep the compiled library as", target, errno);
  return {target, std::move(content)};
}

// ---- working directories

namespace {

constexpr std::string_view kStart = "opdyno-build-";

// Locks a directory of this user. Returns none if it cannot be locked or was removed. The lock ends with the process.
Descriptor lock(const std::string &path, int how) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat ours {
  }, there{};
  const bool is_locked = ::fstat(fd.get(), &ours) == 0 && ours.st_uid == ::geteuid() && ::flock(fd.get(), how) == 0 &&
                         ::lstat(path.c_str(), &there) == 0 && there.st_ino == ours.st_ino;
  return is_locked ? std::move(fd) : Descriptor();
}

void remove_abandoned(const std::string &parent) {
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(kStart)) continue;
    const Descriptor locked = lock(entry.path().string(), LOCK_EX | LOCK_NB);
    if (locked.get() >= 0) std::filesystem::remove_all(entry.path(), ignored);
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
  } while (lock_.get() < 0 && ::access(path_.c_str(), F_OK));
}

BuildDirectory::~BuildDirectory() {
  if (stays_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

// ---- compiled kernels

namespace {

constexpr std::string_view kSuffix = ".program";

}  // namespace

KeptProgram::KeptProgram(std::string_view wanted, const ContentHash &made_of)
    : most_bytes_(most_kept_bytes()), key_(made_of.hex()) {
  if (most_bytes_ == 0) return;
  try {
    directory_ = cache_directory(std::string(wanted));
  } catch (const std::exception &) {}  // the directory stays ""
}

std::string KeptProgram::path() const { return concat(directory_, "/", key_, kSuffix); }

void KeptProgram::keep(std::string_view code) const {
  if (directory_.empty() || code.size() > most_bytes_) return;
  try {
    const BuildDirectory build(directory_);
    write_scratch_file(build.file("code"), code);
    keep_sealed(build.file("code"), directory_, key_, kSuffix);
  } catch (const std::exception &) {}  // the program also runs without a kept file
}

}  // namespace opd
