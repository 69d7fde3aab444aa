// Compares two tensors of the same number of elements, element by element.
#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "value/dtype.h"

namespace opd {

// Two numbers are equal if |a - b| <= atol + rtol * |a|.
struct Tolerance {
  double rtol = 0, atol = 0;
};

// The tolerances of a comparison. By default, real dtypes have those of PyTorch's assert_close(), and integers must be
// equal. If the dtypes differ, the larger tolerances apply, as in PyTorch.
class Tolerances {
 public:
  // "1e-4" for all real dtypes, "float16=1e-2,float32=1e-5" for these dtypes. Throws if the text is neither.
  void set_rtol(std::string_view text) { set(text, "rtol", &Tolerance::rtol); }
  void set_atol(std::string_view text) { set(text, "atol", &Tolerance::atol); }
  Tolerance of(DLDataType dtype) const;
  Tolerance of(DLDataType a, DLDataType b) const;

  bool equal_nan = true;

 private:
  static constexpr Tolerance kNotGiven = {-1, -1};
  struct Own {
    DLDataType dtype;
    Tolerance given = kNotGiven;
  };
  void set(std::string_view text, const char *option, double Tolerance::*field);

  Tolerance all_ = kNotGiven;  // for real dtypes without tolerances of their own
  std::vector<Own> own_;
};

// The difference between two tensors of equal shape.
struct Difference {
  uint64_t numbers = 0;             // compared numbers; bytes, if the dtype has no numbers
  uint64_t mismatches = 0;          // numbers beyond the tolerance
  bool as_bits = false;             // bytes were compared
  double max_abs = 0, max_rel = 0;  // over all numbers that are finite on both sides
  // The number that exceeds its tolerance most: index, values in A and B, tolerance.
  uint64_t worst = 0;
  double worst_a = 0, worst_b = 0, allowed = 0;
  bool agrees() const { return mismatches == 0; }
  bool has_distance() const { return std::isfinite(worst_a) && std::isfinite(worst_b); }  // NaN and infinity have none
};

// `a` and `b` must be compact.
Difference compare_elements(const char *a, DLDataType a_dtype, const char *b, DLDataType b_dtype, uint64_t elements,
                            const Tolerances &tolerances);

}  // namespace opd
