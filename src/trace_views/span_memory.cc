#include "trace_views/span_memory.h"

namespace opd {

std::vector<SpanMemory> span_memory(const ThreadSpans &thread) {
  if (thread.track->memory.empty()) return {};
  std::vector<SpanMemory> found(thread.spans.size());
  each_moment(thread, thread.track->memory, [&](const Event &change, uint32_t place) {
    if (place == Span::kNone) return;
    SpanMemory::Sum &sum = found[place].of(change);
    sum.self += signed_bytes(change), sum.total += signed_bytes(change);
  });
  // A span comes before the spans within it.
  for (size_t i = found.size(); i-- > 0;) {
    if (thread.spans[i].parent == Span::kNone) continue;
    SpanMemory &parent = found[thread.spans[i].parent];
    parent.host.total += found[i].host.total, parent.other.total += found[i].other.total;
  }
  return found;
}

std::optional<DLDevice> other_device(const Trace &trace) {
  for (const TraceTrack &track : trace.parts.tracks)
    for (const Event *change : track.memory)
      if (change->device.device_type != kDLCPU) return change->device;
  return std::nullopt;
}

}  // namespace opd
