#include "device/memory/allocator.h"

#include "device/memory/device_memory.h"
#include "value/value.h"

namespace opd {

Allocator &Allocator::of(DLDevice device, opd_allocator_kind kind) {
  require(kind == OPD_ALLOCATOR_NAIVE || kind == OPD_ALLOCATOR_POOLED, "there is no allocator of kind ",
          static_cast<int>(kind), "; use 1 (naive) or 2 (pooled)");
  return DeviceMemory::of(device).allocator(kind);
}

int32_t Storage::type() {
  static const int32_t index = register_type("opdyno.Storage");
  return index;
}

Ref<Storage> Storage::make(DLDevice device, opd_allocator_kind kind, size_t bytes, MemoryUse use) {
  Allocator &allocator = Allocator::of(device, kind);
  auto storage = make_object<Storage>();
  storage->data = allocator.allocate(bytes, use);
  storage->size = bytes;
  storage->device = device;
  storage->allocator = &allocator;  // last: from now on the destructor returns the block
  return storage;
}

Ref<Storage> Storage::make(DLDevice device, const ImageShape &image, MemoryUse use) {
  auto storage = make_object<Storage>();
  storage->data = allocate_image(device, image, use);
  storage->size = image.bytes();
  storage->device = device;
  storage->allocator = &Allocator::of(device, OPD_ALLOCATOR_NAIVE);
  return storage;
}

void *allocate_image(DLDevice device, const ImageShape &image, MemoryUse use) {
  DeviceMemory &memory = DeviceMemory::of(device);
  void *const data = memory.take(image);
  if (!data) memory.fail_out_of_memory(image.bytes());
  memory.count_request(data, image.bytes(), false, use);
  return data;
}

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

opd_memory_stats memory_stats(DLDevice device) { return DeviceMemory::of(device).stats(); }
void reset_memory_peak(DLDevice device) { DeviceMemory::of(device).reset_peak(); }
void trim_memory(DLDevice device) { DeviceMemory::of(device).trim(); }
void trim_all_memory() { DeviceMemory::trim_all(); }

}  // namespace opd
