// Makes tensors in the memory of a device.
#include "device/device.h"
#include "device/memory/allocator.h"

namespace opd {

Ref<Tensor> make_tensor(std::span<const int64_t> dims, DLDataType dtype, DLDevice device, MemoryUse use,
                        std::string_view scope) {
  uint64_t count, bytes;
  const auto text = [&] {
    std::string out = dtype_name(dtype);
    append_dims(out, dims);
    return out;
  };
  // The low 15 bits are the number of lanes. The sign bit marks scalable vectors, whose size depends on the machine.
  if (static_cast<int16_t>(dtype.lanes) <= 0 || dtype.bits == 0)
    fail(OPD_INVALID_ARGUMENT, "a tensor cannot have elements of dtype ", dtype_name(dtype));
  if (!element_count(dims.data(), static_cast<int64_t>(dims.size()), count))
    fail(OPD_INVALID_ARGUMENT, "a tensor cannot have the shape of ", text(),
         ": a size is negative, or there are too many elements");
  if (!data_bytes(count, dtype, bytes))
    fail(OPD_OUT_OF_MEMORY, "the bits of ", text(), " cannot be counted in 64 bits");
  auto storage = check_scope(scope, device) ? Storage::make(device, image_shape(scope, dims, dtype), use)
                                            : Storage::make(device, OPD_ALLOCATOR_NAIVE, bytes, use);
  void *data = storage->data;
  return Tensor::make(dims, dtype, device, data, std::move(storage));
}

}  // namespace opd
