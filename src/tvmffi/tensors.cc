// C functions for tensors: creation, views, import from and export to DLPack.
#include <algorithm>

#include "device/device.h"
#include "tvmffi/groups.h"
#include "tvmffi/host_language.h"
#include "tvmffi/raising.h"
#include "value/tensor.h"

namespace opd {
namespace {

template <class Managed>
int take_over(Managed *managed, int32_t alignment, int32_t contiguous, void **out_tensor) {
  return raising([&] {
    require(managed && out_tensor, "a DLPack tensor to take over, or the place for the result, is NULL");
    const DLTensor &tensor = managed->dl_tensor;
    require(alignment <= 0 ||
                (reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset) % static_cast<uint32_t>(alignment) == 0,
            "a DLPack tensor is not aligned to ", alignment, " bytes");
    require(!contiguous || tensor.ndim <= 0 || is_contiguous(tensor),
            "a DLPack tensor is strided where a contiguous one is needed");
    *out_tensor = from_dlpack(managed).detach();
  });
}

extern "C" {

static int TVMFFITensorFromDLPack(DLManagedTensor *managed, int32_t alignment, int32_t contiguous, void **out_tensor) {
  return take_over(managed, alignment, contiguous, out_tensor);
}

static int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned *managed, int32_t alignment, int32_t contiguous,
                                           void **out_tensor) {
  return take_over(managed, alignment, contiguous, out_tensor);
}

static int TVMFFITensorToDLPack(void *tensor, DLManagedTensor **out_managed) {
  return raising([&] {
    require(out_managed, "TVMFFITensorToDLPack was given no place for the result");
    *out_managed = to_dlpack(Ref<Tensor>::share(&object_at<Tensor>(tensor, "TVMFFITensorToDLPack")));
  });
}

static int TVMFFITensorToDLPackVersioned(void *tensor, DLManagedTensorVersioned **out_managed) {
  return raising([&] {
    require(out_managed, "TVMFFITensorToDLPackVersioned was given no place for the result");
    *out_managed = to_dlpack_versioned(Ref<Tensor>::share(&object_at<Tensor>(tensor, "TVMFFITensorToDLPackVersioned")));
  });
}

// Allocates a tensor like the prototype. The prototype's data is ignored.
static int TVMFFIEnvTensorAlloc(DLTensor *prototype, void **out_tensor) {
  int status = 0;
  const int raised = raising([&] {
    require(prototype && out_tensor && prototype->ndim >= 0 && (prototype->shape || prototype->ndim == 0),
            "TVMFFIEnvTensorAlloc was given no prototype, or no place for the tensor");
    if (const TensorMaker maker = tensor_maker()) {
      DLManagedTensorVersioned *made = nullptr;
      status = maker(prototype, &made, nullptr, [](void *, const char *kind, const char *message) {
        set_raised(make_error(OPD_CALL_FAILED, message ? message : "", kind ? kind : "RuntimeError"));
      });
      if (status) return;
      if (!made) fail_as("RuntimeError", OPD_CALL_FAILED, "TVMFFIEnvTensorAlloc: the allocator gave no tensor");
      *out_tensor = static_cast<Object *>(from_dlpack(made).detach());
    } else {
      *out_tensor =
          static_cast<Object *>(make_tensor(dims_of(*prototype), prototype->dtype, prototype->device).detach());
    }
  });
  return raised ? raised : status;
}

// Makes a new view of the source's data, exactly as the prototype describes it.
static int TVMFFITensorCreateUnsafeView(void *source, const DLTensor *prototype, void **out_tensor) {
  return raising([&] {
    auto &tensor = object_at<Tensor>(source, "TVMFFITensorCreateUnsafeView");
    require(prototype && out_tensor && prototype->ndim >= 0 && (prototype->shape || prototype->ndim == 0),
            "TVMFFITensorCreateUnsafeView was given no prototype, or no place for the tensor");
    auto view = Tensor::make_view(Ref<Tensor>::share(&tensor), dims_of(*prototype), prototype->dtype, prototype->device,
                                  prototype->data);
    view->dl.byte_offset = prototype->byte_offset;
    if (prototype->strides) std::copy_n(prototype->strides, prototype->ndim, view->dl.strides);
    *out_tensor = static_cast<Object *>(view.detach());
  });
}

}  // extern "C"
}  // namespace

std::span<const ProvidedSymbol> tensor_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMFFIEnvTensorAlloc", address_of(TVMFFIEnvTensorAlloc)},
      {"TVMFFITensorCreateUnsafeView", address_of(TVMFFITensorCreateUnsafeView)},
      {"TVMFFITensorFromDLPack", address_of(TVMFFITensorFromDLPack)},
      {"TVMFFITensorFromDLPackVersioned", address_of(TVMFFITensorFromDLPackVersioned)},
      {"TVMFFITensorToDLPack", address_of(TVMFFITensorToDLPack)},
      {"TVMFFITensorToDLPackVersioned", address_of(TVMFFITensorToDLPackVersioned)},
  };
  return symbols;
}

}  // namespace opd
