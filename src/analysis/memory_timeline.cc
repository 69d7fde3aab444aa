#include "analysis/memory_timeline.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/span_memory.h"
#include "base/error.h"
#include "trace/memory_event.h"
#include "value/dtype.h"

namespace opd {
namespace {

struct Change {
  const Event *event;
  const ThreadSpans *thread;
  uint32_t span;  // place on the thread
};

class Maker {
 public:
  Maker(const std::vector<ThreadSpans> &threads, DLDevice device) : threads_(threads) { made_.device = device; }

  MemoryTimeline make() {
    const std::vector<Change> changes = changes_of_device();
    made_.steps.reserve(changes.size());
    made_.blocks.reserve(changes.size());
    for (const Change &change : changes) {
      if (change.event->kind == EventKind::kAlloc) allocate(change);
      else free(*change.event);
    }
    if (!changes.empty()) add_rest(*changes[0].event);
    made_.steps.insert(made_.steps.begin(), before_.begin(), before_.end());
    return std::move(made_);
  }

 private:
  std::vector<Change> changes_of_device() const {
    std::vector<Change> changes;
    for (const ThreadSpans &thread : threads_)
      each_memory_event(thread, [&](const Event &event, uint32_t span) {
        if (same(event.device, made_.device)) changes.push_back({&event, &thread, span});
      });
    const auto tick = [](const Change &change) { return change.event->begin; };
    if (!std::ranges::is_sorted(changes, {}, tick)) std::ranges::stable_sort(changes, {}, tick);
    return changes;
  }

  void allocate(const Change &change) {
    const MemoryChange memory = memory_change(*change.event);
    const auto block = static_cast<uint32_t>(made_.blocks.size());
    const auto [place, fresh] = live_.try_emplace(memory.address, block);
    if (!fresh) {  // there was no room for the event of its return, which came before
      destroy(place->second, *change.event);
      place->second = block;
    }
    const Event *const span = change.span == Span::kNone ? nullptr : change.thread->spans[change.span].event;
    made_.blocks.push_back({memory.bytes, change.event, nullptr, span, category_of(change)});
    made_.steps.push_back({change.event, block, MemoryAction::kCreate});
  }

  void free(const Event &event) {
    const MemoryChange memory = memory_change(event);
    const auto found = live_.find(memory.address);
    if (found == live_.end()) return destroy(add_before(memory.bytes), event);
    destroy(found->second, event);
    live_.erase(found);
  }

  void destroy(uint32_t place, const Event &event) {
    MemoryBlock &block = made_.blocks[place];
    block.freed = &event;
    made_.steps.push_back({&event, place, MemoryAction::kDestroy});
    const bool within = block.span && block.span->kind == EventKind::kCall && event.begin <= block.span->end;
    if (within && block.category == MemoryCategory::kActivation) block.category = MemoryCategory::kTemporary;
  }

  uint32_t add_before(uint64_t bytes) {
    const auto place = static_cast<uint32_t>(made_.blocks.size());
    made_.blocks.push_back({bytes});
    before_.push_back({nullptr, place, MemoryAction::kPreexisting});
    known_before_ += bytes;
    return place;
  }

  // What was in use before the first event, apart from the blocks that were freed since.
  void add_rest(const Event &first) {
    const int64_t before = static_cast<int64_t>(memory_change(first).allocated) - signed_bytes(first);
    if (before > static_cast<int64_t>(known_before_)) add_before(static_cast<uint64_t>(before) - known_before_);
  }

  MemoryCategory category_of(const Change &change) const {
    if (change.event->name == memory_use_name(MemoryUse::kParameter)) return MemoryCategory::kParameter;
    if (change.event->name == memory_use_name(MemoryUse::kWorkspace)) return MemoryCategory::kTemporary;
    for (uint32_t at = change.span; at != Span::kNone; at = change.thread->spans[at].parent) {
      const EventKind kind = change.thread->spans[at].event->kind;
      if (kind == EventKind::kRun || kind == EventKind::kCall) return MemoryCategory::kActivation;
    }
    return MemoryCategory::kInput;
  }

  const std::vector<ThreadSpans> &threads_;
  MemoryTimeline made_;
  std::unordered_map<uint64_t, uint32_t> live_;  // by address
  std::vector<MemoryStep> before_;
  uint64_t known_before_ = 0;  // bytes
};

}  // namespace

MemoryTimeline memory_timeline(const Trace &trace, std::string_view device) {
  if (!trace.parts.has_memory)
    fail(OPD_FAILED_PRECONDITION, "the trace has no events of memory: record it with profile_memory");
  const DLDevice of = device.empty() ? other_device(trace).value_or(DLDevice{kDLCPU, 0}) : parse_device(device);
  return Maker(nest_spans(trace), of).make();
}

}  // namespace opd
