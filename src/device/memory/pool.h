// The two allocators of a device. One returns blocks at once; the other keeps them in free lists by size.
#pragma once
#include <memory>

#include "device/memory/device_memory.h"

namespace opd {

std::unique_ptr<Allocator> make_naive_allocator(DeviceMemory &memory);
std::unique_ptr<Allocator> make_pooled_allocator(DeviceMemory &memory);

// The size of the pool's block for `bytes`. Programs use few distinct large sizes, so these are rounded up to pages.
// Small sizes are rounded up to 64 bytes: whole pages would waste most of the memory and the cache.
inline size_t pooled_size(size_t bytes) { return bytes == 0 ? 64 : round_up(bytes, bytes <= 4096 ? 64 : 4096); }

}  // namespace opd
