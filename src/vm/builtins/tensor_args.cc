#include "vm/builtins/tensor_args.h"

#include "device/device.h"

namespace opd {

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

uint64_t count_of(const DLTensor &tensor) {
  uint64_t count = 0;
  element_count(tensor.shape, tensor.ndim, count);
  return count;
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

}  // namespace opd
