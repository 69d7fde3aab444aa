// The tensor object: a DLTensor at the offset that compiled kernels require, and the owner of its data.
#pragma once
#include <opdyno/dlpack.h>

#include "value/dtype.h"
#include "value/value.h"

namespace opd {

struct Tensor : Object {  // foreign tensors have only the members before `owner`
  static int32_t type() { return OPD_TENSOR; }

  DLTensor dl{};            // at offset 24, as compiled kernels require; strides are always set
  Object *owner = nullptr;  // keeps dl.data alive; one reference

  Tensor() = default;
  ~Tensor() {
    if (owner) release(owner);
  }

  // Makes a compact tensor at `data`. Its shape and strides follow the object inline.
  static Ref<Tensor> make(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, void *data,
                          Ref<Object> owner, bool read_only = false);
  // Makes a tensor for `data` inside the memory of `source`. It keeps `source` alive, and is read-only if `source` is.
  static Ref<Tensor> make_view(Ref<Tensor> source, std::span<const int64_t> dims, DLDataType dtype, DLDevice device,
                               void *data);
};
static_assert(sizeof(Object) == 24 && sizeof(DLTensor) == 48);

// A tensor whose memory must not be written. Its deleter marks it as read-only. A flag is impossible: of foreign
// tensors, only the header and the DLTensor may be read.
struct ReadOnlyTensor final : Tensor {};
static_assert(sizeof(ReadOnlyTensor) == sizeof(Tensor));
inline bool is_read_only(const Tensor &tensor) { return tensor.deleter == &delete_object<ReadOnlyTensor>; }

inline bool has_shape(const DLTensor &t) { return t.ndim >= 0 && (t.ndim == 0 || t.shape); }
inline std::span<const int64_t> dims_of(const DLTensor &t) { return {t.shape, static_cast<size_t>(t.ndim)}; }
inline char *data_of(const DLTensor &t) { return static_cast<char *>(t.data) + t.byte_offset; }
// "float32[2, 3]"
inline std::string type_text(DLDataType dtype, std::span<const int64_t> dims) {
  return dtype_name(dtype) + dims_text(dims);
}
LatePart describe(const DLTensor &tensor);  // "float32[2, 3] on cpu:0"
bool is_contiguous(const DLTensor &tensor);
inline uint64_t count_of(const DLTensor &tensor) { return count_of(dims_of(tensor)); }
uint64_t bytes_of(const DLTensor &tensor);  // size of the compact elements; throws if it exceeds 64 bits

// Returns `view`, which may be null. Throws if its shape is invalid, because callers pass unchecked DLTensors.
DLTensor *checked_view(DLTensor *view);
// Returns the DLTensor of a tensor or a DLTensor view; null for other kinds.
inline DLTensor *try_dltensor(const View &v) {
  if (v.type == OPD_TENSOR) return v.u.object ? &static_cast<Tensor *>(object_of(v))->dl : nullptr;
  return v.type == OPD_DLTENSOR ? checked_view(v.u.dltensor) : nullptr;
}
DLTensor &as_dltensor(const View &v, std::string_view what);

// Call these before writing to memory. `what` names the memory in the error. A DLTensor view has no read-only mark, so
// it passes.
void require_writable(const Tensor &tensor, std::string_view what);
DLTensor &writable_dltensor(const View &v, std::string_view what);

// ---- DLPack exchange, zero copy
Ref<Tensor> from_dlpack(DLManagedTensor *managed);  // takes ownership on success
Ref<Tensor> from_dlpack(DLManagedTensorVersioned *managed);
// throws if the tensor is read-only, because the old struct has no flag for this
DLManagedTensor *to_dlpack(Ref<Tensor> tensor);
DLManagedTensorVersioned *to_dlpack_versioned(Ref<Tensor> tensor);

// ---- lent memory: its tensors must not outlive the loan, but a callee may have kept some

// Makes a tensor of the memory of `from`, valid until end_borrow().
Ref<Tensor> borrow(const DLTensor &from);
// If `tensor` comes from borrow() or is a view of such a tensor, all tensors of that memory get the shape [0] and no
// data, so that a kept reference cannot read it. Otherwise does nothing. During this call, no other thread may use one
// of them.
void end_borrow(Tensor &tensor) noexcept;
bool is_borrowed(const Tensor &tensor);  // stays true after end_borrow()
bool has_ended(const Tensor &tensor);    // after end_borrow()

// Returns the same elements in another shape. Shares the data if the tensor is contiguous.
Ref<Tensor> reshape(Ref<Tensor> tensor, std::span<const int64_t> dims);

}  // namespace opd
