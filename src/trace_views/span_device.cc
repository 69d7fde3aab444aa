#include "trace_views/span_device.h"

#include <algorithm>

#include "value/dtype.h"

namespace opd {

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
