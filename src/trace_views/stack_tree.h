// The stacks of a trace: the names of a span and of the spans around it. If stacks were recorded, these include the
// host's functions. Spans of one stack are joined. In a merged trace, the outermost name is the process's.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "trace_views/host_stacks.h"
#include "trace_views/key_averages.h"

namespace opd {

class StackTree {
 public:
  static constexpr uint32_t kRoot = 0;
  struct Node {
    uint32_t parent;
    const std::string *name;            // of a span or a process; null: the root or a host function
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
