// A 128-bit hash for names of cached files and for detecting damage. It is not cryptographic.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace opd {

class ContentHash {
 public:
  // Also adds the size of each part, so that "ab", "c" differs from "a", "bc".
  ContentHash &add(std::string_view part) {
    mix(part.size());
    for (; part.size() >= 8; part.remove_prefix(8)) {
      uint64_t word;
      std::memcpy(&word, part.data(), 8);
      mix(word);
    }
    uint64_t rest = 0;
    if (!part.empty()) std::memcpy(&rest, part.data(), part.size());  // `data` may be null if the part is empty
    mix(rest);
    return *this;
  }
  uint64_t low() const { return a_ ^ a_ >> 29; }
  uint64_t high() const { return b_ ^ b_ >> 31; }
  std::string hex() const {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const uint64_t half : {low(), high()})
      for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[half >> shift & 15];
    return out;
  }

 private:
  void mix(uint64_t word) {
    a_ = (a_ ^ word) * 0x9e3779b97f4a7c15u;
    a_ ^= a_ >> 32;
    b_ = (b_ + word) * 0xd6e8feb86659fd93u;
    b_ ^= b_ >> 29;
  }
  uint64_t a_ = 0x243f6a8885a308d3u, b_ = 0x13198a2e03707344u;  // digits of pi
};

}  // namespace opd
