#include "trace_views/memory_timeline.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "trace/record/memory_event.h"
#include "trace_views/spans.h"
#include "value/dtype.h"

namespace opd {
namespace {

struct Change {
  const Event *event;
  const ThreadSpans *thread;
  uint32_t span;  // index on the thread
};

struct Live {
  uint32_t block;
  bool is_written = false;  // whether it was written since its allocation
};

struct Process {
  const Event *first = nullptr;
  std::unordered_map<uint64_t, Live> live;  // blocks by address
  uint64_t known_before = 0;                // bytes in use before the recording, in known blocks
};

class MemoryTimelineMaker {
 public:
  MemoryTimelineMaker(const Trace &trace, DLDevice device)
      : parts_(trace.parts), threads_(nest_spans(trace)), processes_(trace.parts.processes.size()) {
    made_.device = device;
  }

  MemoryTimeline make() {
    const std::vector<Change> changes = changes_of_device();
    made_.steps.reserve(changes.size());
    made_.blocks.reserve(changes.size());
    made_.versions.reserve(changes.size());
    for (const Change &change : changes) {
      Process &process = process_of(change);
      if (!process.first) process.first = change.event;
      if (change.event->kind == EventKind::kAlloc) allocate(change);
      else if (change.event->kind == EventKind::kFree) free(change);
      else write(change);
    }
    for (uint32_t place = 0; place < processes_.size(); ++place)
      if (processes_[place].first) add_rest(place);
    made_.steps.insert(made_.steps.begin(), before_.begin(), before_.end());
    return std::move(made_);
  }

 private:
  // The events of one thread in the order of time. At the same tick, kAlloc comes before kBind, and kBind before kFree.
  static std::vector<const Event *> events_of(const TraceTrack &track) {
    std::vector<const Event *> events(track.memory.size() + track.binds.size());
    std::ranges::merge(track.memory, track.binds, events.begin(), [](const Event *a, const Event *b) {
      return a->begin != b->begin ? a->begin < b->begin : a->kind == EventKind::kBind && b->kind == EventKind::kFree;
    });
    return events;
  }

  std::vector<Change> changes_of_device() const {
    std::vector<Change> changes;
    for (const ThreadSpans &thread : threads_) {
      const auto add = [&](const Event &event, uint32_t span) {
        if (same(event.device, made_.device)) changes.push_back({&event, &thread, span});
      };
      if (thread.track->binds.empty()) each_moment(thread, thread.track->memory, add);
      else each_moment(thread, events_of(*thread.track), add);
    }
    const auto time = [&](const Change &change) { return parts_.order_of(change.event->begin, *change.thread->track); };
    if (!std::ranges::is_sorted(changes, {}, time)) std::ranges::stable_sort(changes, {}, time);
    return changes;
  }

  Process &process_of(const Change &change) { return processes_[change.thread->track->process]; }

  void allocate(const Change &change) {
    const MemoryChange memory = memory_change(*change.event);
    const auto block = static_cast<uint32_t>(made_.blocks.size());
    const auto [place, fresh] = process_of(change).live.try_emplace(memory.address, Live{block});
    if (!fresh) {  // there was no room for the earlier event of its return
      destroy(place->second.block, *change.event);
      place->second = {block};
    }
    add_block(change.thread->track->process, memory.bytes);
    add_version(block, change, category_of(change), MemoryAction::kCreate);
  }

  // An unknown block was in use before the recording. If it is not certain that the block is the library's, it may be
  // foreign memory.
  void write(const Change &change) {
    const MemoryChange memory = memory_change(*change.event);
    auto &live = process_of(change).live;
    auto found = live.find(memory.address);
    if (found == live.end()) {
      if (memory.bytes == 0) return;
      const uint32_t block = add_before(change.thread->track->process, memory.bytes);
      found = live.emplace(memory.address, Live{block}).first;
    }
    Live &known = found->second;
    const MemoryCategory old = made_.versions[made_.blocks[known.block].version].category;
    const bool stays =
        old == MemoryCategory::kParameter || old == MemoryCategory::kCache || old == MemoryCategory::kTemporary;
    const MemoryCategory category = stays ? old : category_of(change);
    if (!std::exchange(known.is_written, true) && category == old) return;
    add_version(known.block, change, category, MemoryAction::kIncrementVersion);
  }

  void free(const Change &change) {
    const MemoryChange memory = memory_change(*change.event);
    auto &live = process_of(change).live;
    const auto found = live.find(memory.address);
    if (found == live.end()) return destroy(add_before(change.thread->track->process, memory.bytes), *change.event);
    destroy(found->second.block, *change.event);
    live.erase(found);
  }

