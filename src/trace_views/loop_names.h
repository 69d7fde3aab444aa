// Finds the launcher of each parallel loop in a trace: the innermost call, run or range of the launching thread.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "trace_views/spans.h"

namespace opd {

class LoopNames {
 public:
  explicit LoopNames(const Trace &trace) : trace_(trace) {}
  // The name for a task's loop; "parallel_for" if nothing around it was recorded.
  const std::string &of(const Event &task, uint32_t process);

 private:
  const Event *span_around(const Event &task, uint32_t process);

  const Trace &trace_;
  std::unordered_map<const TraceTrack *, ThreadSpans> threads_;  // threads that launched loops
  std::map<std::pair<uint32_t, uint64_t>, std::string> names_;   // key: process and number of the loop
};

}  // namespace opd
