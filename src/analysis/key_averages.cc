#include "analysis/key_averages.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/event_costs.h"

namespace opd {
namespace {

class Joiner {
 public:
  explicit Joiner(const KeyAverageOptions &options) : options_(options) {}

  void add(const ThreadSpans &thread) {
    const std::vector<SpanMemory> memory = span_memory(thread);
    for (const Span &span : thread.spans) {
      const Event &event = *span.event;
      if (event.kind == EventKind::kMark && !options_.each_span) continue;
      KeyAverage &row = row_of(event);
      if (row.count++ == 0 || event.begin < row.event().begin) row.first = &span, row.thread = &thread;
      row.total_ticks += length_ticks(event);
      row.self_ticks += span.self;
      if (!memory.empty()) row.memory += memory[static_cast<size_t>(&span - thread.spans.data())];
      if (!options_.with_flops) continue;
      if (const std::optional<double> flop = costs_.flop(event)) row.flop = row.flop.value_or(0) + *flop;
    }
  }

  std::vector<KeyAverage> take() {
    std::ranges::stable_sort(rows_, {}, [](const KeyAverage &row) { return row.event().begin; });
    return std::move(rows_);
  }

 private:
  struct Key {
    NameId name;
    uint32_t shapes;  // 0: of any
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

  KeyAverage &row_of(const Event &event) {
    if (options_.each_span) return rows_.emplace_back();
    const Key key{event.name, options_.by_shape ? shapes_.of(event) : 0, event.kind};
    if (rows_.empty() || key != last_key_) {
      last_ = places_.try_emplace(key, rows_.size()).first->second;
      if (last_ == rows_.size()) rows_.emplace_back();
      last_key_ = key;
    }
    return rows_[last_];
  }

  const KeyAverageOptions options_;
  std::vector<KeyAverage> rows_;
  std::unordered_map<Key, size_t, Hash> places_;
  ShapeNumbers shapes_;
  EventCosts costs_;
  Key last_key_{};  // of the last span, which often is the next one's, too
  size_t last_ = 0;
};

}  // namespace

std::string span_name(const Event &event) {
  return event.kind == EventKind::kStep ? concat("ProfilerStep#", event.run) : name_text(event.name);
}

const std::string &joined_name(const Event &event) {
  static const std::string any_step = "ProfilerStep*";
  return event.kind == EventKind::kStep ? any_step : name_text(event.name);
}

std::vector<KeyAverage> key_averages(const std::vector<ThreadSpans> &threads, const KeyAverageOptions &options) {
  Joiner joiner(options);
  for (const ThreadSpans &thread : threads) joiner.add(thread);
  return joiner.take();
}

}  // namespace opd
