// What spans took: memory, work of devices, operations.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/operator_cost.h"
#include "trace/model/shape_cache.h"
#include "trace_views/spans.h"

namespace opd {

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

// ---- the operations of recorded calls. An estimate takes microseconds, so it is made once per name and shapes.

class EventCosts {
 public:
  // None: not a call of a known operator.
  std::optional<double> flop(const Event &event) {
    if (event.kind != EventKind::kCall || !event.num_tensors) return std::nullopt;
    const auto [place, fresh] = known_.try_emplace(uint64_t{event.name} << 32 | shapes_.of(event));
    if (fresh) place->second = operator_cost(name_text(event.name), shapes_text(event)).flop;
    return place->second;
  }

 private:
  ShapeNumbers shapes_;
  std::unordered_map<uint64_t, std::optional<double>> known_;  // by name and shapes
};

}  // namespace opd
