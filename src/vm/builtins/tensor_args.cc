#include "vm/builtins/tensor_args.h"

#include <cstring>
#include <type_traits>

#include "device/device.h"

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

const DLTensor &compact_tensor(const View &v, std::string_view name, std::optional<DLDataType> dtype) {
  const DLTensor &tensor = as_dltensor(v, name);
  require(tensor.device.device_type == kDLCPU && is_contiguous(tensor), name, " must lie compactly on the CPU, but is ",
          describe(tensor), is_contiguous(tensor) ? "" : " with gaps");
  bytes_of(tensor);  // throws if the size overflows
  if (dtype)
    require(same(tensor.dtype, *dtype), name, " must be of dtype ", dtype_name(*dtype), ", but is ", describe(tensor));
  return tensor;
}

const DLTensor &compact_output(const View &v, std::string_view name, std::optional<DLDataType> dtype) {
  writable_dltensor(v, name);
  return compact_tensor(v, name, dtype);
}

const DLTensor &on_host(const DLTensor &tensor, Ref<Tensor> &out_copy) {
  if (tensor.device.device_type == kDLCPU) return tensor;
  out_copy = copied_to(kHost, tensor);
  return out_copy->dl;
}

int32_t axis_of(const View &v, int32_t ndim) {
  const int64_t axis = as_int(v, "axis");
  if (axis < -ndim || axis >= ndim) fail(OPD_OUT_OF_RANGE, "axis is ", axis, ", but the tensor is of rank ", ndim);
  return static_cast<int32_t>(axis < 0 ? axis + ndim : axis);
}

AxisView::AxisView(const DLTensor &tensor, int32_t axis) : size(tensor.shape[axis]) {
  uint64_t outer = 1, inner = 1;  // unsigned: sizes next to a 0 may wrap, and the products are then not used
  for (int32_t i = 0; i < axis; ++i) outer *= static_cast<uint64_t>(tensor.shape[i]);
  for (int32_t i = axis + 1; i < tensor.ndim; ++i) inner *= static_cast<uint64_t>(tensor.shape[i]);
  before = static_cast<int64_t>(outer);
  after = static_cast<int64_t>(inner);
  lines = static_cast<int64_t>(outer * inner);
}

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
