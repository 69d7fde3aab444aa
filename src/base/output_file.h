// A file that is written as a whole: readers see the old content or the new one, never a part. It depends only on the
// system, so that the command-line program can share it. That program sees no other internals of the library.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

namespace opd {

// A path is one of three:
// - A regular file, or nothing yet: the bytes go to a new file in the same directory. The new file gets the old one's
// owner and mode, is synchronised with the disk, and is renamed to it. A symbolic link stays; the file that it leads to
// is replaced. If the file system allows it, the new file has no name until it is complete. So no part of it is left
// behind when the process is ended.
// - Something else (a device, a FIFO): written in place, because replacing it by a regular file would be an accident.
// - One of the process's own descriptors (/dev/stdout, /dev/fd/N, /proc/self/fd/N): written at its current position.
class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile();  // if commit() was not called, the old file stays unchanged
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  // Each function returns 0 or an errno. After an errno, only the destructor may follow. If a replacement would exceed
  // the limit on file sizes (ulimit -f), the result is EFBIG, without a signal. If a FIFO has no reader, the result is
  // EPIPE, without a signal.
  int open(const std::string &path);
  int write(std::string_view bytes);
  int commit();

 private:
  int open_in_place(const std::string &path);
  int open_beside();
  int take_name();

  int fd_ = -1;
  std::string target_;     // commit() replaces this file; "": the bytes are written in place
  std::string temporary_;  // the new file's name; "": it has none
  size_t size_ = 0;
  bool replaces_ = false;  // an old file exists, with the mode and owner below
  mode_t mode_ = 0;
  uid_t owner_ = 0;
  gid_t group_ = 0;
};

}  // namespace opd
