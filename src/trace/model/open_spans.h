// The ranges and runs of one thread that have begun and not ended. The thread, their owner, adds and removes them. A
// recording reads them when it ends. Another thread takes a range if the range ends there.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <optional>
#include <vector>

#include "base/fork_mutex.h"
#include "trace/model/event.h"

namespace opd {

struct OpenSpan {
  uint64_t begin = 0;  // distinct among the spans of a thread; 0: none
  NameId name = kNoName;
  EventKind kind = EventKind::kRange;
  uint64_t run = 0, parent_run = 0;  // runs: as in Event
  StackId stack = 0;
};

// A span's name, stack and kind in one word: 32, 24 and 8 bits.
struct PackedSpan {
  static_assert(kMostStacks <= 1 << 24);
  uint64_t word;

  static PackedSpan of(const OpenSpan &span) {
    return {uint64_t{span.name} << 32 | span.stack << 8 | static_cast<uint8_t>(span.kind)};
  }
  NameId name() const { return static_cast<NameId>(word >> 32); }
  StackId stack() const { return static_cast<StackId>(word >> 8 & 0xFFFFFF); }
  uint8_t kind() const { return static_cast<uint8_t>(word); }
};

// The owner needs no lock for the first kMost spans. The lock is for the deeper ones, and for moving spans.
class OpenSpans {
 public:
  void push(const OpenSpan &span) {
    uint32_t i = count_.load(std::memory_order_relaxed);
    if (i > 0 && begin_of(i - 1) == 0) [[unlikely]]
      i = keep_from_below(i);  // another thread took the innermost spans
    if (i < kMost) [[likely]] {
      shared_[i].write(span);
      count_.store(i + 1, std::memory_order_release);
    } else push_deep(span, i);
  }

  // The number of the innermost open run; 0: none.
  uint64_t innermost_run() const {
    for (uint32_t i = std::min(count_.load(std::memory_order_relaxed), kMost); i-- > 0;)
      if (OpenSpan span; shared_[i].read(span) && span.kind == EventKind::kRun) return span.run;
    return 0;
  }

  // The number of spans up to the one with this begin; 0: not found. Spans of a thread usually end in reverse order.
  uint32_t find(uint64_t begin) const {
    uint32_t count = count_.load(std::memory_order_relaxed);
    while (count > 0 && begin_of(count - 1) != begin) --count;
    return count;
  }
  NameId name(uint32_t found) const {
    return found <= kMost ? shared_[found - 1].what().name() : deep_[found - 1 - kMost].name;
  }
  StackId stack(uint32_t found) const {
    return found <= kMost ? shared_[found - 1].what().stack() : deep_[found - 1 - kMost].stack;
  }
  // Removes the span that find() found.
  void pop(uint32_t found) {
    uint32_t count = count_.load(std::memory_order_relaxed);
    if (found == count) [[likely]]
      --count;
    else if (found <= kMost) shared_[found - 1].begin.store(0, std::memory_order_relaxed);
    else {
      const std::scoped_lock lock(guard_);
      deep_[found - 1 - kMost].begin = 0;
    }
    keep_from_below(count);
  }
  // Removes the span with this begin, and those that began after it and were never ended.
  void cut(uint64_t begin) {
    if (const uint32_t found = find(begin)) keep(found - 1);
  }
  // For other threads: removes the range with this begin, and returns it.
  std::optional<OpenSpan> take_range(uint64_t begin) {
    const std::scoped_lock lock(guard_);
    const uint32_t count = std::min(count_.load(std::memory_order_acquire), kMost);
    for (uint32_t i = 0; i < count; ++i) {
      OpenSpan span;
      uint64_t expected = begin;
      // Begins of a thread are distinct. So if the exchange succeeds, the members that were read are the range's.
      if (shared_[i].begin.load(std::memory_order_relaxed) == begin && shared_[i].read(span) &&
          span.kind == EventKind::kRange && shared_[i].begin.compare_exchange_strong(expected, 0)) {
        num_taken_.fetch_add(1, std::memory_order_relaxed);
        return span;
      }
    }
    for (OpenSpan &deep : deep_)
      if (deep.begin == begin && deep.kind == EventKind::kRange) {
        const OpenSpan span = deep;
        std::atomic_ref(deep.begin).store(0, std::memory_order_relaxed);
        num_taken_.fetch_add(1, std::memory_order_relaxed);
        return span;
      }
    return std::nullopt;
  }
  // For the owner: the number of ranges that other threads took since the last call.
  uint32_t reset_num_taken() { return num_taken_.exchange(0, std::memory_order_relaxed); }

  // For the owner: the number of readable spans, at most kMost.
  uint32_t count() const { return std::min(count_.load(std::memory_order_relaxed), kMost); }
  OpenSpan at(uint32_t i) const {  // `begin` is 0 if it ended before the spans within it
    OpenSpan span;
    shared_[i].read(span);
    return span;
  }

