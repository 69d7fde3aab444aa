#include "base/sealed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/content_hash.h"
#include "base/file.h"

namespace opd {
namespace {

constexpr char kSealMark[9] = "opdyno01";  // after the content, before its hash
constexpr size_t kSealBytes = 16;

uint64_t hash_of(std::string_view content) { return ContentHash().add(content).low(); }

}  // namespace

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
