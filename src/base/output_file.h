// A file that is written as a whole: readers see the old content or the new one, never a part. Depends on the system
// only, so that the command-line program, which sees no other internals of the library, shares it.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

namespace opd {

// A path is one of three:
// - A regular file, or nothing yet: the bytes go to a new file in the same directory, which takes the old one's owner
// and mode, is synchronised with the disk, and is renamed to it. A symbolic link stays; the file that it leads to is
// replaced. The new file has no name until it is complete where the file system allows that, so that no part of it is
// left behind when the process is ended.
// - Something else (a device, a FIFO): written in place, since a regular file in its place would be an accident.
// - One of the process's own descriptors (/dev/stdout, /dev/fd/N, /proc/self/fd/N): written at its current position.
class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile();  // without commit() the old file stays as it is
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  // Each returns 0 or an errno; after an errno only the destructor may follow. If a replacement would exceed the limit
  // on file sizes (ulimit -f), the result is EFBIG and no signal; if a FIFO has no reader, it is EPIPE and no signal.
  int open(const std::string &path);
  int write(std::string_view bytes);
  int commit();

 private:
  int open_in_place(const std::string &path);
  int open_beside();
  int take_name();

  int fd_ = -1;
  std::string target_;     // is replaced by commit(); "" if the bytes are written in place
  std::string temporary_;  // the new file's name; "" while it has none
  size_t size_ = 0;
  bool replaces_ = false;  // a file exists, of the mode and owner below
  mode_t mode_ = 0;
  uid_t owner_ = 0;
  gid_t group_ = 0;
};

}  // namespace opd
