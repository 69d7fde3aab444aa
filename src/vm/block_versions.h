// Memory recordings: one event (kBind) for each version of a block. A version begins when the library gives the block
// new contents. Writes of kernels to their arguments are not recorded. Cost without such a recording: one load.
#pragma once
#include "trace/record/memory_event.h"
#include "vm/pool.h"

namespace opd {

// Records that a tensor was made in the storage, which a kernel will fill next. Call it only if is_recording_memory().
void record_version(const VmStorage &storage) noexcept;

void record_write(const Tensor &tensor, MemoryUse use) noexcept;
// Records that the library wrote to an existing tensor.
inline void note_write(const Tensor &tensor, MemoryUse use = MemoryUse::kTensor) noexcept {
  if (is_recording_memory()) [[unlikely]]
    record_write(tensor, use);
}

}  // namespace opd
