// Records in memory recordings that the library writes new contents into a block of a device.
#include "device/memory/device_memory.h"
#include "vm/pool.h"

namespace opd {
namespace {

void record(DLDevice device, const void *data, size_t bytes, MemoryUse use) noexcept try {
  DeviceMemory::of(device).record_version(data, bytes, use);
} catch (...) {}  // the device does not exist, so the tensor's memory does not come from the library

// The member `owner` exists only in the library's own tensors.
const Object *owner_of(const Tensor &tensor) {
  const bool is_own =
      tensor.deleter == &VmTensor::destroy || tensor.deleter == &delete_object<Tensor> || is_read_only(tensor);
  return is_own ? tensor.owner : nullptr;
}

}  // namespace

void record_version(const VmStorage &storage) noexcept {
  record(storage.device, storage.data, storage.bytes(), MemoryUse::kTensor);
}

void record_write(const Tensor &tensor, MemoryUse use) noexcept {
  // A view's owner may be a tensor. In that case, the tensor's owner is the block.
  const Object *owner = owner_of(tensor);
  while (owner && owner->type_index == OPD_TENSOR) owner = owner_of(*static_cast<const Tensor *>(owner));
  if (owner && owner->type_index == VmStorage::type()) {
    const auto *storage = static_cast<const VmStorage *>(owner);
    return record(storage->device, storage->data, storage->bytes(), use);
  }
  if (owner && owner->type_index == Storage::type()) {
    const auto *storage = static_cast<const Storage *>(owner);
    return record(storage->device, storage->data, storage->size, use);
  }
  // Foreign memory that came in by DLPack. It may still be a block of the library that went out by DLPack.
  record(tensor.dl.device, tensor.dl.data, 0, use);
}

}  // namespace opd
