#include "vm/kv/kv_sequences.h"

#include <algorithm>

#include "base/error.h"
#include "vm/kv/kv_config.h"

namespace opd {
namespace {

constexpr int32_t kPageToCome = -1;  // a page that the sliding window will free itself

}  // namespace

void KvSequences::clear() {
  sequences_.clear();
  blocks_.clear();
  free_blocks_.clear();
  given_pages_.clear();
  num_touched_pages_ = 0;
}

// ---- queries

KvSequence &KvSequences::any(int64_t id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) fail(OPD_NOT_FOUND, "the cache has no sequence ", id);
  return found->second;
}

KvSequence &KvSequences::get(int64_t id) {
  KvSequence &found = any(id);
  if (found.is_importing)
    fail(OPD_FAILED_PRECONDITION, "sequence ", id, " is being imported; call finish_import first");
  return found;
}

int64_t KvSequences::place_of(const KvSequence &sequence, int64_t row) const {
  int32_t at = sequence.last;
  while (block(at).start > row) at = block(at).parent;
  const KvBlock &found = block(at);
  const int64_t place = found.place_of(row - found.start);
  return found.pages[static_cast<size_t>(place / page_size_)] * page_size_ + place % page_size_;
}

std::vector<KvSequenceLength> KvSequences::lengths() const {
  std::vector<KvSequenceLength> lengths;
  for (const auto &[id, sequence] : sequences_) lengths.push_back({id, sequence.length});
  return lengths;
}

int64_t KvSequences::num_rows() const {
  int64_t rows = 0;
  for (const auto &[id, sequence] : sequences_) rows += sequence.length;
  return rows;
}

void KvSequences::fail_full(int64_t needed, std::string_view what) const {
  fail(OPD_OUT_OF_RANGE, "the cache is full: ", what, " needs ", needed, needed == 1 ? " page" : " pages", " of ",
       page_size_, " rows, but ", num_free_pages(), " of ", num_pages_, " are free");
}

// ---- blocks and pages

int32_t KvSequences::new_block(int32_t parent, int64_t start, int32_t users) {
  int32_t index = static_cast<int32_t>(blocks_.size());
  if (free_blocks_.empty()) {
    blocks_.emplace_back();
    free_blocks_.reserve(blocks_.size());  // so that drop() allocates nothing
  } else {
    index = free_blocks_.back();
    free_blocks_.pop_back();
  }
  KvBlock &made = own(index);
  made.parent = parent;
  made.start = start;
  made.users = users;
  return index;
}

int32_t KvSequences::take_page() {
  const int32_t page = next_page();
  if (given_pages_.empty()) ++num_touched_pages_;
  else given_pages_.pop_back();
  return page;
}

void KvSequences::drop(int32_t index) {
  while (index != kNoBlock && --own(index).users == 0) {
    KvBlock &gone = own(index);
    give_pages(gone, 0);
    const int32_t parent = gone.parent;
    gone = {};
    free_blocks_.push_back(index);
    index = parent;
  }
}

// ---- sequences

void KvSequences::add(int64_t id) {
  require(!has(id), "the cache has a sequence ", id, " already");
  KvSequence made;
  made.last = new_block(kNoBlock, 0, 1);
  sequences_.emplace(id, std::move(made));
}

void KvSequences::remove(int64_t id) {
  drop(any(id).last);
  sequences_.erase(id);
}

void KvSequences::replace(int64_t id, int64_t length) {
  int64_t free = num_free_pages();
  if (has(id))
    for (int32_t at = any(id).last; at != kNoBlock && block(at).users == 1; at = block(at).parent)
      free += static_cast<int64_t>(block(at).pages.size());
  if (const int64_t needed = pages_for(length, page_size_); needed > free)
    fail_full(needed, concat("the import of sequence ", id, " of ", length, " rows"));
  if (has(id)) remove(id);
  add(id);
  KvSequence &made = any(id);
  extend(made, length);
  made.is_importing = true;
}

// ---- forks

int64_t KvSequences::checked_position(int64_t parent, int64_t child, int64_t position) const {
  const KvSequence &sequence = get(parent);
  require(!has(child), "the cache has a sequence ", child, " already");
  if (position < -1 || position > sequence.length)
    fail(OPD_OUT_OF_RANGE, "fork_pos must be -1 or from 0 to the ", sequence.length, " rows of sequence ", parent,
         ", but is ", position);
  require(sequence.tree.is_empty(), "sequence ", parent,
          " has a token tree; commit one of its paths before the sequence is forked");
  if (position < 0) position = sequence.length;
  // Rows behind the sink move when a window slides, so no other sequence may share them.
  const int64_t fixed = std::max(sequence.sink, block(sequence.last).start);
  require(sequence.window == 0 || position <= fixed, "sequence ", parent, " has a sliding window that keeps its first ",
          fixed, " rows; fork_pos must be within them, but is ", position);
  return position;
}

