// Random numbers of one variance. Standard distributions differ between standard libraries.
#pragma once
#include <cmath>
#include <random>

namespace opd {

class Noise {
 public:
  explicit Noise(uint64_t seed) : bits_(seed) {}
  double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }

 private:
  std::mt19937_64 bits_;
};

}  // namespace opd
