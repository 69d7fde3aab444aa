#include "vm/kv/kv_tree.h"

#include <algorithm>

#include "base/error.h"

namespace opd {

void KvTree::require_growth(std::span<const int64_t> parents, int64_t id) const {
  if (size() + parents.size() > kMostNodes)
    fail(OPD_OUT_OF_RANGE, "the token tree of sequence ", id, " may have ", kMostNodes, " nodes, but would have ",
         size() + parents.size());
  for (size_t i = 0; i < parents.size(); ++i) {
    const auto node = static_cast<int64_t>(size() + i);
    require(parents[i] >= -1 && parents[i] < node, "the parent of node ", node, " in the token tree of sequence ", id,
            " must be -1 or a node before it, but is ", parents[i]);
  }
}

void KvTree::grow(std::span<const int64_t> parents) {
  parents_.reserve(size() + parents.size());
  depths_.reserve(size() + parents.size());
  for (const int64_t parent : parents) {
    depths_.push_back(parent < 0 ? 0 : depths_[static_cast<size_t>(parent)] + 1);
    parents_.push_back(static_cast<int32_t>(parent));
  }
}

void KvTree::shrink(int64_t count) {
  const size_t left = size() - std::min(size(), static_cast<size_t>(count));
  parents_.resize(left);
  depths_.resize(left);
}

bool KvTree::is_chain() const {
  for (size_t i = 0; i < size(); ++i)
    if (parents_[i] != static_cast<int32_t>(i) - 1) return false;
  return true;
}

std::vector<int32_t> KvTree::path_to(int32_t node) const {
  std::vector<int32_t> path;
  for (; node >= 0; node = parents_[static_cast<size_t>(node)]) path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

// A parent comes before its children. So one pass from the end counts descendants, and one pass from the start numbers
// the nodes: each child takes the next free number of its parent.
void KvTree::append_orders(KvTable &out) const {
  std::vector<int32_t> sizes(size(), 1), next(size());
  for (size_t i = size(); i-- > 0;)
    if (parents_[i] >= 0) sizes[static_cast<size_t>(parents_[i])] += sizes[i];
  int32_t next_root = 0;
  for (size_t i = 0; i < size(); ++i) {
    int32_t &free = parents_[i] < 0 ? next_root : next[static_cast<size_t>(parents_[i])];
    const int32_t order = free;
    free += sizes[i];
    next[i] = order + 1;
    out.push_back(order);
    out.push_back(order + sizes[i]);
  }
}

void append_chain_orders(KvTable &out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(static_cast<int32_t>(i));
    out.push_back(static_cast<int32_t>(count));
  }
}

}  // namespace opd
