// A tree of alternative tokens of a sequence, as speculative decoding proposes it. Its nodes are rows of the sequence
// until one path is committed.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "vm/kv/kv_table.h"

namespace opd {

class KvTree {
 public:
  static constexpr size_t kMostNodes = 256;

  // Throws unless each parent is -1 or an earlier node of this tree. `id` is the sequence's, for the error.
  void require_growth(std::span<const int64_t> parents, int64_t id) const;
  void grow(std::span<const int64_t> parents);  // call require_growth() first
  void shrink(int64_t count);                   // removes the last nodes
  void clear() { parents_.clear(), depths_.clear(); }

  size_t size() const { return parents_.size(); }
  bool is_empty() const { return parents_.empty(); }
  bool is_chain() const;                                         // whether each node follows the previous one
  int32_t depth(size_t node) const { return depths_[node]; }     // 0 for a root
  std::span<const int32_t> parents() const { return parents_; }  // -1: the node is a root
  std::vector<int32_t> path_to(int32_t node) const;              // from a root to `node`
  // For each node: its number in a depth-first walk, and the number after its last descendant.
  void append_orders(KvTable &out) const;

 private:
  std::vector<int32_t> parents_, depths_;
};

// Appends the orders of a sequence of `count` tokens without alternatives.
void append_chain_orders(KvTable &out, int64_t count);

}  // namespace opd
