#include "params/md5.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace opd {
namespace {
constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
}

Md5::Md5() : state_{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476} {
  for (size_t i = 0; i < 64; ++i)  // the definition in RFC 1321
    sines_[i] = static_cast<uint32_t>(std::floor(std::fabs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
}

void Md5::add_block(const uint8_t *block) {
  uint32_t words[16];
  std::memcpy(words, block, sizeof words);
  auto [a, b, c, d] = state_;
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t mixed = c ^ (b | ~d), word = 7 * i % 16;
    if (i < 16) mixed = d ^ (b & (c ^ d)), word = i;
    else if (i < 32) mixed = c ^ (d & (b ^ c)), word = (5 * i + 1) % 16;
    else if (i < 48) mixed = b ^ c ^ d, word = (3 * i + 5) % 16;
    const uint32_t sum = a + mixed + sines_[i] + words[word];
    a = d, d = c, c = b;
    b += std::rotl(sum, kShifts[i / 16][i % 4]);
  }
  state_[0] += a, state_[1] += b, state_[2] += c, state_[3] += d;
}

void Md5::add(Bytes bytes) {
  while (!bytes.empty()) {
    const size_t filled = size_ % 64, n = std::min(bytes.size(), 64 - filled);
    if (n == 64) {
      add_block(bytes.data());
    } else {
      std::memcpy(block_.data() + filled, bytes.data(), n);
      if (filled + n == 64) add_block(block_.data());
    }
    size_ += n;
    bytes = bytes.subspan(n);
  }
}

std::string Md5::finish() {
  const uint64_t bits = size_ * 8;
  constexpr uint8_t kPadding[64] = {0x80};
  add({kPadding, (119 - size_ % 64) % 64 + 1});  // up to 8 bytes before the end of a block
  uint8_t length[8];
  std::memcpy(length, &bits, 8);
  add({length, 8});
  return hex({reinterpret_cast<const uint8_t *>(state_.data()), sizeof state_});
}

}  // namespace opd
