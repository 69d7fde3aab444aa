// The nesting of a trace's spans: the parent of each span, and its self time, without nested spans. Also what spans
// took: memory and work of devices.
// Cost: with key_averages() about 100 ns a span (tools/bench, trace_table).
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/model/trace.h"

namespace opd {

// A call, a run, a range or a mark; on time lines also a task of a parallel loop; on tracks of devices, their work.
struct Span {
  static constexpr uint32_t kNone = UINT32_MAX;
  const Event *event;
  uint64_t self;    // ticks not covered by nested spans
  uint32_t parent;  // index of the enclosing span; kNone: none
  uint32_t end;     // index of the next span that is not nested in it
  uint32_t depth;   // 0: outermost
  uint32_t lane;    // 0, unless it overlaps a span that does not contain it; spans of one lane are nested or apart
};

struct ThreadSpans {
  const TraceTrack *track;
  std::vector<Span> spans;  // sorted by begin; a span comes before the spans within it
  uint32_t num_lanes = 1;
};

// `with_tasks`: includes tasks of parallel loops. Otherwise the call that launched a loop has the time of the task that
// its thread ran.
ThreadSpans nest_spans(const TraceTrack &track, bool with_tasks = false);
// One item for each thread of the trace.
std::vector<ThreadSpans> nest_spans(const Trace &trace);
// One item for each track of the trace: threads, then devices.
std::vector<ThreadSpans> nest_all_spans(const Trace &trace, bool with_tasks);

// For each span of the lane, calls visit(span, true) at its start and visit(span, false) at its end, in the order of
// time.
template <class Visit>
void each_boundary(const ThreadSpans &thread, uint32_t lane, const Visit &visit) {
  std::vector<const Span *> open;
  const auto close = [&](uint32_t place) {  // ends spans that do not contain the span at this index
    for (; !open.empty() && open.back()->end <= place; open.pop_back()) visit(*open.back(), false);
  };
  for (uint32_t i = 0; i < thread.spans.size(); ++i) {
    if (thread.spans[i].lane != lane) continue;
    close(i);
    visit(thread.spans[i], true);
    open.push_back(&thread.spans[i]);
  }
  close(Span::kNone);
}

// ---- the memory that spans allocated and freed. A change belongs to the innermost span that is open on its thread.

struct SpanMemory {  // bytes; negative: more was freed than allocated
  struct Sum {
    int64_t self = 0, total = 0;  // without and with nested spans
  } host, other;                  // other: sum over the other devices

  Sum &of(const Event &change) { return change.device.device_type == kDLCPU ? host : other; }
  SpanMemory &operator+=(const SpanMemory &more) {
    host.self += more.host.self, host.total += more.host.total;
    other.self += more.other.self, other.total += more.other.total;
    return *this;
  }
};

// One item for each span of the thread, in their order; empty if the thread has no memory events.
std::vector<SpanMemory> span_memory(const ThreadSpans &thread);

// Returns a device other than the host that has memory events.
std::optional<DLDevice> other_device(const Trace &trace);

// Calls visit(event, index of the innermost span) for each event, in their order; Span::kNone: there is no span. The
// events are moments on the thread. `tick_of`: the moment of an event.
template <class Visit, class Tick>
void each_moment(const ThreadSpans &thread, std::span<const Event *const> events, const Visit &visit,
                 const Tick &tick_of) {
  std::vector<uint32_t> open;
  uint32_t next = 0;
  const auto close = [&](uint64_t tick) {  // overlapping spans: one may stay below another that ends later
    while (!open.empty() && thread.spans[open.back()].event->end < tick) open.pop_back();
  };
  for (const Event *moment : events) {
    const uint64_t tick = tick_of(*moment);
    for (; next < thread.spans.size() && thread.spans[next].event->begin <= tick; ++next) {
      const Event &event = *thread.spans[next].event;
      if (event.kind == EventKind::kMark) continue;
      close(event.begin);
      open.push_back(next);
    }
    close(tick);
    visit(*moment, open.empty() ? Span::kNone : open.back());
  }
}
template <class Visit>
void each_moment(const ThreadSpans &thread, std::span<const Event *const> events, const Visit &visit) {
  each_moment(thread, events, visit, [](const Event &event) { return event.begin; });
}

// ---- the device work that spans submitted. It belongs to the innermost span that was open on the submitting thread.

// The category of work in torch.profiler's files, and the name of its launch there; null: it has none.
struct WorkText {
  const char *category, *launch;
};
inline const WorkText &work_text(WorkKind kind) {
  static constexpr WorkText kTexts[] = {{"kernel", "launch"},   {"gpu_memcpy", "copy"}, {"gpu_memcpy", "copy"},
                                        {"gpu_memcpy", "copy"}, {"gpu_memset", "fill"}, {"overhead", nullptr}};
  return kTexts[static_cast<size_t>(kind)];
}
constexpr bool has_bytes(WorkKind kind) { return kind != WorkKind::kKernel && kind != WorkKind::kOverhead; }

struct SpanDevice {
  uint64_t self = 0, total = 0;  // ticks on devices, without and with nested spans
};

class GivenWork {
 public:
  explicit GivenWork(const Trace &trace);
  bool empty() const { return works_.empty(); }
  // The work that the thread submitted to devices, in that order.
  std::span<const Event *const> of(const TraceTrack &thread) const;
  // Calls visit(work, index of the innermost span around its launch) for each work; Span::kNone: there is no span.
  template <class Visit>
  void each_launch(const ThreadSpans &thread, const Visit &visit) const {
    each_moment(thread, of(*thread.track), visit, [](const Event &work) { return device_work(work).launched; });
  }
  // One item for each span of the thread, in their order; empty if the thread submitted no work.
  std::vector<SpanDevice> of_spans(const ThreadSpans &thread) const;
  // "opencl"; "device" for several kinds.
  const std::string &kind() const { return kind_; }

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const Event *>> works_;  // key: process and thread number
  std::string kind_;
};

}  // namespace opd
