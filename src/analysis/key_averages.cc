#include "analysis/key_averages.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/operator_cost.h"
#include "trace/shape_cache.h"

namespace opd {
namespace {

// Numbers for distinct lists of tensors. Keys lie in the trace.
class ShapeNumbers {
 public:
  uint32_t of(const Event &event) {
    if (!event.num_tensors) return 0;
    return by_address_.of(event, [this](const Event &first) {
      const std::span<const int64_t> words = shape_words(first);
      const std::string_view key(reinterpret_cast<const char *>(words.data()), words.size_bytes());
      return by_words_.try_emplace(key, static_cast<uint32_t>(by_words_.size() + 1)).first->second;
    });
  }

 private:
  ShapeCache<uint32_t> by_address_;
  std::unordered_map<std::string_view, uint32_t> by_words_;
};

// Spans are joined by name, kind and shapes first, since these decide the number of operations.
class Joiner {
 public:
  explicit Joiner(const KeyAverageOptions &options) : options_(options) {}

  void add(const ThreadSpans &thread) {
    for (const Span &span : thread.spans) {
      const Event &event = *span.event;
      if (event.kind == EventKind::kMark && !options_.each_span) continue;
      KeyAverage &row = row_of(event);
      if (row.count++ == 0 || event.begin < row.first->event->begin)
        row.kind = event.kind, row.first = &span, row.thread = &thread;
      row.total_ticks += event.end - event.begin;
      row.self_ticks += span.self;
    }
  }

  std::vector<KeyAverage> take() {
    if (options_.with_flops)
      for (KeyAverage &row : rows_) add_flop(row);
    if (!options_.by_shape && !options_.each_span) join_shapes();
    std::ranges::stable_sort(rows_, {}, [](const KeyAverage &row) { return row.first->event->begin; });
    for (KeyAverage &row : rows_) {
      const Event &event = *row.first->event;
      row.name = event.kind == EventKind::kStep ? kAnyStep : name_text(event.name);
      if (options_.by_shape || options_.each_span) row.shapes = shapes_text(event);
    }
    return std::move(rows_);
  }

 private:
  KeyAverage &row_of(const Event &event) {
    if (options_.each_span) return rows_.emplace_back();
    const Key key{event.name, options_.by_shape || options_.with_flops ? shapes_.of(event) : 0, event.kind};
    if (rows_.empty() || key != last_key_) {
      last_ = places_.try_emplace(key, rows_.size()).first->second;
      if (last_ == rows_.size()) rows_.emplace_back();
      last_key_ = key;
    }
    return rows_[last_];
  }

  static void add_flop(KeyAverage &row) {
    const Event &event = *row.first->event;
    if (event.kind != EventKind::kCall || !event.num_tensors) return;
    const std::optional<double> flop = operator_cost(name_text(event.name), shapes_text(event)).flop;
    if (flop) row.flop = *flop * static_cast<double>(row.count);
  }

  void join_shapes() {
    std::vector<KeyAverage> joined;
    std::unordered_map<Key, size_t, Hash> places;
    for (KeyAverage &row : rows_) {
      const Event &event = *row.first->event;
      const auto [place, fresh] = places.try_emplace(Key{event.name, 0, event.kind}, joined.size());
      if (fresh) {
        joined.push_back(std::move(row));
        continue;
      }
      KeyAverage &sum = joined[place->second];
      sum.count += row.count;
      sum.total_ticks += row.total_ticks;
      sum.self_ticks += row.self_ticks;
      if (row.flop) sum.flop = sum.flop.value_or(0) + *row.flop;
      if (row.first->event->begin < sum.first->event->begin) sum.first = row.first, sum.thread = row.thread;
    }
    rows_ = std::move(joined);
  }

  struct Key {
    NameId name;
    uint32_t shapes;  // 0: of no tensor, or of any
    EventKind kind;
    bool operator==(const Key &) const = default;
  };
  struct Hash {
    size_t operator()(const Key &key) const {
      const uint64_t words = (uint64_t{key.name} << 32 | key.shapes) ^ uint64_t { static_cast<uint8_t>(key.kind) }
                                                                           << 60;
      return words * 0x9E3779B97F4A7C15u >> 20;
    }
  };

  const KeyAverageOptions options_;
  std::vector<KeyAverage> rows_;
  std::unordered_map<Key, size_t, Hash> places_;
  ShapeNumbers shapes_;
  Key last_key_{};  // of the last span, which often is the next one's, too
  size_t last_ = 0;
};

}  // namespace

std::vector<KeyAverage> key_averages(const std::vector<ThreadSpans> &threads, const KeyAverageOptions &options) {
  Joiner joiner(options);
  for (const ThreadSpans &thread : threads) joiner.add(thread);
  return joiner.take();
}

std::string span_name(const Event &event) {
  return event.kind == EventKind::kStep ? concat("ProfilerStep#", event.run) : name_text(event.name);
}

}  // namespace opd
