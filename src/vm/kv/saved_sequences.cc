// The sequences of a cache as bytes, for recordings. Read data is checked completely, because kernels use its page
// numbers.
#include <algorithm>

#include "vm/kv/kv_config.h"
#include "vm/kv/kv_sequences.h"

namespace opd {
namespace {

// Reads a length or position. The limit keeps sums of these and of places far below 64 bits.
int64_t read_rows(ByteReader &from, const char *field) {
  const auto rows = from.read<int64_t>(field);
  if (rows < 0 || rows >= kMostKvSize)
    from.bad(field, concat("must be from 0 to ", kMostKvSize - 1, ", but is ", rows));
  return rows;
}

}  // namespace

std::vector<int64_t> KvSequences::pages_in_use() const {
  std::vector<bool> is_free(static_cast<size_t>(num_touched_pages_));
  for (const int32_t page : given_pages_) is_free[static_cast<size_t>(page)] = true;
  std::vector<int64_t> pages;
  for (int64_t page = 0; page < num_touched_pages_; ++page)
    if (!is_free[static_cast<size_t>(page)]) pages.push_back(page);
  return pages;
}

std::vector<bool> KvSequences::places_in_use() const {
  std::vector<bool> is_used(static_cast<size_t>(num_pages_ * page_size_));
  for (const KvBlock &block : blocks_)
    for (int64_t row = 0; row < block.length; ++row) {
      const int64_t place = block.place_of(row), page = block.pages[static_cast<size_t>(place / page_size_)];
      is_used[static_cast<size_t>(page * page_size_ + place % page_size_)] = true;
    }
  return is_used;
}

// Saves no data that follows from the rest: the pages that were ever in use, the users of a block, the length of a
// sequence.
void KvSequences::save(ByteWriter &out) const {
  write_numbers(out, given_pages_);
  out.write(static_cast<uint64_t>(blocks_.size()));
  for (const KvBlock &block : blocks_) {
    write_numbers(out, block.pages);
    for (const int64_t rows : {block.length, block.start, block.sink, block.offset}) out.write(rows);
    out.write(block.parent);
  }
  write_numbers(out, free_blocks_);
  std::vector<int64_t> ids;
  for (const auto &[id, sequence] : sequences_) ids.push_back(id);
  std::ranges::sort(ids);
  out.write(static_cast<uint64_t>(ids.size()));
  for (const int64_t id : ids) {
    const KvSequence &sequence = get(id);
    out.write(id);
    out.write(sequence.last);
    for (const int64_t rows : {sequence.window, sequence.sink}) out.write(rows);
    write_numbers(out, sequence.tree.parents());
  }
}

void KvSequences::restore(ByteReader &from) {
  given_pages_ = read_numbers<int32_t>(from, "free pages");
  const uint64_t num_blocks = from.read_count(sizeof(int64_t), "number of blocks");
  for (uint64_t i = 0; i < num_blocks; ++i) {
    KvBlock &block = blocks_.emplace_back();
    block.pages = read_numbers<int32_t>(from, "pages");
    for (int64_t *const rows : {&block.length, &block.start, &block.sink, &block.offset})
      *rows = read_rows(from, "rows of a block");
    block.parent = from.read<int32_t>("parent");
  }
  free_blocks_ = read_numbers<int32_t>(from, "free blocks");
  free_blocks_.reserve(blocks_.size());
  const uint64_t num_sequences = from.read_count(sizeof(int64_t), "number of sequences");
  for (uint64_t i = 0; i < num_sequences; ++i) {
    const auto id = from.read<int64_t>("sequence");
    KvSequence sequence;
    sequence.last = from.read<int32_t>("last block");
    for (int64_t *const rows : {&sequence.window, &sequence.sink}) *rows = read_rows(from, "rows of a sequence");
    const std::vector<int32_t> parents = read_numbers<int32_t>(from, "token tree");
    const std::vector<int64_t> nodes(parents.begin(), parents.end());
    sequence.tree.require_growth(nodes, id);
    sequence.tree.grow(nodes);
    if (!sequences_.emplace(id, std::move(sequence)).second) from.bad("sequence", "is there twice");
  }
  join_blocks(from);
}

void KvSequences::join_blocks(const ByteReader &from) {
  num_touched_pages_ = static_cast<int64_t>(given_pages_.size());
  for (const KvBlock &block : blocks_) num_touched_pages_ += static_cast<int64_t>(block.pages.size());
  if (num_touched_pages_ > num_pages_) from.bad("number of pages", concat("exceeds the cache's ", num_pages_));
  const auto num_blocks = static_cast<int32_t>(blocks_.size());
  std::vector<bool> is_page_known(static_cast<size_t>(num_touched_pages_)), is_block_free(blocks_.size());
  const auto add_pages = [&](const std::vector<int32_t> &pages) {
    for (const int32_t page : pages) note_number(from, "page", page, is_page_known);
  };
  add_pages(given_pages_);
  for (const int32_t free : free_blocks_) note_number(from, "free block", free, is_block_free);
  const auto require_block = [&](int32_t index) {
    if (index < 0 || index >= num_blocks || is_block_free[static_cast<size_t>(index)])
      from.bad("block", concat(index, " is none in use"));
  };
  for (int32_t i = 0; i < num_blocks; ++i) {
    const KvBlock &at = block(i);
    add_pages(at.pages);
    const bool is_free = is_block_free[static_cast<size_t>(i)];
    const bool holds = at.offset >= at.sink && at.length >= at.sink &&
                       at.pages.size() == static_cast<size_t>(pages_for(at.end_place(), page_size_));
    if (!holds || (is_free && !at.pages.empty()) || (at.offset > 0 && !has_windows_))
      from.bad("block", concat(i, " has ", at.pages.size(), " pages for ", at.length, " rows"));
    if (is_free || at.parent == kNoBlock) {
      if (at.start != 0) from.bad("block", concat(i, " must begin at row 0, but begins at ", at.start));
      continue;
    }
    require_block(at.parent);
    const KvBlock &before = block(at.parent);  // the block has rows, so no block continues itself
    if (before.length == 0 || before.length % page_size_ != 0 || before.start + before.length != at.start ||
        before.offset > 0)
      from.bad("block", concat(i, " begins at row ", at.start, ", but the one before has the rows ", before.start,
                               " to ", before.start + before.length));
    ++own(at.parent).users;
  }
  for (auto &[id, sequence] : sequences_) {
    require_block(sequence.last);
    KvBlock &last = own(sequence.last);
    ++last.users;
    sequence.length = last.start + last.length;
    const bool fits = sequence.tree.size() <= static_cast<size_t>(sequence.length) &&
                      (sequence.window == 0 ? sequence.sink == 0 : has_windows_ && sequence.sink < sequence.window);
    if (!fits) from.bad("sequence", concat(id, " of ", sequence.length, " rows does not fit its blocks"));
  }
}

}  // namespace opd
