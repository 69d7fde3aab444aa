#include "vm/kv/kv_forward.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace opd {
namespace {

// If the pages would be read at least this often on average, neighbours read shared pages together. Below that, the
// decode kernel is faster.
constexpr int64_t kSharedFactor = 32;

void add(KvTable &table, int64_t value) { table.push_back(static_cast<int32_t>(value)); }

void check_pass(const KvSequences &sequences, std::span<const int64_t> ids, std::span<const int64_t> counts,
                std::optional<std::span<const int64_t>> parents, int64_t num_rows) {
  for (const int64_t id : ids) {
    const KvSequence &sequence = sequences.get(id);
    require(parents || sequence.tree.is_empty(), "sequence ", id,
            " has a token tree; commit one of its paths before tokens that form none are added");
    require(!parents || sequence.window == 0, "sequence ", id, " has a sliding window, so it can have no token tree");
  }
  if (!parents) return;
  require(!sequences.has_windows(), "a cache with sliding windows can have no token trees");
  require(static_cast<int64_t>(parents->size()) == num_rows, "token_tree_parent must name the parents of all ",
          num_rows, " new tokens, but has ", parents->size());
  size_t first = 0;
  for (size_t i = 0; i < ids.size(); first += static_cast<size_t>(counts[i++]))
    sequences.get(ids[i]).tree.require_growth(parents->subspan(first, static_cast<size_t>(counts[i])), ids[i]);
}

}  // namespace

void KvPages::clear() {
  begins.assign(1, 0);
  pages.clear();
  lengths.clear();
  positions.clear();
}

void KvForward::clear() {
  is_running_ = false;
  ids_.clear();
  counts_.clear();
  num_rows_ = 0;
}

void KvForward::begin(KvSequences &sequences, std::span<const int64_t> ids, std::span<const int64_t> counts,
                      std::optional<std::span<const int64_t>> parents) {
  const int64_t num_rows = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  check_pass(sequences, ids, counts, parents, num_rows);
  sequences.require_pages(ids, counts);

  is_running_ = false;  // if this pass is refused, the previous one can still be undone
  ids_.assign(ids.begin(), ids.end());
  counts_.assign(counts.begin(), counts.end());
  num_rows_ = num_rows;
  batch_.clear();
  rows_before_.clear();
  lengths_before_.clear();
  rope_offsets.clear();
  for (const int64_t id : ids_) {
    KvSequence &sequence = sequences.get(id);
    batch_.push_back(&sequence);
    rows_before_.push_back(sequence.length);
    lengths_before_.push_back(sequences.block(sequence.last).length);
    add(rope_offsets, sequence.length - static_cast<int64_t>(sequence.tree.size()));
  }
  find_chains(sequences);
  choose_kernels(sequences);
  size_t first = 0;
  for (size_t i = 0; parents && i < batch_.size(); first += static_cast<size_t>(counts_[i++]))
    batch_[i]->tree.grow(parents->subspan(first, static_cast<size_t>(counts_[i])));

  // If new rows are stored before attention, the pages already hold them.
  if (!appends_before_) make_depths(sequences);
  for (size_t i = 0; i < batch_.size(); ++i) sequences.extend(*batch_[i], counts_[i]);
  if (appends_before_) make_depths(sequences);
  make_places(sequences);
  is_running_ = true;
}

// The pass's rows are the last ones, because any change of a sequence ends the pass. If a window slid in this pass, the
// rows that it dropped are lost. The sequence then has that many fewer rows behind its sink than before the pass.
void KvForward::undo(KvSequences &sequences) {
  for (size_t i = 0; i < batch_.size(); ++i) {
    const KvSequence &sequence = *batch_[i];
    const int64_t before = rows_before_[i], forgotten = before + counts_[i] - sequence.length;
    const int64_t left = before > sequence.sink ? std::max(sequence.sink, before - forgotten) : before;
    sequences.pop(ids_[i], sequence.length - left);
  }
  end();
}

