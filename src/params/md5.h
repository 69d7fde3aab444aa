// MD5 (RFC 1321): the checksum of shards in tensor caches. It detects accidents, not attacks.
#pragma once
#include <array>
#include <string>

#include "base/bytes.h"

namespace opd {

class Md5 {
 public:
  Md5();
  void add(Bytes bytes);
  std::string finish();  // 32 digits

 private:
  void add_block(const uint8_t *block);

  std::array<uint32_t, 4> state_;
  std::array<uint32_t, 64> sines_;
  std::array<uint8_t, 64> block_{};
  uint64_t size_ = 0;
};

}  // namespace opd
