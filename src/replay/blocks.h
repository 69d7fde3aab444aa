// The form of a capture's file: a header of 16 bytes, then blocks, each with its type, its size and checksums.
// Numbers are little-endian.
//
//   header  magic, version, 0
//   block   type, number of the block, size of its content, checksum of these three; checksum of the content
//
// The blocks up to kReady are what leads to the call. They are in the file before the call begins; the others follow
// while it runs. So a file without kEnd is of a call that did not end. A block that is cut off at the end of such a
// file was being written. Both checksums include the header, so that no byte of a file can change unnoticed.
#pragma once
#include <array>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace opd {

inline constexpr std::array<char, 8> kCaptureMagic{'o', 'p', 'd', 'y', 'n', 'o', 'R', '1'};
inline constexpr uint32_t kCaptureVersion = 1;

enum class BlockKind : uint32_t {
  kAbout = 1,     // of the process that the call ran in
  kModule = 2,    // one of the program's modules, imports first; the last one is the program
  kCall = 3,      // function, options, names of arguments
  kValue = 4,     // an argument
  kReady = 5,     // empty: the call begins
  kHostCall = 6,  // a call of a function of the host, which has ended
  kOperator = 7,  // an operator that has ended, and a hash of what it left
  kEnd = 8        // how the call ended
};

struct BlockHead {
  BlockKind kind;
  uint32_t number;
  uint64_t size;        // of the content
  uint64_t head_check;  // of what stands before
  uint64_t low, high;   // hash of the content
};
static_assert(sizeof(BlockHead) == 40);

std::string capture_header();
BlockHead head_of(BlockKind kind, uint32_t number, std::string_view content);

struct Block {
  BlockKind kind;
  Bytes content;
  size_t offset;  // of the content in the file
};

class BlockReader {
 public:
  // Throws unless the bytes begin with the header of a version that is known. `name` is the file's, for messages; both
  // must outlive the reader.
  BlockReader(Bytes bytes, const char *name);
  std::optional<Block> next();             // none at the end
  bool is_cut() const { return is_cut_; }  // the last block was not complete
  const char *name() const { return name_; }

 private:
  const char *name_;
  ByteReader bytes_;
  uint32_t number_ = 0;
  bool is_cut_ = false;
};

}  // namespace opd
