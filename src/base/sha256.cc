#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace opd {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const uint8_t *bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

std::string_view text_of(const Sha256 &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

}  // namespace

// Adds one block to the state: §6.2.2 of the standard, with its names.
void Sha256Stream::mix(const uint8_t *block) {
  uint32_t w[64];
  for (int t = 0; t < 16; ++t) w[t] = big_endian(block + 4 * t);
  for (int t = 16; t < 64; ++t) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int t = 0; t < 64; ++t) {
    const uint32_t t1 =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t mixed[] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state_.size(); ++i) state_[i] += mixed[i];
}

Sha256Stream &Sha256Stream::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t begin = size_ % block_.size(), count = std::min(block_.size() - begin, bytes.size());
    std::memcpy(block_.data() + begin, bytes.data(), count);
    if (begin + count == block_.size()) mix(block_.data());
    size_ += count;
    bytes.remove_prefix(count);
  }
  return *this;
}

// The padding is a bit 1, zeros up to 8 bytes before the end of a block, and the number of bits.
Sha256 Sha256Stream::digest() {
  const uint64_t bits = size_ * 8;
  const size_t used = size_ % block_.size(), room = used < 56 ? 56 - used : 120 - used;
  std::string end(room + 8, '\0');
  end[0] = '\x80';
  for (size_t i = 0; i < 8; ++i) end[room + i] = static_cast<char>(bits >> (56 - 8 * i));
  add(end);
  Sha256 out;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  constexpr size_t kBlock = 64;
  const Sha256 short_key = key.size() > kBlock ? sha256(key) : Sha256{};
  if (key.size() > kBlock) key = text_of(short_key);
  std::string inner(kBlock, '\x36'), outer(kBlock, '\x5c');
  for (size_t i = 0; i < key.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ key[i]);
    outer[i] = static_cast<char>(outer[i] ^ key[i]);
  }
  const Sha256 first = Sha256Stream().add(inner).add(bytes).digest();
  return Sha256Stream().add(outer).add(text_of(first)).digest();
}

bool is_equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned differing = 0;  // volatile, so that no compiler ends the loop early
  for (size_t i = 0; i < a.size(); ++i) differing = differing | static_cast<unsigned char>(a[i] ^ b[i]);
  return differing == 0;
}

}  // namespace opd
