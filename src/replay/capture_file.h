// Writes a capture's file. The data from before the call go to a temporary file, which is renamed to the path when
// complete. Later data are appended. So even after a crash, the file at the path has everything needed to make the
// call.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

#include "replay/blocks.h"

namespace opd {

// Returns the absolute path. Throws unless a capture can be written there: the path must be free or a regular file, and
// its directory writable.
std::string checked_capture_path(const std::string &path);

// A process that is forked meanwhile shares the file with its parent. In the child, all functions do nothing.
class CaptureFile {
 public:
  explicit CaptureFile(const std::string &path);  // throws
  ~CaptureFile();                                 // removes the file if it was not placed
  CaptureFile(const CaptureFile &) = delete;
  CaptureFile &operator=(const CaptureFile &) = delete;

  void add(BlockKind kind, std::string_view content);
  void place();  // renames the file to the path

  struct Mark {
    uint64_t size = 0;
    uint32_t blocks = 0;
  };
  Mark mark() const { return {size_, blocks_}; }
  void return_to(Mark mark);  // removes blocks that were added since the mark
  void remove();              // removes the file if it has its path

 private:
  bool is_of_parent() const;
  void write(std::string_view bytes);

  std::string path_, temporary_;  // `temporary_` is "" once the file has its path
  int fd_ = -1;
  const pid_t process_;
  uint64_t size_ = 0;
  uint32_t blocks_ = 0;
};

}  // namespace opd
