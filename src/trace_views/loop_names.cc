#include "trace_views/loop_names.h"

#include <algorithm>

#include "trace_views/key_averages.h"

namespace opd {

// The launching thread waits until the loop has ended. So the innermost span open at a task's begin launched the loop.
const Event *LoopNames::span_around(const Event &task, uint32_t process) {
  for (const TraceTrack &track : trace_.parts.tracks) {
    if (track.process != process || static_cast<uint32_t>(track.thread_id) != loop_task(task).thread) continue;
    const auto [place, fresh] = threads_.try_emplace(&track);
    if (fresh) place->second = nest_spans(track);
    const std::vector<Span> &spans = place->second.spans;
    const auto after =
        std::ranges::upper_bound(spans, task.begin, {}, [](const Span &span) { return span.event->begin; });
    if (after == spans.begin()) continue;
    auto at = static_cast<uint32_t>(after - spans.begin() - 1);
    while (at != Span::kNone && spans[at].event->end < task.begin) at = spans[at].parent;
    if (at != Span::kNone) return spans[at].event;
  }
  return nullptr;
}

const std::string &LoopNames::of(const Event &task, uint32_t process) {
  const auto [place, fresh] = names_.try_emplace({process, loop_task(task).loop}, "parallel_for");
  if (!fresh) return place->second;
  if (const Event *around = span_around(task, process)) place->second = span_name(*around);
  return place->second;
}

}  // namespace opd
