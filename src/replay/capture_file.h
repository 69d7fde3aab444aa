// A capture's file while it is written. The data from before the call are written to a temporary file, which is
// renamed to the path when complete. Later data are appended. So even after a crash, the file at the path has all that
// is needed to make the call.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

#include "replay/blocks.h"

namespace opd {

// The absolute path. Throws unless a capture can be written there: it is free or of a regular file, and its directory
// can be written.
std::string checked_capture_path(const std::string &path);

// A process that was forked meanwhile shares the file with its parent. There, all of this does nothing.
class CaptureFile {
 public:
  explicit CaptureFile(const std::string &path);  // throws
  ~CaptureFile();                                 // a file that was not placed is removed
  CaptureFile(const CaptureFile &) = delete;
  CaptureFile &operator=(const CaptureFile &) = delete;

  void add(BlockKind kind, std::string_view content);
  void place();  // gives it the path

  struct Mark {
    uint64_t size = 0;
    uint32_t blocks = 0;
  };
  Mark mark() const { return {size_, blocks_}; }
  void return_to(Mark mark);  // removes what was added since
  void remove();              // the file, if it has its path

 private:
  bool is_of_parent() const;
  void write(std::string_view bytes);

  std::string path_, temporary_;  // `temporary_` is "" once it has its path
  int fd_ = -1;
  const pid_t process_;
  uint64_t size_ = 0;
  uint32_t blocks_ = 0;
};

}  // namespace opd
