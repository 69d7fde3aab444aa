// SHA-256 (FIPS 180-4) and HMAC (RFC 2104) with it. Programs are identified by the hash of their bytes, and keys are
// proved without being sent. This implementation of 100 lines avoids a dependency on OpenSSL.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace opd {

using Sha256 = std::array<uint8_t, 32>;

class Sha256Stream {
 public:
  Sha256Stream &add(std::string_view bytes);
  Sha256 digest();  // the hash of all added bytes; the stream cannot be used afterwards

 private:
  void mix(const uint8_t *block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> block_{};
  uint64_t size_ = 0;  // bytes added
};

inline Sha256 sha256(std::string_view bytes) { return Sha256Stream().add(bytes).digest(); }
Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

// Takes equally long for all texts of one size, so its duration reveals no secret bytes.
bool is_equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace opd
