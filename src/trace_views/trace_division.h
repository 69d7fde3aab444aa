// Divides a trace into parts, which a comparison treats as runs: the steps of schedules; without steps, the outermost
// runs of programs; without runs, the outermost ranges; else the whole trace. Parts that had not ended when the
// recording did are left out, because they would seem too fast.
#pragma once
#include <vector>

#include "trace_views/spans.h"

namespace opd {

struct TraceDivision {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t num_parts = 0;                      // parts are numbered in the order of their begins
  std::vector<std::vector<uint32_t>> part_of;  // per thread: the part of each span; kNone: in no part
};

// `threads`: those of the trace. Spans on any thread that begin during a step of their process belong to this step.
// Spans nested in a run or a range belong to it.
TraceDivision divide(const Trace &trace, const std::vector<ThreadSpans> &threads);

}  // namespace opd
