// The blocks of memory of one device in a trace: their purposes, when they were allocated, rewritten and freed, and the
// spans that did so.
// Cost: about 200 ns an event (tools/bench, trace_memory_timeline).
#pragma once
#include <string_view>
#include <vector>

#include "trace/model/trace.h"

namespace opd {

// The numbers are those of torch.profiler's files. There, 1 is the optimizer's state: memory that is kept from step to
// step. The missing numbers are for training.
enum class MemoryCategory : uint8_t {
  kParameter = 0,   // constants of programs, tensors of parameter files
  kCache = 1,       // KV caches and RNN states
  kInput = 2,       // tensors made outside of runs
  kTemporary = 3,   // scratch memory of kernels, and memory freed before its operator ended
  kActivation = 4,  // other tensors made by runs
  kUnknown = 7      // in use before the recording
};
inline constexpr size_t kMemoryCategories = 8;
// PyTorch's actions. kIncrementVersion: a block was rewritten.
enum class MemoryAction : uint8_t { kPreexisting = 1, kCreate = 2, kIncrementVersion = 3, kDestroy = 4 };

// The contents of a block from one write to the next.
struct MemoryVersion {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t block;
  uint32_t before = kNone;      // the block's previous version; kNone: none
  const Event *made = nullptr;  // null: in use before the recording
  const Event *span = nullptr;  // the innermost span around `made`; null: none
  MemoryCategory category = MemoryCategory::kUnknown;
};

struct MemoryBlock {
  uint64_t bytes;
  const Event *freed = nullptr;  // null: still in use at the end
  uint32_t version;              // the last version
  uint32_t process = 0;          // index of the process in the trace
};

struct MemoryStep {
  const Event *event;  // null: before the recording
  uint32_t version;    // kDestroy: the version that ends
  MemoryAction action;
};

struct MemoryTimeline {
  DLDevice device;
  std::vector<MemoryBlock> blocks;
  std::vector<MemoryVersion> versions;
  std::vector<MemoryStep> steps;  // in the order of time

  const MemoryVersion &version(const MemoryStep &step) const { return versions[step.version]; }
  const MemoryBlock &block(const MemoryStep &step) const { return blocks[version(step).block]; }
  static int64_t unix_ns(const TraceParts &parts, const MemoryBlock &block, const Event &event) {
    return parts.processes[block.process].unix_ns(event.begin);
  }
  int64_t unix_ns(const TraceParts &parts, const MemoryStep &step) const {  // the step must have an event
    return unix_ns(parts, block(step), *step.event);
  }
  // Calls visit(category, bytes) for what the step changes: one category. If a version replaces another, there are two
  // calls: the old version's category, then the new one's.
  template <class Visit>
  void each_change(const MemoryStep &step, const Visit &visit) const {
    const auto bytes = static_cast<int64_t>(block(step).bytes);
    const MemoryVersion &now = version(step);
    if (step.action == MemoryAction::kIncrementVersion) visit(versions[now.before].category, -bytes);
    visit(now.category, step.action == MemoryAction::kDestroy ? -bytes : bytes);
  }
  int64_t signed_bytes(const MemoryStep &step) const {  // sum over all categories
    int64_t sum = 0;
    each_change(step, [&](MemoryCategory, int64_t bytes) { sum += bytes; });
    return sum;
  }
  bool changes_sums(const MemoryStep &step) const {  // whether a category's sum changes
    return step.action != MemoryAction::kIncrementVersion ||
           versions[version(step).before].category != version(step).category;
  }
};

// `device`: a name such as "cuda:0". "": a device other than the host if the trace has events of its memory, else the
// host. Memory that was in use before the recording and is never freed is one block for each process. Written blocks
// are separate.
//
// Versions: a block's first kBind event is part of its creation, unless it changes the category. Each later one makes a
// version. A version written by a run is an activation; one written outside of runs is an input. Parameters, caches and
// scratch memory keep their category, as in PyTorch, which identifies parameters by their block. Throws
// OPD_FAILED_PRECONDITION if memory was not recorded, OPD_INVALID_ARGUMENT for an invalid device name.
MemoryTimeline memory_timeline(const Trace &trace, std::string_view device);

}  // namespace opd
