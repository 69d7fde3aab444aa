// Merges traces of several recordings, processes and machines into one. The tracks share the chunks of the originals.
// Cost: 8 bytes an event, and the sorting of the runs.
#pragma once
#include <span>

#include "trace/model/trace.h"

namespace opd {

struct TraceMergeOptions {
  // Each list is empty, or has one item for each trace.
  std::vector<std::string> labels{};       // "": the processes keep their titles
  std::vector<int64_t> shifts_ns{};        // added to the times
  std::vector<int64_t> clock_errors_ns{};  // -1: the recording's own error
};

// All times are Unix times. Processes that share a monotonic clock use the first one's offset from Unix time, so a
// change of the system's time between them does not move them apart. Throws OPD_INVALID_ARGUMENT.
Ref<Trace> merge_traces(std::span<const Trace *const> traces, const TraceMergeOptions &options);

}  // namespace opd
