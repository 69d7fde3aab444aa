// Events of memory that devices hand out and get back, and that is written anew. Cost: a load if no recording asks for
// them.
#pragma once
#include <atomic>

#include "trace/model/event.h"

namespace opd {

namespace detail {
extern std::atomic<uint32_t> memory_recordings;  // a bit for each that records memory
}
inline bool is_recording_memory() { return detail::memory_recordings.load(std::memory_order_relaxed) != 0; }

enum class MemoryUse : uint8_t {
  kTensor,
  kWorkspace,  // scratch memory of kernels
  kParameter,  // constants of programs, tensors of parameter files
  kCache,      // what a language model keeps from step to step: KV caches, RNN states
  kResult      // of kBind: results of a run that went to tensors of the caller
};
NameId memory_use_name(MemoryUse use);  // "workspace", "parameter", "cache", "result"; kNoName: tensors

// Adds an event of kAlloc, kFree or kBind to the calling thread's track. Of a block that is handed out again, the event
// of its return must come first: add that before another thread can get it. If memory is short, the event is not
// recorded.
void add_memory_event(EventKind kind, DLDevice device, const MemoryChange &change,
                      MemoryUse use = MemoryUse::kTensor) noexcept;

}  // namespace opd
