// The blocks of memory of one device in a trace: what each is for, when it came and went, when it was written anew, and
// which span did so.
// Cost: some 200 ns an event (tools/bench, trace_memory_timeline).
#pragma once
#include <string_view>
#include <vector>

#include "trace/model/trace.h"

namespace opd {

// The numbers are those of torch.profiler's files, which has 1 for the optimizer's state: memory that is kept from step
// to step. Those between them are of training.
enum class MemoryCategory : uint8_t {
  kParameter = 0,   // constants of programs, tensors of parameter files
  kCache = 1,       // KV caches and RNN states
  kInput = 2,       // tensors that were made outside of runs
  kTemporary = 3,   // scratch memory of kernels, and what was given back before the operator that made it ended
  kActivation = 4,  // other tensors that runs made
  kUnknown = 7      // was there before the recording
};
inline constexpr size_t kMemoryCategories = 8;
// PyTorch's; kIncrementVersion: a block was written anew.
enum class MemoryAction : uint8_t { kPreexisting = 1, kCreate = 2, kIncrementVersion = 3, kDestroy = 4 };

// The contents of a block from one write to the next.
struct MemoryVersion {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t block;
  uint32_t before = kNone;      // the block's version before this one; kNone: this is the first
  const Event *made = nullptr;  // null: it was there before the recording
  const Event *span = nullptr;  // the innermost one around `made`; null: there is none
  MemoryCategory category = MemoryCategory::kUnknown;
};

struct MemoryBlock {
  uint64_t bytes;
  const Event *freed = nullptr;  // null: it is there at the end
  uint32_t version;              // the last one
  uint32_t process = 0;          // its place in the trace
};

struct MemoryStep {
  const Event *event;  // null: before the recording
  uint32_t version;    // kDestroy: the one that ends
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
  int64_t unix_ns(const TraceParts &parts, const MemoryStep &step) const {  // of a step with an event
    return unix_ns(parts, block(step), *step.event);
  }
  // Calls visit(category, bytes) for what the step changes: one category, or, if a version replaces another, first the
  // old version's category and then the new one's.
  template <class Visit>
  void each_change(const MemoryStep &step, const Visit &visit) const {
    const auto bytes = static_cast<int64_t>(block(step).bytes);
    const MemoryVersion &now = version(step);
    if (step.action == MemoryAction::kIncrementVersion) visit(versions[now.before].category, -bytes);
    visit(now.category, step.action == MemoryAction::kDestroy ? -bytes : bytes);
  }
  int64_t signed_bytes(const MemoryStep &step) const {  // of all categories
    int64_t sum = 0;
    each_change(step, [&](MemoryCategory, int64_t bytes) { sum += bytes; });
    return sum;
  }
  bool changes_sums(const MemoryStep &step) const {  // of categories
    return step.action != MemoryAction::kIncrementVersion ||
           versions[version(step).before].category != version(step).category;
  }
};

// `device`: such as "cuda:0"; "": a device other than the host if the trace has events of its memory, else the host.
// Memory that was in use before the recording and is never freed is one block of each process, except blocks that were
// written.
//
// Versions: the first event of kBind of a block is part of its creation, unless it changes the category. Each later one
// makes a version. A version that a run wrote is an activation, and one that was written outside of runs an input.
// Parameters, caches and scratch memory keep their category, as in PyTorch, which identifies parameters by their block.
// Throws OPD_FAILED_PRECONDITION if memory was not recorded, OPD_INVALID_ARGUMENT for a text that is no device.
MemoryTimeline memory_timeline(const Trace &trace, std::string_view device);

}  // namespace opd
