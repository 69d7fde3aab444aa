// Allocators of tensor memory, with statistics. The naive one allocates directly from the device; the pooled one has
// free lists by size.
#pragma once
#include <opdyno/device.h>

#include <cstddef>

#include "base/object.h"
#include "device/texture.h"
#include "trace/record/memory_event.h"
#include "value/value.h"

namespace opd {

// One object per device and kind. Thread-safe. Lives as long as the process.
class Allocator {
 public:
  static Allocator &of(DLDevice device, opd_allocator_kind kind);

  virtual ~Allocator() = default;
  // Returns `bytes` at a multiple of 64. If there is no memory, empties the pools and tries again, then throws
  // OPD_OUT_OF_MEMORY.
  virtual void *allocate(size_t bytes, MemoryUse use = MemoryUse::kTensor) = 0;
  virtual void deallocate(void *data, size_t bytes) noexcept = 0;  // `bytes`: as given to allocate()
  virtual void trim() noexcept = 0;
};

// A block of device memory. Tensors in it hold a reference.
struct Storage : Object {
  static int32_t type() { return registered_type<"opdyno.Storage">(); }
  void *data = nullptr;
  size_t size = 0;
  DLDevice device{};
  Allocator *allocator = nullptr;

  Storage() = default;
  ~Storage() {
    if (allocator) allocator->deallocate(data, size);
  }
  static Ref<Storage> make(DLDevice device, opd_allocator_kind kind, size_t bytes, MemoryUse use = MemoryUse::kTensor);
  static Ref<Storage> make(DLDevice device, const ImageShape &image, MemoryUse use = MemoryUse::kTensor);
};

// Allocates an image, as Allocator::allocate() does. The naive allocator frees it by its size in bytes.
void *allocate_image(DLDevice device, const ImageShape &image, MemoryUse use);

opd_memory_stats memory_stats(DLDevice device);
void reset_memory_peak(DLDevice device);
void trim_memory(DLDevice device);
void trim_all_memory();
void set_memory_hooks(const opd_memory_hooks *hooks);

// Scratch memory of kernels: last in, first out, cached per thread. Implements the contract of
// TVMBackendAllocWorkspace.
void *allocate_workspace(DLDevice device, size_t bytes) noexcept;  // 64-byte aligned; null if there is no memory
bool free_workspace_block(DLDevice device, void *data) noexcept;   // false if it is not a block of this thread

// Frees the calling thread's idle blocks. After DeviceMemory::trim(), other threads free theirs at their next use.
void trim_workspace() noexcept;

}  // namespace opd
