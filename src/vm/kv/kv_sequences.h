// The sequences of a paged attention cache: a table of which pages hold their rows. No tensor is touched.
//
// A row is the data of one token in the cache. Rows lie in pages of equal size. A sequence is a chain of blocks, and a
// block is a list of pages. After a fork, sequences share the blocks before the fork. New rows go into the last block
// of a sequence, which no other sequence shares. All pages of a shared block are full, so its rows never change.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vm/kv/kv_state.h"

namespace opd {

// A tree of alternative tokens of a sequence, as speculative decoding proposes it. Its nodes are rows of the sequence
// until one path is committed.
class KvTree {
 public:
  static constexpr size_t kMostNodes = 256;

  // Throws unless each parent is -1 or an earlier node of this tree. `id` is the sequence's, for the error.
  void require_growth(std::span<const int64_t> parents, int64_t id) const {
    if (size() + parents.size() > kMostNodes)
      fail(OPD_OUT_OF_RANGE, "the token tree of sequence ", id, " may have ", kMostNodes, " nodes, but would have ",
           size() + parents.size());
    for (size_t i = 0; i < parents.size(); ++i) {
      const auto node = static_cast<int64_t>(size() + i);
      require(parents[i] >= -1 && parents[i] < node, "the parent of node ", node, " in the token tree of sequence ", id,
              " must be -1 or a node before it, but is ", parents[i]);
    }
  }

  // call require_growth() first
  void grow(std::span<const int64_t> parents) {
    parents_.reserve(size() + parents.size());
    depths_.reserve(size() + parents.size());
    for (const int64_t parent : parents) {
      depths_.push_back(parent < 0 ? 0 : depths_[static_cast<size_t>(parent)] + 1);
      parents_.push_back(static_cast<int32_t>(parent));
    }
  }

  // removes the last nodes
  void shrink(int64_t count) {
    const size_t left = size() - std::min(size(), static_cast<size_t>(count));
    parents_.resize(left);
    depths_.resize(left);
  }

  void clear() { parents_.clear(), depths_.clear(); }

  size_t size() const { return parents_.size(); }
  bool is_empty() const { return parents_.empty(); }
  // whether each node follows the previous one
  bool is_chain() const {
    for (size_t i = 0; i < size(); ++i)
      if (parents_[i] != static_cast<int32_t>(i) - 1) return false;
    return true;
  }

  int32_t depth(size_t node) const { return depths_[node]; }     // 0 for a root
  std::span<const int32_t> parents() const { return parents_; }  // -1: the node is a root
  // from a root to `node`
  std::vector<int32_t> path_to(int32_t node) const {
    std::vector<int32_t> path;
    for (; node >= 0; node = parents_[static_cast<size_t>(node)]) path.push_back(node);
    std::ranges::reverse(path);
    return path;
  }

  // For each node: its number in a depth-first walk, and the number after its last descendant. A parent comes before
  // its children. So one pass from the end counts descendants, and one pass from the start numbers the nodes: each
  // child takes the next free number of its parent.
  void append_orders(KvTable &out) const {
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

 private:
  std::vector<int32_t> parents_, depths_;
};

// Appends the orders of a sequence of `count` tokens without alternatives.
inline void append_chain_orders(KvTable &out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(static_cast<int32_t>(i));
    out.push_back(static_cast<int32_t>(count));
  }
}

inline constexpr int32_t kNoBlock = -1;

struct KvBlock {
  std::vector<int32_t> pages;
  int64_t length = 0;  // rows
  int64_t start = 0;   // position of the first row in the block's sequences
  int32_t parent = kNoBlock;
  int32_t users = 0;  // number of blocks and sequences that continue it
  // If a window slid: rows before `sink` stayed in place, and row `sink` lies at place `offset`.
  int64_t sink = 0, offset = 0;

  // counted from the block's first page
  int64_t place_of(int64_t row) const { return row < sink ? row : row - sink + offset; }
  int64_t end_place() const { return length - sink + offset; }
};

struct KvSequence {
  int32_t last = kNoBlock;
  int64_t length = 0;         // rows of all its blocks
  int64_t window = 0;         // number of rows that are kept; 0: all
  int64_t sink = 0;           // number of first rows that a window keeps
  KvTree tree;                // nodes that are not yet committed
  bool is_importing = false;  // the rows are not imported yet, so only the sequence's number may be used
};

// Rows that a fork must copy because their page is not full: the first `rows` of page `from`.
struct KvPageCopy {
  int32_t from, to;
  int64_t rows;
};

class KvSequences {
 public:
  KvSequences(int64_t num_pages, int64_t page_size, bool has_windows)
      : num_pages_(num_pages), page_size_(page_size), has_windows_(has_windows) {}

  // If one of these functions throws, nothing has changed. The errors name the sequence.
  void add(int64_t id);
  void remove(int64_t id);
  void clear();
  void enable_window(int64_t id, int64_t window, int64_t sink);

