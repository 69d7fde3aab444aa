// Random numbers that are the same on every machine: integers only, until one exact conversion at the end.
#pragma once
#include <cstdint>
#include <string_view>

namespace opd::cli {

// SplitMix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  // `stream` separates the arguments of one seed, so that the numbers of one do not depend on the others.
  Random(uint64_t seed, uint64_t stream) : state_(seed) { state_ = next() ^ (stream * 0xd1342543de82ef95); }

  uint64_t next() {
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }

  // Uniform in [low, high). The build disables fused multiply-add, which would round differently.
  double real(double low, double high) {
    const double unit = static_cast<double>(next() >> 11) * 0x1p-53;
    const double number = low + unit * (high - low);
    return number < high ? number : low;
  }

  // Uniform in [low, high].
  int64_t integer(int64_t low, int64_t high) {
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;  // 0: all 2^64
    if (span == 0) return static_cast<int64_t>(next());
    const uint64_t limit = UINT64_MAX - UINT64_MAX % span;
    uint64_t number = next();
    while (number >= limit) number = next();
    return static_cast<int64_t>(static_cast<uint64_t>(low) + number % span);
  }

 private:
  uint64_t state_;
};

}  // namespace opd::cli
