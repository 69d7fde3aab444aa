// The tensor object: a DLTensor at the place where compiled kernels expect it, and whoever keeps its data alive.
#pragma once
#include <opdyno/dlpack.h>

#include "value/dtype.h"
#include "value/value.h"

namespace opd {

struct Tensor : Object {  // of one that foreign code made, only what comes before `owner` is there
  static int32_t type() { return OPD_TENSOR; }

  DLTensor dl{};            // at offset 24, as compiled kernels require; strides are always given
  Object *owner = nullptr;  // keeps dl.data alive; one reference

  Tensor() = default;
  ~Tensor() {
    if (owner) release(owner);
  }

  // A compact view of `data`, whose shape and strides follow the object inline.
  static Ref<Tensor> make(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, void *data,
                          Ref<Object> owner);
};
static_assert(sizeof(Object) == 24 && sizeof(DLTensor) == 48);

inline std::span<const int64_t> dims_of(const DLTensor &t) { return {t.shape, static_cast<size_t>(t.ndim)}; }
inline char *data_of(const DLTensor &t) { return static_cast<char *>(t.data) + t.byte_offset; }
std::string describe(const DLTensor &tensor);  // "float32[2, 3] on cpu:0"
bool is_contiguous(const DLTensor &tensor);
// Faster, and false also for some contiguous tensors: those with sizes 0 or 1 and unusual strides.
inline bool is_surely_contiguous(const DLTensor &tensor) {
  uint64_t expected = 1;
  for (int32_t i = tensor.ndim; tensor.strides && i-- > 0; expected *= static_cast<uint64_t>(tensor.shape[i]))
    if (tensor.strides[i] != static_cast<int64_t>(expected)) return false;
  return true;
}
uint64_t bytes_of(const DLTensor &tensor);  // compact size of its elements; throws if it leaves 64 bits

// The DLTensor of a tensor or a DLTensor view; null for other kinds.
inline DLTensor *try_dltensor(const View &v) {
  if (v.type == OPD_TENSOR) return &static_cast<Tensor *>(object_of(v))->dl;
  return v.type == OPD_DLTENSOR ? v.u.dltensor : nullptr;
}
DLTensor &as_dltensor(const View &v, std::string_view what);

// ---- DLPack exchange, zero copy
Ref<Tensor> from_dlpack(DLManagedTensor *managed);  // takes over on success
Ref<Tensor> from_dlpack(DLManagedTensorVersioned *managed);
DLManagedTensor *to_dlpack(Ref<Tensor> tensor);
DLManagedTensorVersioned *to_dlpack_versioned(Ref<Tensor> tensor);

// Another shape for the same elements; shares the data of a contiguous tensor.
Ref<Tensor> reshape(Ref<Tensor> tensor, std::span<const int64_t> dims);

}  // namespace opd