  // `child` begins with the rows of `parent` before `position`, or with all rows if `position` is -1. If
  // copy_for_fork() returns a page, first copy it, then call fork().
  std::optional<KvPageCopy> copy_for_fork(int64_t parent, int64_t child, int64_t position) const;
  void fork(int64_t parent, int64_t child, int64_t position);
  // pop() removes the last `count` rows. Shared rows stay with the other sequences. So a part of a page may have to be
  // copied first, as for fork().
  std::optional<KvPageCopy> copy_for_pop(int64_t id, int64_t count) const;
  void pop(int64_t id, int64_t count);

  // Throws OPD_OUT_OF_RANGE unless there are pages for `counts[i]` more rows of each sequence.
  void require_pages(std::span<const int64_t> ids, std::span<const int64_t> counts) const;
  // Appends rows. Call require_pages() first. If the sequence has a window, it then drops rows.
  void extend(KvSequence &sequence, int64_t count);

  // Makes or replaces sequence `id`. Its `length` rows will be imported.
  void replace(int64_t id, int64_t length);
  const KvSequence &importing(int64_t id) const { return const_cast<KvSequences *>(this)->any(id); }
  void finish_import(int64_t id) { any(id).is_importing = false; }

  KvSequence &get(int64_t id);  // throws if the sequence is being imported
  const KvSequence &get(int64_t id) const { return const_cast<KvSequences *>(this)->get(id); }
  bool has(int64_t id) const { return sequences_.contains(id); }
  const KvBlock &block(int32_t index) const { return blocks_[static_cast<size_t>(index)]; }
  // Returns the row's place in the store: page * page size + row in the page.
  int64_t place_of(const KvSequence &sequence, int64_t row) const;

  int64_t page_size() const { return page_size_; }
  int64_t num_pages() const { return num_pages_; }
  int64_t num_touched_pages() const { return num_touched_pages_; }  // no page from this number on was ever in use
  int64_t num_free_pages() const { return static_cast<int64_t>(given_pages_.size()) + num_pages_ - num_touched_pages_; }
  int64_t num_rows() const;  // rows of all sequences; a shared row counts once per sequence
  int64_t size() const { return static_cast<int64_t>(sequences_.size()); }
  std::vector<KvSequenceLength> lengths() const;
  bool has_windows() const { return has_windows_; }
  bool is_empty() const { return sequences_.empty() && num_free_pages() == num_pages_; }
  std::vector<int64_t> pages_in_use() const;  // page numbers, ascending
  std::vector<bool> places_in_use() const;    // for each place of all pages: whether it holds a row

  void save(ByteWriter &out) const;
  void restore(ByteReader &from);  // throws OPD_BAD_FORMAT

 private:
  // The place where a fork cuts: after `whole` rows of `block`, which fill pages, and `rest` rows of a further page.
  struct Cut {
    int32_t block = kNoBlock;
    int64_t whole = 0, rest = 0;
  };
  KvSequence &any(int64_t id);
  KvBlock &own(int32_t index) { return blocks_[static_cast<size_t>(index)]; }
  int64_t checked_position(int64_t parent, int64_t child, int64_t position) const;
  Cut cut_at(const KvSequence &sequence, int64_t position) const;
  // the page that holds the rest
  int32_t page_at(const Cut &cut) const { return block(cut.block).pages[static_cast<size_t>(cut.whole / page_size_)]; }

  KvSequence forked(KvSequence &parent, int64_t position);
  int64_t first_own(const KvSequence &sequence) const;  // position of the first block that no other sequence shares
  int64_t checked_pop(int64_t id, int64_t count) const;
  int64_t pages_after(const KvSequence &sequence, int64_t count) const;  // pages of the last block after extend()
  int64_t sink_of(const KvSequence &sequence) const;  // rows of the last block that stay when the window slides
  int64_t rows_to_slide(const KvSequence &sequence, int64_t length) const {
    return sequence.window == 0 ? 0 : std::max<int64_t>(length - sequence.window, 0);
  }

  void slide(KvSequence &sequence);
  void shrink(KvBlock &block, int64_t length);
  int32_t new_block(int32_t parent, int64_t start, int32_t users);
  int32_t next_page() const {
    return given_pages_.empty() ? static_cast<int32_t>(num_touched_pages_) : given_pages_.back();
  }
  int32_t take_page();
  void drop(int32_t index);  // removes one user of the block
  // frees the last pages of the block; `count` pages stay
  void give_pages(KvBlock &from, size_t count) {
    for (; from.pages.size() > count; from.pages.pop_back()) given_pages_.push_back(from.pages.back());
  }

  [[noreturn]] void fail_full(int64_t needed, std::string_view what) const;
  void join_blocks(const ByteReader &from);  // links the blocks that were read; throws unless they fit together

  const int64_t num_pages_, page_size_;
  const bool has_windows_;
  int64_t num_touched_pages_ = 0;
  // Pages that were in use and are free again. The last one is taken first. If there is none, an untouched page is
  // taken.
  std::vector<int32_t> given_pages_;
  std::vector<KvBlock> blocks_;
  std::vector<int32_t> free_blocks_;
  std::unordered_map<int64_t, KvSequence> sequences_;
};

}  // namespace opd
