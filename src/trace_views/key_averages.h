// Spans of a trace joined by name, as torch.profiler's key_averages() joins them, or one by one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "trace_views/host_stacks.h"
#include "trace_views/span_device.h"
#include "trace_views/span_memory.h"

namespace opd {

// The name of a span: for a step of a profiler with its number.
std::string span_name(const Event &event);
// Spans of equal keys have equal names.
inline uint64_t span_key(const Event &event) {
  return uint64_t{event.name} << 32 | (event.kind == EventKind::kStep ? event.run : 0);
}
// The name under which it is joined with others: "ProfilerStep*" for all steps.
const std::string &joined_name(const Event &event);

struct KeyAverage {
  uint64_t count = 0, total_ticks = 0, self_ticks = 0;  // TraceParts::common_ticks()
  SpanDevice device;                                    // TraceParts::common_ticks()
  SpanMemory memory;
  std::optional<double> flop;           // of the spans whose number of operations is known
  const Span *first = nullptr;          // of the spans
  const ThreadSpans *thread = nullptr;  // of `first`
  HostStacks::StackNumber stack = 0;    // of `first`

  const Event &event() const { return *first->event; }
  const std::string &name() const { return joined_name(event()); }
};

struct KeyAverageOptions {
  bool by_shape = false;   // spans of different shapes are not joined
  bool each_span = false;  // no spans are joined, and marks are among them
  bool with_flops = false;
  size_t stack_depth = 0;  // spans are not joined that differ in so many of the host's functions, from the innermost on
};

// In the order of their first begins. The rest: of the trace; `threads` also has the tracks of devices, whose work has
// rows of its own.
std::vector<KeyAverage> key_averages(const Trace &trace, const std::vector<ThreadSpans> &threads, const GivenWork &work,
                                     const KeyAverageOptions &options, HostStacks &host);

}  // namespace opd
