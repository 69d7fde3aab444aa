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

}  // namespace

SortKeys::SortKeys(DLDataType dtype, std::string_view name) {
  const int kind = dtype.lanes == 1 ? dtype.code << 8 | dtype.bits : -1;
  is_float_ = dtype.code == kDLFloat || dtype.code == kDLBfloat;
  switch (kind) {
    case kDLInt << 8 | 8:
      load_ = kLoadIntegers<int8_t>;
      break;
    case kDLInt << 8 | 16:
      load_ = kLoadIntegers<int16_t>;
      break;
    case kDLInt << 8 | 32:
      load_ = kLoadIntegers<int32_t>;
      break;
    case kDLInt << 8 | 64:
      load_ = kLoadIntegers<int64_t>;
      break;
    case kDLBool << 8 | 8:
    case kDLUInt << 8 | 8:
      load_ = kLoadIntegers<uint8_t>;
      break;
    case kDLUInt << 8 | 16:
      load_ = kLoadIntegers<uint16_t>;
      break;
    case kDLUInt << 8 | 32:
      load_ = kLoadIntegers<uint32_t>;
      break;
    case kDLUInt << 8 | 64:
      load_ = kLoadIntegers<uint64_t>, zero_ = INT64_MIN;
      break;
    case kDLFloat << 8 | 16:
      load_ = kLoadFloats<uint16_t, 0x7c00>;
      break;
    case kDLBfloat << 8 | 16:
      load_ = kLoadFloats<uint16_t, 0x7f80>;
      break;
    case kDLFloat << 8 | 32:
      load_ = kLoadFloats<uint32_t, 0x7f800000>;
      break;
    case kDLFloat << 8 | 64:
      load_ = kLoadFloats<uint64_t, 0x7ff0000000000000>;
      break;
    default:
      fail(OPD_UNSUPPORTED, name,
           " must be of an integer dtype, bool, float16, bfloat16, float32 or float64, but is of ", dtype_name(dtype));
  }
}

}  // namespace opd