// Removes the rows of the last sequence first, so that begin() gives each sequence the same pages again.
KvForward::Pass KvForward::take_back(KvSequences &sequences) const {
  Pass pass{ids_, counts_, std::nullopt};
  std::vector<int64_t> parents;
  for (size_t i = 0; i < batch_.size(); ++i) {
    if (batch_[i]->length != rows_before_[i] + counts_[i])
      fail(OPD_UNSUPPORTED, "the sliding window of sequence ", ids_[i], " forgot rows in the pass that runs");
    if (batch_[i]->window > 0 && batch_[i]->length > batch_[i]->window)
      fail(OPD_UNSUPPORTED, "sequence ", ids_[i], " got its sliding window in the pass that runs");
    const auto nodes = batch_[i]->tree.parents();
    if (!nodes.empty()) {
      const auto added = nodes.last(static_cast<size_t>(counts_[i]));
      parents.insert(parents.end(), added.begin(), added.end());
    }
  }
  if (!parents.empty()) pass.parents = std::move(parents);
  for (size_t i = batch_.size(); i-- > 0;) sequences.pop(ids_[i], counts_[i]);
  return pass;
}

// ---- blocks at depths

void KvForward::find_chains(const KvSequences &sequences) {
  chains_.clear();
  blocks_.clear();
  num_depths_ = 0;
  for (const KvSequence *sequence : batch_) {
    const size_t first = blocks_.size();
    for (int32_t at = sequence->last; at != kNoBlock; at = sequences.block(at).parent) blocks_.push_back(at);
    std::reverse(blocks_.begin() + static_cast<ptrdiff_t>(first), blocks_.end());
    chains_.push_back({first, blocks_.size() - first});
    num_depths_ = std::max(num_depths_, std::min(chains_.back().count, kDepths));
  }
}

std::span<const int32_t> KvForward::blocks_at(size_t sequence, size_t depth) const {
  const Chain &chain = chains_[sequence];
  if (depth >= chain.count) return {};
  return std::span(blocks_).subspan(chain.first + depth, depth + 1 == kDepths ? chain.count - depth : 1);
}

// Groups queries that read the same pages into chunks. At the last depth each sequence is its own chunk, because its
// blocks are joined.
void KvForward::choose_kernels(const KvSequences &sequences) {
  is_decoding_ = std::ranges::all_of(counts_, [](int64_t count) { return count == 1; });
  for (size_t depth = 0; depth < num_depths_; ++depth) {
    auto &chunks = chunks_[depth];
    chunks.clear();
    int64_t pages_read = 0, pages = 0;
    int32_t before = kNoBlock;
    for (size_t i = 0; i < batch_.size(); ++i) {
      const auto blocks = blocks_at(i, depth);
      const int32_t block = blocks.empty() ? kNoBlock : blocks[0];
      const int64_t held = block == kNoBlock ? 0 : static_cast<int64_t>(sequences.block(block).pages.size());
      pages_read += held;
      if (i == 0 || block != before) pages += held;
      before = block;
      chunks.push_back({i, block, counts_[i]});
    }
    const bool shares_much = pages > 0 && pages_read >= kSharedFactor * pages;
    depths_[depth].decodes = is_decoding_ && !shares_much;
    if (depths_[depth].decodes || depth + 1 == kDepths) continue;
    size_t last = 0;
    for (size_t i = 1; i < chunks.size(); ++i) {
      if (chunks[i].block == chunks[last].block) chunks[last].rows += chunks[i].rows;
      else chunks[++last] = chunks[i];
    }
    chunks.resize(last + 1);
  }
  const bool has_tree = std::ranges::any_of(batch_, [](const KvSequence *s) { return !s->tree.is_empty(); });
  appends_before_ = (!sequences.has_windows() && depths_[num_depths_ - 1].decodes) || has_tree;
}

// ---- tables

void KvForward::make_depths(const KvSequences &sequences) {
  masks_new_ = false;
  for (size_t i = 0; i < batch_.size() && !appends_before_; ++i) masks_new_ |= !batch_[i]->tree.is_chain();
  if (masks_new_) {
    order_begins.assign(1, 0);
    orders.clear();
    for (size_t i = 0; i < batch_.size(); ++i) {
      if (batch_[i]->tree.is_empty()) append_chain_orders(orders, counts_[i]);
      else batch_[i]->tree.append_orders(orders);
      add(order_begins, static_cast<int64_t>(orders.size() / 2));
    }
  }
  query_begins.assign(1, 0);
  for (const int64_t count : counts_) add(query_begins, query_begins.back() + count);
  for (size_t depth = 0; depth < num_depths_; ++depth) {
    KvDepth &made = depths_[depth];
    made.query_begins.assign(1, 0);
    for (const Chunk &chunk : chunks_[depth]) add(made.query_begins, made.query_begins.back() + chunk.rows);
    make_pages(sequences, depth, made.all, 0);
    if (layer_window_ > 0) make_pages(sequences, depth, made.window, layer_window_);
    make_orders(depth);
  }
}

