// A trace divided into the parts that a comparison takes for runs: the steps of schedules; if there are none, the
// outermost runs of programs; if there are none, the outermost ranges; else the whole. Parts that had not ended when
// the recording did would seem faster than they are, so they are none.
#pragma once
#include <vector>

#include "trace_views/spans.h"

namespace opd {

struct TraceDivision {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t num_parts = 0;                      // numbered in the order of their begins
  std::vector<std::vector<uint32_t>> part_of;  // for each thread, the part of each span; kNone: it is in none
};

// `threads`: those of the trace. Spans that begin during a step belong to it, on all threads of its process. Spans
// within a run or a range belong to it.
TraceDivision divide(const Trace &trace, const std::vector<ThreadSpans> &threads);

}  // namespace opd
