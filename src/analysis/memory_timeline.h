// The blocks of memory of one device in a trace: what each is for, when it came and went, and which span made it.
// Cost: some 200 ns an event (tools/bench, trace_memory_timeline).
#pragma once
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace opd {

// The numbers are those of torch.profiler's files; those between them are of training.
enum class MemoryCategory : uint8_t {
  kParameter = 0,   // constants of programs, tensors of parameter files
  kInput = 2,       // tensors that were made outside of runs
  kTemporary = 3,   // scratch memory of kernels, and what was given back before the operator that made it ended
  kActivation = 4,  // other tensors that runs made
  kUnknown = 7      // was there before the recording
};
inline constexpr size_t kMemoryCategories = 8;
// 3 is a new version of a tensor, written in place: these are not recorded.
enum class MemoryAction : uint8_t { kPreexisting = 1, kCreate = 2, kDestroy = 4 };

struct MemoryBlock {
  uint64_t bytes;
  const Event *made = nullptr;   // null: it was there before the recording
  const Event *freed = nullptr;  // null: it is there at the end
  const Event *span = nullptr;   // the innermost one around `made`; null: there is none
  MemoryCategory category = MemoryCategory::kUnknown;
  uint32_t process = 0;  // its place in the trace
};

struct MemoryStep {
  const Event *event;  // null: before the recording
  uint32_t block;
  MemoryAction action;
};

struct MemoryTimeline {
  DLDevice device;
  std::vector<MemoryBlock> blocks;
  std::vector<MemoryStep> steps;  // in the order of time

  const MemoryBlock &block(const MemoryStep &step) const { return blocks[step.block]; }
  static int64_t unix_ns(const TraceParts &parts, const MemoryBlock &block, const Event &event) {
    return parts.processes[block.process].unix_ns(event.begin);
  }
  int64_t unix_ns(const TraceParts &parts, const MemoryStep &step) const {  // of a step with an event
    return unix_ns(parts, block(step), *step.event);
  }
  int64_t signed_bytes(const MemoryStep &step) const {
    const auto bytes = static_cast<int64_t>(block(step).bytes);
    return step.action == MemoryAction::kDestroy ? -bytes : bytes;
  }
};

// `device`: such as "cuda:0"; "": a device other than the host if the trace has events of its memory, else the host.
// What was in use before the recording and stays is one block of each process. Throws OPD_FAILED_PRECONDITION if memory
// was not recorded, OPD_INVALID_ARGUMENT for a text that is no device.
MemoryTimeline memory_timeline(const Trace &trace, std::string_view device);

}  // namespace opd