  void destroy(uint32_t place, const Event &event) {
    MemoryBlock &block = made_.blocks[place];
    block.freed = &event;
    made_.steps.push_back({&event, block.version, MemoryAction::kDestroy});
    const Event *const span = first_version(block).span;
    if (!span || span->kind != EventKind::kCall || event.begin > span->end) return;
    for (uint32_t at = block.version; at != MemoryVersion::kNone; at = made_.versions[at].before)
      if (MemoryCategory &category = made_.versions[at].category; category == MemoryCategory::kActivation)
        category = MemoryCategory::kTemporary;
  }

  const MemoryVersion &first_version(const MemoryBlock &block) const {
    const MemoryVersion *at = &made_.versions[block.version];
    while (at->before != MemoryVersion::kNone) at = &made_.versions[at->before];
    return *at;
  }

  uint32_t add_block(uint32_t process, uint64_t bytes) {
    made_.blocks.push_back({.bytes = bytes, .version = MemoryVersion::kNone, .process = process});
    return static_cast<uint32_t>(made_.blocks.size()) - 1;
  }

  void add_version(uint32_t block, const Change &change, MemoryCategory category, MemoryAction action) {
    const Event *const span = change.span == Span::kNone ? nullptr : change.thread->spans[change.span].event;
    made_.steps.push_back({change.event, next_version(), action});
    made_.versions.push_back({block, made_.blocks[block].version, change.event, span, category});
    made_.blocks[block].version = next_version() - 1;
  }
  uint32_t next_version() const { return static_cast<uint32_t>(made_.versions.size()); }

  uint32_t add_before(uint32_t process, uint64_t bytes) {
    const uint32_t place = add_block(process, bytes);
    made_.blocks[place].version = next_version();
    before_.push_back({nullptr, next_version(), MemoryAction::kPreexisting});
    made_.versions.push_back({.block = place});
    processes_[process].known_before += bytes;
    return place;
  }

  // Adds memory in use before the process's first event, except blocks that were freed or written later.
  void add_rest(uint32_t place) {
    const Event &first = *processes_[place].first;
    const uint64_t known = processes_[place].known_before;
    const int64_t before = static_cast<int64_t>(memory_change(first).allocated) - signed_bytes(first);
    if (before > static_cast<int64_t>(known)) add_before(place, static_cast<uint64_t>(before) - known);
  }

  MemoryCategory category_of(const Change &change) const {
    if (change.event->name == memory_use_name(MemoryUse::kParameter)) return MemoryCategory::kParameter;
    if (change.event->name == memory_use_name(MemoryUse::kCache)) return MemoryCategory::kCache;
    if (change.event->name == memory_use_name(MemoryUse::kWorkspace)) return MemoryCategory::kTemporary;
    if (change.event->name == memory_use_name(MemoryUse::kResult)) return MemoryCategory::kActivation;
    for (uint32_t at = change.span; at != Span::kNone; at = change.thread->spans[at].parent) {
      const EventKind kind = change.thread->spans[at].event->kind;
      if (kind == EventKind::kRun || kind == EventKind::kCall) return MemoryCategory::kActivation;
    }
    return MemoryCategory::kInput;
  }

  const TraceParts &parts_;
  const std::vector<ThreadSpans> threads_;
  std::vector<Process> processes_;  // parallel to the trace's processes
  MemoryTimeline made_;
  std::vector<MemoryStep> before_;
};

// The host exists in every trace, even if it allocated nothing.
void require_memory_of(const Trace &trace, DLDevice device) {
  if (same(device, {kDLCPU, 0})) return;
  std::string present;
  for (const TraceTrack &track : trace.parts.tracks)
    for (const auto *events : {&track.memory, &track.binds})
      for (const Event *event : *events) {
        if (same(event->device, device)) return;
        const std::string name = device_name(event->device);
        if (present.find(name) == std::string::npos) present += concat(present.empty() ? "" : ", ", name);
      }
  fail(OPD_INVALID_ARGUMENT, "the trace has no memory of ", device_name(device), "; it has that of ",
       present.empty() ? "no device" : present);
}

}  // namespace

MemoryTimeline memory_timeline(const Trace &trace, std::string_view device) {
  if (!trace.parts.has_memory)
    fail(OPD_FAILED_PRECONDITION, "the trace has no events of memory: record it with profile_memory");
  const DLDevice of = device.empty() ? other_device(trace).value_or(DLDevice{kDLCPU, 0}) : parse_device(device);
  if (!device.empty()) require_memory_of(trace, of);
  return MemoryTimelineMaker(trace, of).make();
}

}  // namespace opd
