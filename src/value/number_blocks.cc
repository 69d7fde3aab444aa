#include "value/number_blocks.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace opd {
namespace {

enum class Kind : uint8_t { kNone, kSigned, kUnsigned, kBool, kFloat, kDouble, kHalf, kBfloat };

struct Layout {
  Kind kind = Kind::kNone;
  uint8_t bytes = 0;
  uint16_t per_element = 0;
};

Layout layout_of(DLDataType dtype) {
  const uint16_t lanes = dtype.lanes;
  const auto bytes = static_cast<uint8_t>(dtype.bits / 8);
  const bool is_whole = dtype.bits == 8 || dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
  if (dtype.code == kDLInt && is_whole) return {Kind::kSigned, bytes, lanes};
  if (dtype.code == kDLUInt && is_whole) return {Kind::kUnsigned, bytes, lanes};
  if (dtype.code == kDLBool && dtype.bits == 8) return {Kind::kBool, 1, lanes};
  if (dtype.code == kDLBfloat && dtype.bits == 16) return {Kind::kBfloat, 2, lanes};
  const bool is_complex = dtype.code == kDLComplex;
  if (dtype.code != kDLFloat && !is_complex) return {};
  const int bits = is_complex ? dtype.bits / 2 : dtype.bits;
  const auto parts = static_cast<uint16_t>(is_complex ? 2 * lanes : lanes);
  if (bits == 16 && !is_complex) return {Kind::kHalf, 2, parts};
  if (bits == 32) return {Kind::kFloat, 4, parts};
  if (bits == 64) return {Kind::kDouble, 8, parts};
  return {};
}

double of_half(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 31) magnitude = fraction ? NAN : INFINITY;
  else if (exponent) magnitude = std::ldexp(1024 + fraction, exponent - 25);
  else magnitude = std::ldexp(fraction, -24);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// Rounds `number` half to even, to `bits` of fraction above the least exponent. nearbyint() does so in the default
// rounding mode.
uint16_t to_half(double number) {
  const uint16_t sign = std::signbit(number) ? 0x8000 : 0;
  const double magnitude = std::fabs(number);
  if (std::isnan(number)) return static_cast<uint16_t>(sign | 0x7e00);
  // half way to 2^16, which a half cannot represent
  if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x1p-14)
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24)));
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude is 0.5 to 1 times 2^exponent
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));  // 1024 to 2048
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 14) << 10) + units - 1024));
}

double of_bfloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t to_bfloat(double number) {
  if (std::isnan(number)) return 0x7fc0;
  // Rounding to float first could round twice. So the bits below the 16 are kept as one sticky bit.
  const auto rounded = static_cast<float>(number);
  uint32_t bits = std::bit_cast<uint32_t>(rounded);
  if (std::isinf(rounded)) return static_cast<uint16_t>(bits >> 16);
  if (std::fabs(static_cast<double>(rounded)) > std::fabs(number)) --bits;  // towards zero
  if (std::bit_cast<float>(bits) != number) bits |= 1;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class Stored, class Number, class Convert>
void read(const char *data, uint64_t first, size_t count, Number *out, Convert convert) {
  data += first * sizeof(Stored);
  for (size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, data + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<Number>(convert(stored));
  }
}

template <class Number>
void read_any(const char *data, DLDataType dtype, uint64_t first, size_t count, Number *out) {
  const auto as_it_is = [](auto stored) { return stored; };
  const Layout layout = layout_of(dtype);
  if (layout.kind == Kind::kSigned) {
    if (layout.bytes == 1) return read<int8_t>(data, first, count, out, as_it_is);
    if (layout.bytes == 2) return read<int16_t>(data, first, count, out, as_it_is);
    if (layout.bytes == 4) return read<int32_t>(data, first, count, out, as_it_is);
    return read<int64_t>(data, first, count, out, as_it_is);
  }
  if (layout.kind == Kind::kUnsigned) {
    if (layout.bytes == 1) return read<uint8_t>(data, first, count, out, as_it_is);
    if (layout.bytes == 2) return read<uint16_t>(data, first, count, out, as_it_is);
    if (layout.bytes == 4) return read<uint32_t>(data, first, count, out, as_it_is);
    return read<uint64_t>(data, first, count, out, as_it_is);
  }
  // Any byte but 0 is true.
  if (layout.kind == Kind::kBool) read<uint8_t>(data, first, count, out, [](uint8_t stored) { return stored != 0; });
  if (layout.kind == Kind::kFloat) read<float>(data, first, count, out, as_it_is);
  if (layout.kind == Kind::kDouble) read<double>(data, first, count, out, as_it_is);
  if (layout.kind == Kind::kHalf) read<uint16_t>(data, first, count, out, of_half);
  if (layout.kind == Kind::kBfloat) read<uint16_t>(data, first, count, out, of_bfloat);
}

template <class Stored, class Convert>
void write(const double *numbers, size_t count, uint64_t first, char *data, Convert convert) {
  data += first * sizeof(Stored);
  for (size_t i = 0; i < count; ++i) {
    const Stored stored = convert(numbers[i]);
    std::memcpy(data + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

}  // namespace

bool has_numbers(DLDataType dtype) { return layout_of(dtype).kind != Kind::kNone; }
bool is_real(DLDataType dtype) { return layout_of(dtype).kind >= Kind::kFloat; }
uint64_t numbers_per_element(DLDataType dtype) { return layout_of(dtype).per_element; }

void read_numbers(const char *data, DLDataType dtype, uint64_t first, size_t count, double *out) {
  read_any(data, dtype, first, count, out);
}
void read_integers(const char *data, DLDataType dtype, uint64_t first, size_t count, long double *out) {
  read_any(data, dtype, first, count, out);
}

void write_reals(const double *numbers, size_t count, DLDataType dtype, uint64_t first, char *data) {
  const Kind kind = layout_of(dtype).kind;
  if (kind == Kind::kFloat) write<float>(numbers, count, first, data, [](double n) { return static_cast<float>(n); });
  if (kind == Kind::kDouble) write<double>(numbers, count, first, data, [](double n) { return n; });
  if (kind == Kind::kHalf) write<uint16_t>(numbers, count, first, data, to_half);
  if (kind == Kind::kBfloat) write<uint16_t>(numbers, count, first, data, to_bfloat);
}

}  // namespace opd
