// The nesting of a trace's spans: the parent of each span, and its self time, without nested spans.
// Cost: with key_averages() some 100 ns a span (tools/bench, trace_table).
#pragma once
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

// For each span of the lane, calls visit(span, true) at its begin and visit(span, false) at its end, in the order of
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

}  // namespace opd
