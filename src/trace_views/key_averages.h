// Joins spans of a trace by name, as torch.profiler's key_averages() does, or lists them one by one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "trace_views/host_stacks.h"
#include "trace_views/span_costs.h"

namespace opd {

// The name of a span; a profiler's step includes its number.
std::string span_name(const Event &event);
// Spans with equal keys have equal names.
inline uint64_t span_key(const Event &event) {
  return uint64_t{event.name} << 32 | (event.kind == EventKind::kStep ? event.run : 0);
}
// The name for joined spans: "ProfilerStep*" for all steps.
const std::string &joined_name(const Event &event);

struct KeyAverage {
  uint64_t count = 0, total_ticks = 0, self_ticks = 0;  // TraceParts::common_ticks()
  SpanDevice device;                                    // TraceParts::common_ticks()
  SpanMemory memory;
  std::optional<double> flop;           // sum over spans with a known number of operations
  const Span *first = nullptr;          // the first of the spans
  const ThreadSpans *thread = nullptr;  // thread of `first`
  HostStacks::StackNumber stack = 0;    // stack of `first`

  const Event &event() const { return *first->event; }
  const std::string &name() const { return joined_name(event()); }
};

struct KeyAverageOptions {
  bool by_shape = false;   // joins only spans of equal shapes
  bool each_span = false;  // joins no spans, and includes marks
  bool with_flops = false;
  size_t stack_depth = 0;  // joins only spans whose innermost functions of the host are equal, this many
};

// Sorted by their first begins. `trace` is the source of the other arguments; `threads` also has the tracks of devices,
// whose work has separate rows.
std::vector<KeyAverage> key_averages(const Trace &trace, const std::vector<ThreadSpans> &threads, const GivenWork &work,
                                     const KeyAverageOptions &options, HostStacks &host);

}  // namespace opd
