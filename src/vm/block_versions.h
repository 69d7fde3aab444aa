// If a recording asks for memory: an event (kBind) for each version of a block, that is, each time the library itself
// gives the block new contents. Writes of a kernel to its arguments are not seen.
// Cost: a load if no recording asks for it.
#pragma once
#include "trace/record/memory_event.h"
#include "vm/pool.h"

namespace opd {

// A tensor was made in the storage; a kernel will fill it next. To be called if is_recording_memory().
void record_version(const VmStorage &storage) noexcept;

void record_write(const Tensor &tensor, MemoryUse use) noexcept;
// The library wrote to a tensor that existed before.
inline void note_write(const Tensor &tensor, MemoryUse use = MemoryUse::kTensor) noexcept {
  if (is_recording_memory()) [[unlikely]]
    record_write(tensor, use);
}

}  // namespace opd