// With `window`, the table has only the pages of each chunk's last rows.
void KvForward::make_pages(const KvSequences &sequences, size_t depth, KvPages &made, int64_t window) {
  const int64_t page_size = sequences.page_size();
  const bool has_lines = window > 0 || sequences.has_windows();
  const auto &chunks = chunks_[depth];
  made.clear();
  made.lengths.assign(chunks.size() * (has_lines ? 3 : 1), 0);
  for (size_t i = 0; i < chunks.size(); ++i) {
    const auto blocks = blocks_at(chunks[i].sequence, depth);
    int64_t rows = 0, places = 0, sink = 0, offset = 0;  // the chunk's blocks together
    for (const int32_t index : blocks) {
      const KvBlock &block = sequences.block(index);
      made.pages.insert(made.pages.end(), block.pages.begin(), block.pages.end());
      if (block.offset > 0) sink = places + block.sink, offset = places + block.offset;
      places += block.end_place();
      rows += block.length;
    }
    int64_t start = blocks.empty() ? 0 : sequences.block(blocks[0]).start;
    if (window > 0 && rows > window) {
      const int64_t hidden = rows - window, pages = hidden / page_size;
      const auto first = made.pages.begin() + made.begins.back();
      made.pages.erase(first, first + pages);
      offset = hidden % page_size;
      start += hidden;
    }
    add(made.begins, static_cast<int64_t>(made.pages.size()));
    add(made.positions, start);
    made.lengths[i] = static_cast<int32_t>(places == 0 ? 0 : (places - 1) % page_size + 1);
    if (!has_lines) continue;
    made.lengths[chunks.size() + i] = static_cast<int32_t>(offset);
    made.lengths[2 * chunks.size() + i] = static_cast<int32_t>(sink);
  }
}

// The kernel reads a row's entry in the table before it checks whether the row is in the tree. So it reads before the
// table for rows before the tree and for chunks without a tree, by up to the number of rows and queries. A margin in
// front of the table makes these reads valid.
void KvForward::make_orders(size_t depth) {
  KvDepth &made = depths_[depth];
  made.masks = false;
  if (!appends_before_) return;
  for (size_t i = 0; i < batch_.size(); ++i) made.masks |= last_depth(i) == depth && needs_mask(i);
  if (!made.masks) return;
  int64_t most = num_rows_;
  for (const KvSequence *sequence : batch_) most = std::max(most, sequence->length + num_rows_);
  made.order_margin = static_cast<size_t>(most * 2 + 15) / 16 * 16;
  made.order_begins.assign(1, 0);
  made.orders.assign(made.order_margin, 0);
  for (const Chunk &chunk : chunks_[depth]) {
    const KvSequence &sequence = *batch_[chunk.sequence];
    if (last_depth(chunk.sequence) == depth) {
      if (sequence.tree.is_empty()) append_chain_orders(made.orders, counts_[chunk.sequence]);
      else sequence.tree.append_orders(made.orders);
    }
    add(made.order_begins, static_cast<int64_t>((made.orders.size() - made.order_margin) / 2));
  }
}

void KvForward::make_places(const KvSequences &sequences) {
  const int64_t page_size = sequences.page_size();
  query_positions.clear();
  places.clear();
  for (size_t i = 0; i < batch_.size(); ++i) {
    const KvSequence &sequence = *batch_[i];
    const KvBlock &last = sequences.block(sequence.last);
    const auto nodes = sequence.tree.size();
    for (int64_t k = 0; k < counts_[i]; ++k) {
      const int64_t in_order = nodes ? sequence.tree.depth(nodes - static_cast<size_t>(counts_[i] - k)) : k;
      add(query_positions, rope_offsets[i] + in_order);
      // A row of the sink keeps its place. Of the other rows, the window has dropped the first ones.
      int64_t row = lengths_before_[i] + k;
      if (row >= last.sink) {
        row = last.length - counts_[i] + k;
        if (row < last.sink || row < 0) {
          add(places, -1);
          continue;
        }
      }
      const int64_t place = last.place_of(row);
      add(places, last.pages[static_cast<size_t>(place / page_size)] * page_size + place % page_size);
    }
  }
}

}  // namespace opd
