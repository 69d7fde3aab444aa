// Files: read whole, mapped, and replaced as a whole.
#pragma once
#include <sys/stat.h>

#include <string>

#include "base/bytes.h"

namespace opd {

// A file that is open for reading; closed with the object.
class InputFile {
 public:
  explicit InputFile(const std::string &path);  // throws unless it is a regular one
  ~InputFile();
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  int fd() const { return fd_; }
  const std::string &path() const { return path_; }
  struct stat state() const;                       // as it is now
  std::string read(size_t most = SIZE_MAX) const;  // from its start to its end, whatever size it claims to have

 private:
  std::string path_;
  int fd_;
};

std::string read_file(const std::string &path);

// Writes a file as a whole: see OutputFile.
void replace_file(const std::string &path, std::string_view content);
// Writes a file that only this process reads, and that need not survive a crash: for compilers and linkers.
void write_scratch_file(const std::string &path, std::string_view content);

// Ends a mapping of `size` bytes: all of its pages, as the system does anyway. ThreadSanitizer takes the size as it is
// given, and would go on to guard the rest of the last page.
void unmap(const void *data, size_t size);

class MappedFile {
 public:
  explicit MappedFile(const std::string &path);
  explicit MappedFile(const InputFile &file);
  MappedFile(int fd, size_t size, const std::string &name);  // the descriptor may be closed afterwards
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  Bytes bytes() const { return {data_, size_}; }

 private:
  const uint8_t *data_ = nullptr;
  size_t size_ = 0;
};

// Whether the process may write a file of that size, in memory too: going beyond RLIMIT_FSIZE ends it with a signal.
bool may_write_file(size_t size);

std::string error_text(int error_number);  // what the system calls it: "No such file or directory"
[[noreturn]] void fail_errno(const std::string &action, const std::string &path, int error_number);

}  // namespace opd
