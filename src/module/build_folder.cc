#include "module/build_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "module/content_hash.h"

namespace opd {
namespace {

constexpr char kSealMark[9] = "opdyno01";  // ends a cached library, before the hash of what precedes it
constexpr size_t kSealBytes = 16;

uint64_t hash_of(std::string_view content) { return ContentHash().add(content).low(); }

}  // namespace

BuildFolder::BuildFolder(const std::string &parent, bool is_itself)
    : path_(is_itself ? parent : parent + "/build-XXXXXX"), stays_(is_itself) {
  if (stays_) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) fail_errno("cannot make the folder", path_, error.value());
    path_ = std::filesystem::absolute(path_).string();  // compilers and assemblers look for files elsewhere, too
    return;
  }
  if (!::mkdtemp(path_.data())) fail_errno("cannot make a folder in", parent, errno);
}

BuildFolder::~BuildFolder() {
  if (stays_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string BuildFolder::shown(std::string text) const {
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

std::string keep_sealed(const std::string &library, const std::string &target) {
  std::string content = read_file(library);
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
  return content;
}

}  // namespace opd
