// Blocks of memory that the library itself gives new contents while a recording asks for memory: an event for each such
// version (kBind). What a kernel writes to a tensor that it was given is not seen.
// Cost: a load if no recording asks for it.
#pragma once
#include "trace/memory_event.h"
#include "vm/pool.h"

namespace opd {

// A tensor was made in the storage, which a kernel is about to fill. To be called if is_recording_memory().
void record_version(const VmStorage &storage) noexcept;

void record_write(const Tensor &tensor, MemoryUse use) noexcept;
// The library wrote to a tensor that existed before.
inline void note_write(const Tensor &tensor, MemoryUse use = MemoryUse::kTensor) noexcept {
  if (is_recording_memory()) [[unlikely]]
    record_write(tensor, use);
}

}  // namespace opd
