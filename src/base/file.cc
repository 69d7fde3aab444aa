#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace opd {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() { if (fd >= 0) ::close(fd); }
};

Descriptor open_regular(const std::string &path, struct stat &info) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0 || fstat(file.fd, &info)) fail_errno("cannot open", path, errno);
  if (!S_ISREG(info.st_mode)) fail(OPD_INVALID_ARGUMENT, "cannot read ", path, ": not a regular file");
  return Descriptor{std::exchange(file.fd, -1)};
}

}  // namespace

void fail_errno(const std::string &action, const std::string &path, int error_number) {
  char buffer[128];
  const char *reason = strerror_r(error_number, buffer, sizeof buffer);
  fail(error_number == ENOENT ? OPD_NOT_FOUND : OPD_IO, action, " ", path, ": ", reason);
}

std::string read_file(const std::string &path) {
  struct stat info{};
  Descriptor file = open_regular(path, info);
  std::string content(static_cast<size_t>(info.st_size), '\0');
  for (size_t done = 0; done < content.size();) {
    const ssize_t n = ::read(file.fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("cannot read", path, errno);
    if (n == 0) content.resize(done);  // it shrank meanwhile
    done += static_cast<size_t>(n);
  }
  return content;
}

void replace_file(const std::string &path, std::string_view content) {
  static std::atomic<unsigned> counter{0};
  const std::string temporary = concat(path, ".", ::getpid(), ".", counter.fetch_add(1), ".tmp");
  const auto give_up = [&](int error_number) {
    ::unlink(temporary.c_str());
    fail_errno("cannot write", path, error_number);
  };
  {
    Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (file.fd < 0) fail_errno("cannot write", path, errno);
    for (size_t done = 0; done < content.size();) {
      const ssize_t n = ::write(file.fd, content.data() + done, content.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) give_up(errno);
      done += static_cast<size_t>(n);
    }
  }
  if (::rename(temporary.c_str(), path.c_str())) give_up(errno);
}

MappedFile::MappedFile(const std::string &path) {
  struct stat info{};
  Descriptor file = open_regular(path, info);
  size_ = static_cast<size_t>(info.st_size);
  if (size_ == 0) return;
  void *mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (mapped == MAP_FAILED) fail_errno("cannot map", path, errno);
  data_ = static_cast<const uint8_t *>(mapped);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<uint8_t *>(data_), size_);
}

}  // namespace opd
