#include "vm/builtins/sort_keys.h"

#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "value/dtype.h"

namespace opd {
namespace {

template <class T, auto kKey>
void load_all(const char *from, int64_t stride, int64_t count, int64_t *out) {
  for (int64_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, from + i * stride * static_cast<int64_t>(sizeof(T)), sizeof(T));
    out[i] = kKey(element);
  }
}

template <class T>
int64_t integer_key(T element) {
  // Flipping the top bit maps uint64 to int64 and keeps the order.
  if constexpr (std::is_same_v<T, uint64_t>) return static_cast<int64_t>(element ^ uint64_t{1} << 63);
  else return static_cast<int64_t>(element);
}

// IEEE numbers are sign and magnitude, and magnitudes sort as integers. `kInfinity` is the bits of infinity.
template <class Bits, Bits kInfinity>
int64_t float_key(Bits bits) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  const Bits magnitude = bits & kMagnitude;
  if (magnitude > kInfinity) return INT64_MAX;
  return magnitude == bits ? static_cast<int64_t>(magnitude) : -static_cast<int64_t>(magnitude);
}

template <class T>
constexpr auto kLoadIntegers = load_all<T, integer_key<T>>;
template <class Bits, Bits kInfinity>
constexpr auto kLoadFloats = load_all<Bits, float_key<Bits, kInfinity>>;

struct Form {
  uint8_t code, bits;
  void (*load)(const char *from, int64_t stride, int64_t count, int64_t *out);
};
constexpr Form kForms[] = {
    {kDLInt, 8, kLoadIntegers<int8_t>},
    {kDLInt, 16, kLoadIntegers<int16_t>},
    {kDLInt, 32, kLoadIntegers<int32_t>},
    {kDLInt, 64, kLoadIntegers<int64_t>},
    {kDLBool, 8, kLoadIntegers<uint8_t>},
    {kDLUInt, 8, kLoadIntegers<uint8_t>},
    {kDLUInt, 16, kLoadIntegers<uint16_t>},
    {kDLUInt, 32, kLoadIntegers<uint32_t>},
    {kDLUInt, 64, kLoadIntegers<uint64_t>},
    {kDLFloat, 16, kLoadFloats<uint16_t, 0x7c00>},
    {kDLBfloat, 16, kLoadFloats<uint16_t, 0x7f80>},
    {kDLFloat, 32, kLoadFloats<uint32_t, 0x7f800000>},
    {kDLFloat, 64, kLoadFloats<uint64_t, 0x7ff0000000000000>},
};

}  // namespace

SortKeys::SortKeys(DLDataType dtype, std::string_view name)
    : is_float_(dtype.code == kDLFloat || dtype.code == kDLBfloat),
      zero_(dtype.code == kDLUInt && dtype.bits == 64 ? INT64_MIN : 0) {
  for (const Form &form : kForms)
    if (same(dtype, {form.code, form.bits, 1})) load_ = form.load;
  if (!load_)
    fail(OPD_UNSUPPORTED, name, " must be of an integer dtype, bool, float16, bfloat16, float32 or float64, but is of ",
         dtype_name(dtype));
}

}  // namespace opd
