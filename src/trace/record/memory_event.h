// Events for memory of devices that is allocated, returned or rewritten. Cost: a load if no recording asks for them.
#pragma once
#include "trace/model/event.h"

namespace opd {

enum class MemoryUse : uint8_t {
  kTensor,
  kWorkspace,  // scratch memory of kernels
  kParameter,  // constants of programs, tensors of parameter files
  kCache,      // state that a language model keeps between steps: KV caches, RNN states
  kResult      // kBind: results of a run that were written to the caller's tensors
};
NameId memory_use_name(MemoryUse use);  // "workspace", "parameter", "cache", "result"; kNoName: tensors

// Adds an event of kAlloc, kFree or kBind to the calling thread's track. When a block is returned, add the event before
// another thread can get the block: its kFree must come before the next kAlloc. If memory cannot be allocated, the
// event is not recorded.
void add_memory_event(EventKind kind, DLDevice device, const MemoryChange &change,
                      MemoryUse use = MemoryUse::kTensor) noexcept;

}  // namespace opd
