// The memory that spans allocated and freed. A change belongs to the innermost span that is open on its thread.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "trace_views/spans.h"

namespace opd {

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

}  // namespace opd
