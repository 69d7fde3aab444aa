// The kernels' inputs for one forward pass: which rows are new, where they are stored, and which pages each query
// reads.
//
// The blocks of a sequence lie at two depths: the first block at 0, all others at 1. Attention is computed depth by
// depth and merged. So neighbouring sequences that share the block at depth 0 read it together.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "vm/kv/kv_sequences.h"

namespace opd {

// Pages that a depth's queries read. `lengths` holds the number of rows in the last page. With windows, `lengths` has
// three lines: this number, the place of the first row that moved, and the number of rows before it.
struct KvPages {
  KvTable begins, pages, lengths, positions;  // positions: position of the first row
  void clear();
};

struct KvDepth {
  bool decodes = false;  // uses the decode kernel: each sequence has one new row
  bool masks = false;    // the pages hold new rows that some queries must not see
  KvTable query_begins;
  KvPages all, window;  // window: for layers with a window
  KvTable order_begins, orders;
  size_t order_margin = 0;  // integers before the orders, see make_orders()
};

class KvForward {
 public:
  // `layer_window`: rows that a layer with a window sees; 0: no such layers.
  explicit KvForward(int64_t layer_window) : layer_window_(layer_window) {}

  // Checks everything, then adds the rows to the sequences. If it throws, nothing has changed. `parents`: the parents
  // of all new tokens in their token trees; none: each token follows the previous one.
  void begin(KvSequences &sequences, std::span<const int64_t> ids, std::span<const int64_t> counts,
             std::optional<std::span<const int64_t>> parents);
  void end() { is_running_ = false; }
  void undo(KvSequences &sequences);  // removes the rows of the running pass and ends the pass
  struct Pass {                       // arguments of begin()
    std::vector<int64_t> ids, counts;
    std::optional<std::vector<int64_t>> parents;
  };
  // Returns the arguments of the running pass. `sequences` is a copy, which is restored to the state before the pass.
  // Throws OPD_UNSUPPORTED if a window slid, because the rows that it dropped are lost, or if begin() would make it
  // slide again.
  Pass take_back(KvSequences &sequences) const;
  void clear();

  bool is_running() const { return is_running_; }
  int64_t num_rows() const { return num_rows_; }  // new rows
  // Whether new rows are stored before attention, so that attention finds them in the pages.
  bool appends_before() const { return appends_before_; }
  bool masks_new() const { return masks_new_; }  // the attention among new rows needs a mask, because they form trees
  std::span<const KvDepth> depths() const { return {depths_.data(), num_depths_}; }

  KvTable query_begins, rope_offsets;  // per sequence: its first new row, and this row's position
  KvTable query_positions, places;     // per new row: its position, and its place in the store or -1
  KvTable order_begins, orders;

 private:
  static constexpr size_t kDepths = 2;
  struct Chain {
    size_t first, count;  // indices in blocks_
  };
  struct Chunk {
    size_t sequence;  // the chunk's first sequence
    int32_t block;
    int64_t rows;  // rows of queries
  };

  void find_chains(const KvSequences &sequences);
  std::span<const int32_t> blocks_at(size_t sequence, size_t depth) const;
  size_t last_depth(size_t sequence) const { return std::min(chains_[sequence].count, kDepths) - 1; }
  void choose_kernels(const KvSequences &sequences);
  // Whether some of the sequence's queries must not see some of its new rows.
  bool needs_mask(size_t sequence) const { return counts_[sequence] > 1 || !batch_[sequence]->tree.is_chain(); }

  void make_depths(const KvSequences &sequences);
  void make_pages(const KvSequences &sequences, size_t depth, KvPages &made, int64_t window);
  void make_orders(size_t depth);
  void make_places(const KvSequences &sequences);

  const int64_t layer_window_;
  bool is_running_ = false, appends_before_ = false, masks_new_ = false, is_decoding_ = false;
  int64_t num_rows_ = 0;
  std::vector<int64_t> ids_, counts_;
  std::vector<KvSequence *> batch_;
  std::vector<int64_t> rows_before_, lengths_before_;  // per sequence: its rows, and the length of its last block
  std::vector<Chain> chains_;
  std::vector<int32_t> blocks_;
  std::array<std::vector<Chunk>, kDepths> chunks_;
  std::array<KvDepth, kDepths> depths_;
  size_t num_depths_ = 0;
};

}  // namespace opd
