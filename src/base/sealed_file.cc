#include "base/sealed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/content_hash.h"
#include "base/environment.h"
#include "base/file.h"

namespace opd {
namespace {

constexpr char kSealMark[9] = "opdyno01";  // after the content, before its hash
constexpr size_t kSealBytes = 16;

uint64_t hash_of(std::string_view content) { return ContentHash().add(content).low(); }

namespace fs = std::filesystem;

// A directory may also contain other files of its owner.
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
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const std::string bytes = seal.take();
  const bool sealed = fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                      ::fchmod(fd, 0700) == 0;
  if (fd >= 0) ::close(fd);
  if (!sealed || ::rename(file.c_str(), target.c_str()))
    fail_errno("cannot keep the compiled library as", target, errno);
  return {target, std::move(content)};
}

}  // namespace opd
