// Reads zip archives in memory: the directory and deflated entries. Supports only the features that .npz files use,
// including zip64.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"

struct z_stream_s;

namespace opd {

struct ZipEntry {
  std::string name;
  uint16_t method = 0;  // kZipStored or kZipDeflated
  uint32_t checksum = 0;
  uint64_t packed = 0, unpacked = 0;
  uint64_t begin = 0;   // offset of its header
  uint64_t offset = 0;  // offset of its `packed` bytes: inside the file, without overlap with another entry
};
inline constexpr uint16_t kZipStored = 0, kZipDeflated = 8;

std::vector<ZipEntry> read_zip_directory(Bytes file, const char *what);  // throws OPD_BAD_FORMAT, OPD_UNSUPPORTED

uint32_t zip_checksum(Bytes bytes, uint32_t before = 0);  // CRC-32
[[noreturn]] void fail_checksum(const char *what, const ZipEntry &entry);

// Inflates an entry piece by piece.
class Inflater {
 public:
  Inflater(Bytes file, const ZipEntry &entry, const char *what);
  ~Inflater();
  void read(uint8_t *to, uint64_t size);  // throws if the entry has fewer bytes left
  void finish();                          // throws if bytes are left or the checksum is wrong

 private:
  [[noreturn]] void bad(std::string_view problem) const;
  uint64_t inflate_some(uint8_t *to, uint64_t size);

  const ZipEntry &entry_;
  const char *what_;
  Bytes left_;
  uint64_t done_ = 0;
  uint32_t checksum_ = 0;
  std::unique_ptr<z_stream_s> stream_;
};

}  // namespace opd
