// Implements include/opdyno/tensor.h.
#include "value/tensor.h"

#include "capi/handles.h"
#include "device/device.h"
#include "vm/pool.h"

using namespace opd;

namespace {

Ref<Tensor> shared(opd_tensor *tensor) { return Ref<Tensor>::share(unwrap<Tensor>(tensor)); }

}  // namespace

opd_error *opd_tensor_create(const int64_t *dims, int32_t ndim, DLDataType dtype, DLDevice device,
                             opd_tensor **out_tensor) {
  return guard([&] {
    OPD_REQUIRE(out_tensor);
    *out_tensor = wrap<opd_tensor>(make_tensor(OPD_REQUIRE_ITEMS(dims, ndim), dtype, device));
  });
}

DLTensor *opd_tensor_view(const opd_tensor *tensor) { return tensor ? &unwrap<Tensor>(tensor)->dl : nullptr; }

uint64_t opd_tensor_bytes(const opd_tensor *tensor) {
  try {
    return tensor ? bytes_of(unwrap<Tensor>(tensor)->dl) : 0;
  } catch (...) {
    return 0;  // tensors whose size overflows cannot exist
  }
}

int32_t opd_tensor_is_contiguous(const opd_tensor *tensor) {
  return tensor && is_contiguous(unwrap<Tensor>(tensor)->dl);
}

int32_t opd_tensor_is_read_only(const opd_tensor *tensor) { return tensor && is_read_only(*unwrap<Tensor>(tensor)); }

opd_error *opd_tensor_copy(const DLTensor *from, opd_tensor *to) {
  return guard([&] {
    OPD_REQUIRE(from, to);
    require_writable(*unwrap<Tensor>(to), "the tensor to copy to");
    copy_tensor(*from, unwrap<Tensor>(to)->dl);
    note_write(*unwrap<Tensor>(to));
  });
}

opd_error *opd_tensor_copy_from_bytes(opd_tensor *to, const void *data, size_t size) {
  return guard([&] {
    OPD_REQUIRE(to);
    require_writable(*unwrap<Tensor>(to), "the tensor to copy to");
    copy_from_bytes(unwrap<Tensor>(to)->dl, data, size);
    note_write(*unwrap<Tensor>(to));
  });
}

opd_error *opd_tensor_copy_to_bytes(const opd_tensor *from, void *data, size_t size) {
  return guard([&] {
    OPD_REQUIRE(from);
    copy_to_bytes(unwrap<Tensor>(from)->dl, data, size);
  });
}

opd_error *opd_tensor_reshape(opd_tensor *tensor, const int64_t *dims, int32_t ndim, opd_tensor **out_tensor) {
  return guard([&] {
    OPD_REQUIRE(tensor, out_tensor);
    *out_tensor = wrap<opd_tensor>(reshape(shared(tensor), OPD_REQUIRE_ITEMS(dims, ndim)));
  });
}

opd_error *opd_tensor_borrow(const DLTensor *from, opd_tensor **out_tensor) {
  return guard([&] {
    OPD_REQUIRE(from, out_tensor);
    *out_tensor = wrap<opd_tensor>(borrow(*from));
  });
}

void opd_tensor_end_borrow(opd_tensor *tensor) {
  if (tensor) end_borrow(*unwrap<Tensor>(tensor));
}

int32_t opd_tensor_is_borrowed(const opd_tensor *tensor) { return tensor && is_borrowed(*unwrap<Tensor>(tensor)); }

int32_t opd_tensor_has_ended(const opd_tensor *tensor) { return tensor && has_ended(*unwrap<Tensor>(tensor)); }

int32_t opd_tensor_is_unique(const opd_tensor *tensor) { return tensor && is_unique(*unwrap<Tensor>(tensor)); }

opd_error *opd_tensor_from_dlpack(DLManagedTensor *managed, opd_tensor **out_tensor) {
  return guard([&] {
    OPD_REQUIRE(managed, out_tensor);
    *out_tensor = wrap<opd_tensor>(from_dlpack(managed));
  });
}

opd_error *opd_tensor_from_dlpack_versioned(DLManagedTensorVersioned *managed, opd_tensor **out_tensor) {
  return guard([&] {
    OPD_REQUIRE(managed, out_tensor);
    *out_tensor = wrap<opd_tensor>(from_dlpack(managed));
  });
}

opd_error *opd_tensor_to_dlpack(opd_tensor *tensor, DLManagedTensor **out_managed) {
  return guard([&] {
    OPD_REQUIRE(tensor, out_managed);
    *out_managed = to_dlpack(shared(tensor));
  });
}

opd_error *opd_tensor_to_dlpack_versioned(opd_tensor *tensor, DLManagedTensorVersioned **out_managed) {
  return guard([&] {
    OPD_REQUIRE(tensor, out_managed);
    *out_managed = to_dlpack_versioned(shared(tensor));
  });
}
