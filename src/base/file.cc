#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/output_file.h"

namespace opd {

std::string error_text(int error_number) {
  char buffer[128];
  return ::strerror_r(error_number, buffer, sizeof buffer);  // GNU form: the returned text may lie outside the buffer
}

void fail_errno(const std::string &action, const std::string &path, int error_number) {
  if (error_number == ENOENT)
    fail_as("FileNotFoundError", OPD_NOT_FOUND, action, " ", path, ": ", error_text(error_number));
  fail_as(error_number == EACCES ? "PermissionError" : "OSError", OPD_IO, action, " ", path, ": ",
          error_text(error_number));
}

InputFile::InputFile(const std::string &path)
    : path_(path),
      file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // otherwise opening a FIFO waits for a writer
  if (fd() < 0) fail_errno("cannot open", path, errno);
  if (!S_ISREG(state().st_mode)) fail(OPD_INVALID_ARGUMENT, "cannot read ", path, ": not a regular file");
}

struct stat InputFile::state() const {
  struct stat info {};
  if (::fstat(fd(), &info)) fail_errno("cannot open", path_, errno);
  return info;
}

std::string InputFile::read(size_t most) const {
  // Files in /proc report size 0 until they are read. Other files may grow or shrink during the read.
  constexpr size_t kStep = 4096;
  const auto stated = static_cast<size_t>(state().st_size);
  // one byte more: no resize is needed to find the end
  std::string content(std::min(most, stated > 0 ? stated + 1 : kStep), '\0');
  size_t done = 0;
  while (done < most) {
    if (done == content.size()) content.resize(std::min(most, 2 * content.size() + kStep));
    const ssize_t n = ::pread(fd(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("cannot read", path_, errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  content.resize(done);
  return content;
}

std::string read_file(const std::string &path) { return InputFile(path).read(); }

std::string file_identity(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) || !S_ISREG(info.st_mode)) return "";
  return concat(path, " ", info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

void replace_file(const std::string &path, std::string_view content) {
  OutputFile file;
  int error = file.open(path);
  if (!error) error = file.write(content);
  if (!error) error = file.commit();
  if (error) fail_errno("cannot write", path, error);
}

void write_scratch_file(const std::string &path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) fail_errno("cannot write", path, errno);
  if (!may_write_file(content.size())) fail_errno("cannot write", path, EFBIG);
  while (!content.empty()) {
    const ssize_t n = ::write(file.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("cannot write", path, errno);
    content.remove_prefix(static_cast<size_t>(n));
  }
}

bool may_write_file(size_t size) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

void unmap(const void *data, size_t size) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  ::munmap(const_cast<void *>(data), (size + page - 1) / page * page);
}

void advise_huge_pages(void *data, size_t size) noexcept {
  constexpr uintptr_t kHuge = uintptr_t{2} << 20;
  const auto begin = (reinterpret_cast<uintptr_t>(data) + kHuge - 1) & ~(kHuge - 1);
  const auto end = (reinterpret_cast<uintptr_t>(data) + size) & ~(kHuge - 1);
  if (begin < end) ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
}

MappedFile::MappedFile(int fd, size_t size, const std::string &name) : size_(size) {
  if (size_ == 0) return;
  void *mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) fail_errno("cannot map", name, errno);
  data_ = static_cast<const uint8_t *>(mapped);
}

MappedFile::~MappedFile() {
  if (data_) unmap(data_, size_);
}

}  // namespace opd
