// The tensor object: a DLTensor at the place where compiled kernels expect it, and the owner of its data.
#pragma once
#include <opdyno/dlpack.h>

#include "value/dtype.h"
#include "value/value.h"

namespace opd {

struct Tensor : Object {  // a foreign tensor has only the members before `owner`
  static int32_t type() { return OPD_TENSOR; }

  DLTensor dl{};            // at offset 24, as compiled kernels require; strides are always given
  Object *owner = nullptr;  // keeps dl.data alive; one reference

  Tensor() = default;
  ~Tensor() {
    if (owner) release(owner);
  }

  // A compact tensor at `data`. Its shape and strides follow the object inline.
  static Ref<Tensor> make(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, void *data,
                          Ref<Object> owner, bool read_only = false);
  // The same for `data` inside the memory of `source`: keeps `source` alive, and is read-only if `source` is.
  static Ref<Tensor> make_view(Ref<Tensor> source, std::span<const int64_t> dims, DLDataType dtype, DLDevice device,
                               void *data);
};
static_assert(sizeof(Object) == 24 && sizeof(DLTensor) == 48);

// A tensor whose memory must not be written. Its deleter marks it as read-only: a flag would have no place in tensors
// of foreign C++, of which only the header and the DLTensor may be read.
struct ReadOnlyTensor final : Tensor {};
static_assert(sizeof(ReadOnlyTensor) == sizeof(Tensor));
inline bool is_read_only(const Tensor &tensor) { return tensor.deleter == &delete_object<ReadOnlyTensor>; }

inline bool has_shape(const DLTensor &t) { return t.ndim >= 0 && (t.ndim == 0 || t.shape); }
inline std::span<const int64_t> dims_of(const DLTensor &t) { return {t.shape, static_cast<size_t>(t.ndim)}; }
inline char *data_of(const DLTensor &t) { return static_cast<char *>(t.data) + t.byte_offset; }
LatePart describe(const DLTensor &tensor);  // "float32[2, 3] on cpu:0"
bool is_contiguous(const DLTensor &tensor);
uint64_t bytes_of(const DLTensor &tensor);  // compact size of its elements; throws if it exceeds 64 bits

// The same view, or null if it is. Throws if it has no valid shape: a DLTensor comes from the caller unchecked.
DLTensor *checked_view(DLTensor *view);
// The DLTensor of a tensor or a DLTensor view; null for other kinds.
inline DLTensor *try_dltensor(const View &v) {
  if (v.type == OPD_TENSOR) return v.u.object ? &static_cast<Tensor *>(object_of(v))->dl : nullptr;
  return v.type == OPD_DLTENSOR ? checked_view(v.u.dltensor) : nullptr;
}
DLTensor &as_dltensor(const View &v, std::string_view what);

// Call these before writing to memory; `what` names it in the error. A DLTensor view has no read-only mark, so it
// passes.
void require_writable(const Tensor &tensor, std::string_view what);
DLTensor &writable_dltensor(const View &v, std::string_view what);

// ---- DLPack exchange, zero copy
Ref<Tensor> from_dlpack(DLManagedTensor *managed);  // takes ownership on success
Ref<Tensor> from_dlpack(DLManagedTensorVersioned *managed);
DLManagedTensor *to_dlpack(Ref<Tensor> tensor);  // throws for a read-only tensor: the old struct has no such flag
DLManagedTensorVersioned *to_dlpack_versioned(Ref<Tensor> tensor);

// ---- memory that its owner lends: a tensor of it must not outlive the loan, but others may have kept it

// A tensor of the memory of `from`, until end_borrow().
Ref<Tensor> borrow(const DLTensor &from);
// Of a tensor of borrow() or a view of one; else it does nothing. All tensors of that memory get the shape [0] and no
// data, so that a kept reference cannot read it. Not while another thread uses one of them.
void end_borrow(Tensor &tensor) noexcept;
bool is_borrowed(const Tensor &tensor);  // also after end_borrow()
bool has_ended(const Tensor &tensor);    // by end_borrow()

// Another shape for the same elements; shares the data of a contiguous tensor.
Ref<Tensor> reshape(Ref<Tensor> tensor, std::span<const int64_t> dims);

}  // namespace opd
