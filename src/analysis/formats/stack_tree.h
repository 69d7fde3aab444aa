// The stacks of a trace: the names of a span and of those around it. Spans of one stack are joined.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/key_averages.h"

namespace opd {

class StackTree {
 public:
  static constexpr uint32_t kRoot = 0;
  struct Node {
    uint32_t parent;
    const Event *event;  // one of the spans; null: the root
    uint64_t count = 0, self_ticks = 0;
  };

  explicit StackTree(const std::vector<ThreadSpans> &threads) {
    for (const ThreadSpans &thread : threads) add(thread);
  }
  const std::vector<Node> &nodes() const { return nodes_; }  // a node lies behind its parent
  static const std::string &name(const Node &node) { return joined_name(*node.event); }

 private:
  void add(const ThreadSpans &thread) {
    std::vector<uint32_t> node_of(thread.spans.size());
    for (size_t i = 0; i < thread.spans.size(); ++i) {
      const Span &span = thread.spans[i];
      const uint32_t parent = span.parent == Span::kNone ? kRoot : node_of[span.parent];
      Node &node = nodes_[node_of[i] = child(parent, *span.event)];
      ++node.count;
      node.self_ticks += span.self;
    }
  }
  uint32_t child(uint32_t parent, const Event &event) {
    const uint64_t key = uint64_t{parent} << 32 | event.name;
    const auto [place, fresh] = children_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
    if (fresh) nodes_.push_back({parent, &event});
    return place->second;
  }

  std::vector<Node> nodes_{{kRoot, nullptr}};
  std::unordered_map<uint64_t, uint32_t> children_;  // by parent and name
};

}  // namespace opd
