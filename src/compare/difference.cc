#include "compare/difference.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "value/number_blocks.h"

namespace opd {
namespace {

constexpr size_t kBlock = 512;

// Source: PyTorch 2.9, torch.testing.assert_close(): table of rtol and atol by dtype. A complex dtype has the
// tolerances of its parts.
Tolerance usual_tolerance(DLDataType dtype) {
  const int bits = dtype.code == kDLComplex ? dtype.bits / 2 : dtype.bits;
  if (!is_real(dtype)) return {};
  if (dtype.code == kDLBfloat) return {1.6e-2, 1e-5};
  if (bits == 16) return {1e-3, 1e-5};
  if (bits == 32) return {1.3e-6, 1e-5};
  return {1e-7, 1e-7};
}

// Compares numbers of one type: double for real elements, long double if both sides are integers.
template <class Number, class Read>
void compare_numbers(Difference &out, Read read, const Tolerance &tolerance, bool equal_nan) {
  Number a[kBlock], b[kBlock];
  Number worst_excess = -1, max_abs = 0, max_rel = 0;
  for (uint64_t first = 0; first < out.numbers; first += kBlock) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(kBlock, out.numbers - first));
    read(first, count, a, b);
    for (size_t i = 0; i < count; ++i) {
      if (a[i] == b[i]) continue;
      Number excess = INFINITY, allowed = 0;
      if (std::isnan(a[i]) && std::isnan(b[i])) {
        if (equal_nan) continue;
      } else if (std::isfinite(a[i]) && std::isfinite(b[i])) {
        const Number difference = std::fabs(a[i] - b[i]), magnitude = std::fabs(a[i]);
        max_abs = std::max(max_abs, difference);
        max_rel = std::max(max_rel, magnitude > 0 ? difference / magnitude : static_cast<Number>(INFINITY));
        allowed = static_cast<Number>(tolerance.atol) + static_cast<Number>(tolerance.rtol) * magnitude;
        excess = difference - allowed;
        if (excess <= 0) continue;
      }
      ++out.mismatches;
      if (excess <= worst_excess) continue;
      worst_excess = excess;
      out.worst = first + i;
      out.worst_a = static_cast<double>(a[i]), out.worst_b = static_cast<double>(b[i]);
      out.allowed = static_cast<double>(allowed);
    }
  }
  out.max_abs = static_cast<double>(max_abs), out.max_rel = static_cast<double>(max_rel);
}

Difference compare_bits(const char *a, const char *b, uint64_t bytes) {
  Difference out;
  out.numbers = bytes, out.as_bits = true;
  for (uint64_t i = bytes; i-- > 0;) {
    if (a[i] == b[i]) continue;
    ++out.mismatches;
    out.worst = i;
  }
  return out;
}

}  // namespace

void Tolerances::set(std::string_view text, const char *option, double Tolerance::*field) {
  bool has_all = false;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view entry = text.substr(begin, comma - begin);
    begin = comma + 1;
    const size_t equals = entry.find('=');
    const std::string_view digits = entry.substr(equals == std::string_view::npos ? 0 : equals + 1);
    double number = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_number = error == std::errc() && end == digits.data() + digits.size();
    require(is_number && equals != 0 && number >= 0 && std::isfinite(number), "option ", option,
            " takes numbers of at least 0, as 1e-4 or float16=1e-2,float32=1e-5, but is \"", text, "\"");
    if (equals == std::string_view::npos) {
      require(!std::exchange(has_all, true), "option ", option, " has two numbers without a dtype: \"", text, "\"");
      all_.*field = number;
      continue;
    }
    const DLDataType dtype = parse_dtype(entry.substr(0, equals));
    const auto known = std::ranges::find_if(own_, [&](const Own &own) { return same(own.dtype, dtype); });
    double &own = (known != own_.end() ? *known : own_.emplace_back(Own{dtype})).given.*field;
    require(own < 0, "option ", option, " names ", entry.substr(0, equals), " twice: \"", text, "\"");
    own = number;
  }
}

Tolerance Tolerances::of(DLDataType dtype) const {
  dtype.lanes = 1;
  Tolerance out = usual_tolerance(dtype);
  const auto apply = [&](const Tolerance &given) {
    if (given.rtol >= 0) out.rtol = given.rtol;
    if (given.atol >= 0) out.atol = given.atol;
  };
  if (is_real(dtype)) apply(all_);
  for (const Own &own : own_)
    if (same(own.dtype, dtype)) apply(own.given);
  return out;
}

Tolerance Tolerances::of(DLDataType a, DLDataType b) const {
  const Tolerance one = of(a), other = of(b);
  return {std::max(one.rtol, other.rtol), std::max(one.atol, other.atol)};
}

Difference compare_elements(const char *a, DLDataType a_dtype, const char *b, DLDataType b_dtype, uint64_t elements,
                            const Tolerances &tolerances) {
  if (!has_numbers(a_dtype) || !has_numbers(b_dtype) || numbers_per_element(a_dtype) != numbers_per_element(b_dtype)) {
    uint64_t a_bytes = 0, b_bytes = 0;
    data_bytes(elements, a_dtype, a_bytes);
    data_bytes(elements, b_dtype, b_bytes);
    if (a_bytes == b_bytes && same(a_dtype, b_dtype)) return compare_bits(a, b, a_bytes);
    Difference out;  // no rule converts the bits of one dtype to the other
    out.numbers = out.mismatches = elements;
    out.as_bits = true;
    return out;
  }
  Difference out;
  out.numbers = elements * numbers_per_element(a_dtype);
  const Tolerance tolerance = tolerances.of(a_dtype, b_dtype);
  if (is_real(a_dtype) || is_real(b_dtype)) {
    const auto read = [&](uint64_t first, size_t count, double *one, double *other) {
      read_numbers(a, a_dtype, first, count, one);
      read_numbers(b, b_dtype, first, count, other);
    };
    compare_numbers<double>(out, read, tolerance, tolerances.equal_nan);
  } else {
    const auto read = [&](uint64_t first, size_t count, long double *one, long double *other) {
      read_integers(a, a_dtype, first, count, one);
      read_integers(b, b_dtype, first, count, other);
    };
    compare_numbers<long double>(out, read, tolerance, tolerances.equal_nan);
  }
  return out;
}

}  // namespace opd
