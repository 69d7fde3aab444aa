// The format of a capture's file: a header of 16 bytes, then blocks, each with its type, its size and checksums.
// Numbers are little-endian.
//
//   header  magic, version, 0
//   block   type, number of the block, size of its content, checksum of these three; checksum of the content
//
// The blocks up to kReady are needed to make the call. They are written before the call begins; the others follow while
// it runs. So a file without kEnd has a call that did not end, and its last block may be cut off. Both checksums
// include the header, so every changed byte is noticed.
#pragma once
#include <sys/types.h>

#include <array>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace opd {

inline constexpr std::array<char, 8> kCaptureMagic{'o', 'p', 'd', 'y', 'n', 'o', 'R', '1'};
inline constexpr uint32_t kCaptureVersion = 1;

enum class BlockKind : uint32_t {
  kAbout = 1,     // the process that the call ran in
  kModule = 2,    // one of the program's modules, imports first; the last one is the program
  kCall = 3,      // function, options, names of arguments
  kValue = 4,     // an argument
  kReady = 5,     // empty: the call begins
  kHostCall = 6,  // an ended call of a host function
  kOperator = 7,  // an ended operator, and a hash of the contents it left
  kEnd = 8        // how the call ended
};

struct BlockHead {
  BlockKind kind;
  uint32_t number;
  uint64_t size;        // size of the content
  uint64_t head_check;  // checksum of the members before it
  uint64_t low, high;   // hash of the content
};
static_assert(sizeof(BlockHead) == 40);

std::string capture_header();
BlockHead head_of(BlockKind kind, uint32_t number, std::string_view content);

struct Block {
  BlockKind kind;
  Bytes content;
  size_t offset;  // offset of the content in the file
};

class BlockReader {
 public:
  // Throws unless the bytes begin with a header of a known version. `name` is the file's name, for messages. Both
  // arguments must outlive the reader.
  BlockReader(Bytes bytes, const char *name);
  std::optional<Block> next();             // none at the end
  bool is_cut() const { return is_cut_; }  // the last block is incomplete
  const char *name() const { return name_; }

 private:
  const char *name_;
  ByteReader bytes_;
  uint32_t number_ = 0;
  bool is_cut_ = false;
};

// Returns the absolute path. Throws unless a capture can be written there: the path must be free or a regular file, and
// its directory writable.
std::string checked_capture_path(const std::string &path);

// Writes a capture's file. The data from before the call go to a temporary file, which is renamed to the path when
// complete. Later data are appended. So even after a crash, the file at the path has everything needed to make the
// call.
//
// A process that is forked while the file is open shares the file with its parent. In the child, all functions do
// nothing.
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
  // removes the file if it has its path
  void remove() {
    if (temporary_.empty() && !is_of_parent()) ::unlink(path_.c_str());
  }

 private:
  bool is_of_parent() const { return ::getpid() != process_; }
  void write(std::string_view bytes);

  std::string path_, temporary_;  // `temporary_` is "" once the file has its path
  int fd_ = -1;
  const pid_t process_;
  uint64_t size_ = 0;
  uint32_t blocks_ = 0;
};

}  // namespace opd
