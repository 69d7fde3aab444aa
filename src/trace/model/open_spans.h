// The ranges and runs of one thread that have begun and not ended. The thread adds and removes them; a recording reads
// them when it ends.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <vector>

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

class OpenSpans {
 public:
  void push(const OpenSpan &span) {
    if (count_.load(std::memory_order_relaxed) == kLimit) [[unlikely]]
      keep(0);
    const uint32_t i = count_.load(std::memory_order_relaxed);
    if (i < kMost) [[likely]]
      shared_[i].write(span);
    else deep_.push_back(span);
    count_.store(i + 1, std::memory_order_release);
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
    else deep_[found - 1 - kMost].begin = 0;
    while (count > 0 && begin_of(count - 1) == 0) --count;
    keep(count);
  }
  // Removes the span with this begin, and those that began after it and were never ended.
  void cut(uint64_t begin) {
    if (const uint32_t found = find(begin)) keep(found - 1);
  }

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
  // Whether the next push() forgets all open spans.
  bool is_full() const { return count_.load(std::memory_order_relaxed) == kLimit; }
  // For the owner: the number of open ranges that began at the tick or later.
  size_t num_ranges_since(uint64_t tick) const {
    const auto counts = [tick](const OpenSpan &span) { return span.kind == EventKind::kRange && span.begin >= tick; };
    const std::vector<OpenSpan> shared = read();
    return static_cast<size_t>(std::ranges::count_if(shared, counts) + std::ranges::count_if(deep_, counts));
  }
  // Forgets spans that began before the tick, and moves the others into their places. Not while another thread reads.
  void drop_before(uint64_t tick) {
    std::vector<OpenSpan> kept;
    for (const OpenSpan &span : read())
      if (span.begin >= tick) kept.push_back(span);
    for (const OpenSpan &span : deep_)
      if (span.begin >= tick) kept.push_back(span);
    keep(0);
    for (const OpenSpan &span : kept) push(span);
  }

  // The outermost spans, outermost first. Any thread may call it. Omits spans that begin or end during this call.
  std::vector<OpenSpan> read() const {
    std::vector<OpenSpan> found;
    const uint32_t count = std::min<uint32_t>(count_.load(std::memory_order_acquire), kMost);
    for (uint32_t i = 0; i < count; ++i)
      if (OpenSpan span; shared_[i].read(span)) found.push_back(span);
    return found;
  }

 private:
  static constexpr uint32_t kMost = 64;  // the number that other threads can read
  static constexpr uint32_t kLimit =
      1 << 16;  // a program that never ends its ranges must not fill the memory: all are forgotten

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
    return i < kMost ? shared_[i].begin.load(std::memory_order_relaxed) : deep_[i - kMost].begin;
  }
  void keep(uint32_t count) {
    if (!deep_.empty()) deep_.resize(std::max(count, kMost) - kMost);
    count_.store(count, std::memory_order_release);
  }

  std::atomic<uint32_t> count_{0};
  std::array<Shared, kMost> shared_;
  std::vector<OpenSpan> deep_;  // spans beyond kMost
};

}  // namespace opd
