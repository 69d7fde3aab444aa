#include "trace_views/span_costs.h"

#include <algorithm>

#include "value/dtype.h"

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

GivenWork::GivenWork(const Trace &trace) {
  for (const TraceTrack &track : trace.parts.tracks) {
    if (track.device) {
      const std::string kind = device_kind_name(track.device->device_type);
      kind_ = kind_.empty() || kind_ == kind ? kind : "device";
    }
    for (const Event *event : track.device_work)
      if (const DeviceWork work = device_work(*event); work.kind != WorkKind::kOverhead)
        works_[{track.process, work.thread}].push_back(event);
  }
  for (auto &[thread, works] : works_)
    std::ranges::stable_sort(works, {}, [](const Event *work) { return device_work(*work).launched; });
}

std::span<const Event *const> GivenWork::of(const TraceTrack &thread) const {
  const auto found = works_.find({thread.process, static_cast<uint32_t>(thread.thread_id)});
  if (thread.device || found == works_.end()) return {};
  return found->second;
}

std::vector<SpanDevice> GivenWork::of_spans(const ThreadSpans &thread) const {
  if (of(*thread.track).empty()) return {};
  std::vector<SpanDevice> found(thread.spans.size());
  each_launch(thread, [&](const Event &work, uint32_t place) {
    if (place == Span::kNone) return;
    found[place].self += length_ticks(work), found[place].total += length_ticks(work);
  });
  // A span comes before the spans within it.
  for (size_t i = found.size(); i-- > 0;)
    if (thread.spans[i].parent != Span::kNone) found[thread.spans[i].parent].total += found[i].total;
  return found;
}

}  // namespace opd