KvSequences::Cut KvSequences::cut_at(const KvSequence &sequence, int64_t position) const {
  Cut cut;
  if (position == 0) return cut;
  cut.block = sequence.last;
  while (block(cut.block).start >= position) cut.block = block(cut.block).parent;
  const int64_t rows = position - block(cut.block).start;
  cut.rest = rows % page_size_;
  cut.whole = rows - cut.rest;
  return cut;
}

std::optional<KvPageCopy> KvSequences::copy_for_fork(int64_t parent, int64_t child, int64_t position) const {
  position = checked_position(parent, child, position);
  const Cut cut = cut_at(get(parent), position);
  if (cut.rest == 0) return std::nullopt;
  if (num_free_pages() == 0) fail_full(1, concat("the fork of sequence ", parent, " at row ", position));
  return KvPageCopy{page_at(cut), next_page(), cut.rest};
}

// The parent's rows before the cut become a separate block, which both sequences continue.
KvSequence KvSequences::forked(KvSequence &parent, int64_t position) {
  const Cut cut = cut_at(parent, position);
  int32_t shared = cut.block;
  if (shared != kNoBlock && cut.whole == 0) {
    shared = block(cut.block).parent;
  } else if (shared != kNoBlock && cut.whole < block(cut.block).length) {
    shared = new_block(block(cut.block).parent, block(cut.block).start, 1);
    KvBlock &front = own(shared), &back = own(cut.block);
    const auto first = back.pages.begin(), last = first + cut.whole / page_size_;
    front.pages.assign(first, last);
    back.pages.erase(first, last);
    front.length = cut.whole;
    back.length -= cut.whole;
    back.start += cut.whole;
    back.parent = shared;
    if (back.sink > 0) back.sink -= cut.whole, back.offset -= cut.whole;  // the cut is within the sink
  } else if (shared != kNoBlock && shared == parent.last) {
    // All of the parent's rows are shared now, so its next rows need a new block. The new block gets the parent's
    // reference to the shared block.
    parent.last = new_block(shared, parent.length, 1);
  }
  if (shared != kNoBlock) ++own(shared).users;
  KvSequence child;
  child.length = position;
  child.last = new_block(shared, position - cut.rest, 1);
  if (cut.rest > 0) {
    own(child.last).pages.push_back(take_page());
    own(child.last).length = cut.rest;
  }
  return child;
}

void KvSequences::fork(int64_t parent, int64_t child, int64_t position) {
  position = checked_position(parent, child, position);
  KvSequence made = forked(get(parent), position);
  sequences_.emplace(child, std::move(made));
}

// ---- removal of rows

int64_t KvSequences::first_own(const KvSequence &sequence) const {
  int32_t at = sequence.last;
  while (block(at).parent != kNoBlock && block(block(at).parent).users == 1) at = block(at).parent;
  return block(at).start;
}

int64_t KvSequences::checked_pop(int64_t id, int64_t count) const {
  const KvSequence &sequence = get(id);
  if (count < 0 || count > sequence.length)
    fail(OPD_OUT_OF_RANGE, "n must be from 0 to the ", sequence.length, " rows of sequence ", id, ", but is ", count);
  return sequence.length - count;
}

std::optional<KvPageCopy> KvSequences::copy_for_pop(int64_t id, int64_t count) const {
  const int64_t length = checked_pop(id, count);
  const KvSequence &sequence = get(id);
  if (length >= first_own(sequence)) return std::nullopt;
  const Cut cut = cut_at(sequence, length);
  if (cut.rest == 0) return std::nullopt;
  if (num_free_pages() == 0)
    fail_full(1, concat("the removal of ", count, " rows of sequence ", id, ", some of them shared,"));
  return KvPageCopy{page_at(cut), next_page(), cut.rest};
}

void KvSequences::shrink(KvBlock &from, int64_t length) {
  from.length = length;
  if (length <= from.sink) from.sink = from.offset = 0;  // the remaining rows never moved
  give_pages(from, static_cast<size_t>(pages_for(from.end_place(), page_size_)));
}

