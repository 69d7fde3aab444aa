// Joins spans of a trace: by name, as torch.profiler's key_averages() does, by stack, or in an interval of time. Also
// gives the names of spans and of parallel loops, and the operations of calls.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/report.h"
#include "trace_views/host_stacks.h"

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

// Returns the averages, sorted by their first begins. `trace` is the source of the other arguments; `threads` also has
// the tracks of devices, whose work has separate rows.
std::vector<KeyAverage> key_averages(const Trace &trace, const std::vector<ThreadSpans> &threads, const GivenWork &work,
                                     const KeyAverageOptions &options, HostStacks &host);

// ---- the launcher of each parallel loop: the innermost call, run or range of the launching thread

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

// ---- the activity of each name in an interval of time, as `opdyno top` shows it

struct Activity {
  const Event *event;       // one of the spans, in the trace
  uint64_t count = 0;       // number of spans that ended in the interval
  uint64_t full_ticks = 0;  // full length of these spans, which may begin before the interval
  // Time within the interval, open spans included: total, and without nested spans.
  uint64_t ticks = 0, self_ticks = 0;
  uint32_t num_threads = 0;
};

// `trace` has the spans that ended in the interval, and the open ones. The interval begins at the tick `from`. Marks
// are left out. Sorted by self_ticks, largest first.
std::vector<Activity> activity_since(const Trace &trace, uint64_t from);

// ---- the operations of recorded calls. An estimate takes microseconds, so it is made once per name and shapes.

class EventCosts {
 public:
  // None: not a call of a known operator.
  std::optional<double> flop(const Event &event) {
    if (event.kind != EventKind::kCall || !event.num_tensors) return std::nullopt;
    const auto [place, fresh] = known_.try_emplace(uint64_t{event.name} << 32 | shapes_.of(event));
    if (fresh) place->second = operator_cost(name_text(event.name), shapes_text(event)).flop;
    return place->second;
  }

 private:
  ShapeNumbers shapes_;
  std::unordered_map<uint64_t, std::optional<double>> known_;  // by name and shapes
};

// ---- the stacks of a trace: the names of a span and of the spans around it. If stacks were recorded, these include
// the host's functions. Spans of one stack are joined. In a merged trace, the outermost name is the process's.

class StackTree {
 public:
  static constexpr uint32_t kRoot = 0;
  struct Node {
    uint32_t parent;
    const std::string *name;            // name of the span or process; null: the root or a host function
    HostStacks::FrameNumber frame = 0;  // the host function
    uint64_t count = 0;                 // number of spans; only nodes of spans have a count and self time
    uint64_t self_ticks = 0;            // TraceParts::common_ticks()
  };

  // `with_functions`: includes host functions.
  explicit StackTree(const Trace &trace, bool with_functions = true)
      : parts_(trace.parts), host_(trace, with_functions) {}
  StackTree(const Trace &trace, const std::vector<ThreadSpans> &threads) : StackTree(trace) {
    for (const ThreadSpans &thread : threads) add(thread);
  }

  // Returns the index of each span's node.
  std::vector<uint32_t> add(const ThreadSpans &thread) {
    std::vector<uint32_t> node_of(thread.spans.size());
    const std::vector<HostStacks::StackNumber> stacks = host_.stacks_of(thread);
    const uint32_t outermost = parts_.is_merged() ? process_node(thread.track->process) : kRoot;
    for (size_t i = 0; i < thread.spans.size(); ++i) {
      const Span &span = thread.spans[i];
      const bool is_outermost = span.parent == Span::kNone;
      uint32_t parent = is_outermost ? outermost : node_of[span.parent];
      const HostStacks::StackNumber outer = is_outermost ? 0 : stacks[span.parent];
      if (stacks[i] != outer)
        for (const HostStacks::FrameNumber frame : host_.frames_within(stacks[i], outer)) parent = child(parent, frame);
      Node &node = nodes_[node_of[i] = child(parent, span.event->name, joined_name(*span.event))];
      ++node.count;
      node.self_ticks += parts_.common_ticks(span.self, *thread.track);
    }
    return node_of;
  }
  const std::vector<Node> &nodes() const { return nodes_; }  // a node comes after its parent
  const std::string &name(const Node &node) const { return node.name ? *node.name : host_.text(node.frame); }
  // Null: the node is a span or a process.
  const HostFrame *host_frame(const Node &node) const { return node.name ? nullptr : &host_.frame(node.frame); }

 private:
  uint32_t process_node(uint32_t process) {
    return child(kRoot, process, parts_.processes[process].title());  // the root's children are processes only
  }
  uint32_t child(uint32_t parent, uint32_t number, const std::string &name) {
    const uint64_t key = uint64_t{parent} << 32 | number;
    const auto [place, fresh] = children_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
    if (fresh) nodes_.push_back({parent, &name});
    return place->second;
  }
  uint32_t child(uint32_t parent, HostStacks::FrameNumber frame) {
    const uint64_t key = uint64_t{parent} << 32 | frame;
    const auto [place, fresh] = host_children_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
    if (fresh) nodes_.push_back({parent, nullptr, frame});
    return place->second;
  }

  const TraceParts &parts_;
  HostStacks host_;
  std::vector<Node> nodes_{{kRoot, nullptr}};
  std::unordered_map<uint64_t, uint32_t> children_;       // key: parent, and number of the name or process
  std::unordered_map<uint64_t, uint32_t> host_children_;  // key: parent and frame
};

}  // namespace opd
