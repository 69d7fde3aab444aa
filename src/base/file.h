// Reads, maps and replaces whole files.
#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/bytes.h"

namespace opd {

// Owns a file descriptor; -1: none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor &&from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&from) noexcept { return std::swap(fd_, from.fd_), *this; }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A regular file opened for reading.
class InputFile {
 public:
  explicit InputFile(const std::string &path);  // throws if it is not a regular file

  int fd() const { return file_.get(); }
  const std::string &path() const { return path_; }
  struct stat state() const;                       // the current state
  std::string read(size_t most = SIZE_MAX) const;  // the whole content, whatever size state() reports

 private:
  std::string path_;
  Descriptor file_;
};

std::string read_file(const std::string &path);

// Returns the path, inode, size and time of the last change; "" if the path is not a regular file. This identifies
// compilers and their libraries, whose version may stay the same after an update.
std::string file_identity(const std::string &path);

// Writes a file as a whole: see OutputFile.
void replace_file(const std::string &path, std::string_view content);
// Writes a file for compilers and linkers that this process starts. It need not survive a crash.
void write_scratch_file(const std::string &path, std::string_view content);

// Unmaps all pages of a mapping of `size` bytes. munmap() rounds the size up to whole pages, but ThreadSanitizer does
// not: it would continue to watch the rest of the last page.
void unmap(const void *data, size_t size);

// Requests huge pages for a large block before it is written. Page faults of 4-KiB pages would cost more than the copy.
void advise_huge_pages(void *data, size_t size) noexcept;

class MappedFile {
 public:
  MappedFile(int fd, size_t size, const std::string &name);  // the descriptor may be closed afterwards
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  Bytes bytes() const { return {data_, size_}; }

 private:
  const uint8_t *data_ = nullptr;
  size_t size_ = 0;
};

// Whether RLIMIT_FSIZE permits a file of that size, including one in memory. Writing beyond it raises SIGXFSZ, which
// kills the process.
bool may_write_file(size_t size);

std::string error_text(int error_number);  // such as "No such file or directory"
[[noreturn]] void fail_errno(const std::string &action, const std::string &path, int error_number);

}  // namespace opd