void KvSequences::pop(int64_t id, int64_t count) {
  const int64_t length = checked_pop(id, count);
  KvSequence &sequence = get(id);
  sequence.tree.shrink(count);
  if (length < first_own(sequence)) {
    KvSequence shorter = forked(sequence, length);
    shorter.window = sequence.window;
    shorter.sink = sequence.sink;
    drop(sequence.last);
    sequence = std::move(shorter);
    return;
  }
  while (block(sequence.last).start > length) {
    const int32_t before = block(sequence.last).parent;
    ++own(before).users;  // the sequence continues it now
    drop(sequence.last);
    sequence.last = before;
  }
  shrink(own(sequence.last), length - block(sequence.last).start);
  sequence.length = length;
}

// ---- windows

void KvSequences::enable_window(int64_t id, int64_t window, int64_t sink) {
  KvSequence &sequence = get(id);
  require(has_windows_, "the cache was made without support for sliding windows, which sequence ", id, " is to have");
  require(sequence.window == 0, "sequence ", id, " has a sliding window already, of ", sequence.window, " rows");
  require(window > 0, "the sliding window of sequence ", id, " must have at least 1 row, but is ", window);
  require(sink >= 0 && sink < window, "the attention sink of sequence ", id, " must be from 0 to ", window - 1,
          ", the window less one, but is ", sink);
  require(block(sequence.last).start < window, "the sliding window of sequence ", id, " must have more than the ",
          block(sequence.last).start, " rows that it shares with other sequences, but is ", window);
  require(sequence.tree.is_empty(), "sequence ", id,
          " has a token tree; commit one of its paths before it gets a window");
  sequence.window = window;
  sequence.sink = sink;
}

int64_t KvSequences::sink_of(const KvSequence &sequence) const {
  const KvBlock &last = block(sequence.last);
  return last.sink > 0 ? last.sink : std::max<int64_t>(sequence.sink - last.start, 0);
}

int64_t KvSequences::pages_after(const KvSequence &sequence, int64_t count) const {
  const KvBlock &last = block(sequence.last);
  const int64_t slid = rows_to_slide(sequence, sequence.length + count);
  if (slid == 0) return pages_for(last.end_place() + count, page_size_);
  const int64_t sink = sink_of(sequence);
  const int64_t offset = (last.sink == 0 && sink > 0 ? sink : last.offset) + slid;
  const int64_t freed = std::max<int64_t>(offset / page_size_ - pages_for(sink, page_size_), 0);
  return pages_for(last.end_place() + count, page_size_) - freed;
}

void KvSequences::require_pages(std::span<const int64_t> ids, std::span<const int64_t> counts) const {
  int64_t free = num_free_pages();
  for (size_t i = 0; i < ids.size(); ++i) {
    const KvSequence &sequence = get(ids[i]);
    const int64_t needed = pages_after(sequence, counts[i]) - static_cast<int64_t>(block(sequence.last).pages.size());
    if (needed > free) {
      const std::string what = concat("sequence ", ids[i], " of ", sequence.length, " rows, which is to get ",
                                      counts[i], i > 0 ? " more after the sequences before it," : " more,");
      fail_full(needed, what);
    }
    free -= needed;
  }
}

void KvSequences::extend(KvSequence &sequence, int64_t count) {
  KvBlock &last = own(sequence.last);
  const auto needed = static_cast<size_t>(pages_for(last.end_place() + count, page_size_));
  last.pages.reserve(needed);
  // A window may need a page before it has slid and freed one.
  while (last.pages.size() < needed) last.pages.push_back(num_free_pages() == 0 ? kPageToCome : take_page());
  last.length += count;
  sequence.length += count;
  slide(sequence);
  for (int32_t &page : last.pages)
    if (page == kPageToCome) page = take_page();
}

void KvSequences::slide(KvSequence &sequence) {
  const int64_t rows = rows_to_slide(sequence, sequence.length);
  if (rows == 0) return;
  KvBlock &last = own(sequence.last);
  if (const int64_t sink = sink_of(sequence); last.sink == 0 && sink > 0) last.sink = last.offset = sink;
  last.offset += rows;
  last.length -= rows;
  sequence.length -= rows;
  const int64_t kept = pages_for(last.sink, page_size_);
  const int64_t freed = std::max<int64_t>(last.offset / page_size_ - kept, 0);
  const auto first = last.pages.begin() + kept;
  for (auto page = first; page != first + freed; ++page)
    if (*page != kPageToCome) given_pages_.push_back(*page);
  last.pages.erase(first, first + freed);
  last.offset -= freed * page_size_;
}

}  // namespace opd