  // Whether the number of open spans suggests that some will never end.
  bool is_suspicious() const {
    const uint32_t count = count_.load(std::memory_order_relaxed);
    return count >= kMost && std::has_single_bit(count);
  }
  // Whether the next push() forgets spans: a program that never ends its ranges must not fill the memory.
  bool is_full() const { return count_.load(std::memory_order_relaxed) == kLimit; }
  // For the owner, if is_full(): the number of ranges that push() forgets and that began at the tick or later.
  size_t num_forgotten_since(uint64_t tick) const {
    const std::scoped_lock lock(guard_);
    const auto counts = [tick](const OpenSpan &span) { return span.kind == EventKind::kRange && span.begin >= tick; };
    return static_cast<size_t>(std::count_if(deep_.begin(), deep_.begin() + kForgotten, counts));
  }
  uint64_t begin_after_forgotten() const { return begin_of(kMost + kForgotten); }
  // For the owner: forgets spans that began before the tick, and moves the others into their places.
  void drop_before(uint64_t tick) {
    const std::scoped_lock lock(guard_);
    std::vector<OpenSpan> kept = read_shared();
    kept.insert(kept.end(), deep_.begin(), deep_.end());
    std::erase_if(kept, [tick](const OpenSpan &span) { return span.begin < tick; });
    for (size_t i = 0; i < std::min<size_t>(kept.size(), kMost); ++i) shared_[i].write(kept[i]);
    deep_.assign(kept.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(kept.size(), kMost)), kept.end());
    count_.store(static_cast<uint32_t>(kept.size()), std::memory_order_release);
  }

  // The outermost spans, outermost first. Any thread may call it. Omits spans that begin or end during this call.
  std::vector<OpenSpan> read() const {
    const std::scoped_lock lock(guard_);
    return read_shared();
  }

 private:
  static constexpr uint32_t kMost = 64;  // the number that other threads can read
  static constexpr uint32_t kLimit = 1 << 18;
  static constexpr uint32_t kForgotten = (kLimit - kMost) / 2;  // the outermost ones of deep_

  // A sequence lock: `begin` is 0 while the other members change. If a reader sees the same `begin` before and after,
  // the members that it read belong to one span.
  struct Shared {
    std::atomic<uint64_t> begin{0}, packed{0}, run{0}, parent_run{0};

    void write(const OpenSpan &span) {
      begin.store(0, std::memory_order_relaxed);
      packed.store(PackedSpan::of(span).word, std::memory_order_release);
      run.store(span.run, std::memory_order_release);
      parent_run.store(span.parent_run, std::memory_order_release);
      begin.store(span.begin, std::memory_order_release);
    }
    PackedSpan what() const { return {packed.load(std::memory_order_relaxed)}; }
    bool read(OpenSpan &span) const {
      span.begin = begin.load(std::memory_order_acquire);
      const PackedSpan what{packed.load(std::memory_order_acquire)};
      span.name = what.name(), span.stack = what.stack(), span.kind = static_cast<EventKind>(what.kind());
      span.run = run.load(std::memory_order_acquire);
      span.parent_run = parent_run.load(std::memory_order_acquire);
      return span.begin && begin.load(std::memory_order_relaxed) == span.begin;
    }
  };

  uint64_t begin_of(uint32_t i) const {
    if (i < kMost) return shared_[i].begin.load(std::memory_order_relaxed);
    return std::atomic_ref(const_cast<uint64_t &>(deep_[i - kMost].begin)).load(std::memory_order_relaxed);
  }
  std::vector<OpenSpan> read_shared() const {
    std::vector<OpenSpan> found;
    const uint32_t count = std::min(count_.load(std::memory_order_acquire), kMost);
    for (uint32_t i = 0; i < count; ++i)
      if (OpenSpan span; shared_[i].read(span)) found.push_back(span);
    return found;
  }
  // Keeps the first `count` spans, without those at their end that have ended.
  uint32_t keep_from_below(uint32_t count) {
    while (count > 0 && begin_of(count - 1) == 0) --count;
    keep(count);
    return count;
  }
  void keep(uint32_t count) {
    if (!deep_.empty()) [[unlikely]] {
      const std::scoped_lock lock(guard_);
      deep_.resize(std::max(count, kMost) - kMost);
    }
    count_.store(count, std::memory_order_release);
  }
  [[gnu::noinline]] void push_deep(const OpenSpan &span, uint32_t count) {
    const std::scoped_lock lock(guard_);
    if (count == kLimit) {
      deep_.erase(deep_.begin(), deep_.begin() + kForgotten);
      count -= kForgotten;
    }
    deep_.push_back(span);
    count_.store(count + 1, std::memory_order_release);
  }

  std::atomic<uint32_t> count_{0}, num_taken_{0};
  std::array<Shared, kMost> shared_;
  std::vector<OpenSpan> deep_;  // spans beyond kMost; only the owner changes its size
  mutable ForkMutex guard_{LockRank::kOpenSpans};
};

}  // namespace opd
