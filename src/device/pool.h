// The allocators of a device: blocks that go back at once, and blocks kept in free lists of one size each.
#pragma once
#include <memory>

#include "device/device_memory.h"

namespace opd {

std::unique_ptr<Allocator> make_naive_allocator(DeviceMemory &memory);
std::unique_ptr<Allocator> make_pooled_allocator(DeviceMemory &memory);

// The size of the block that serves `bytes` from the pool. Programs ask for few distinct large sizes, so pages do;
// small ones are kept in steps of 64 bytes, where whole pages would waste most of the memory and the cache.
inline size_t pooled_size(size_t bytes) { return bytes == 0 ? 64 : round_up(bytes, bytes <= 4096 ? 64 : 4096); }

}  // namespace opd
