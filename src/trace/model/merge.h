// Traces of several recordings, processes and machines as one. Its tracks share the chunks of theirs. Cost: 8 bytes an
// event, and the sorting of the runs.
#pragma once
#include <span>

#include "trace/model/trace.h"

namespace opd {

struct TraceMergeOptions {
  // Nothing, or one for each trace.
  std::vector<std::string> labels{};       // "": the processes keep their titles
  std::vector<int64_t> shifts_ns{};        // are added to the times
  std::vector<int64_t> clock_errors_ns{};  // -1: that of the recording
};

// Times of all are Unix times. Processes that share a monotonic clock also share its offset from Unix time: the first
// one's; so a change of the system's time between them does not move them apart. Throws OPD_INVALID_ARGUMENT.
Ref<Trace> merge_traces(std::span<const Trace *const> traces, const TraceMergeOptions &options);

}  // namespace opd
