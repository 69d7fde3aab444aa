#include "trace_views/key_averages.h"

#include <algorithm>
#include <unordered_map>

namespace opd {
namespace {

class Joiner {
 public:
  Joiner(const TraceParts &parts, const GivenWork &work, const KeyAverageOptions &options, HostStacks &host)
      : parts_(parts), work_(work), options_(options), host_(host) {}

  void add(const ThreadSpans &thread) {
    const std::vector<SpanMemory> memory = span_memory(thread);
    const std::vector<SpanDevice> device = work_.of_spans(thread);
    const bool has_stacks = options_.stack_depth > 0 || options_.each_span;
    const auto stacks = has_stacks ? host_.stacks_of(thread) : std::vector<HostStacks::StackNumber>();
    for (const Span &span : thread.spans) {
      const Event &event = *span.event;
      if (event.kind == EventKind::kMark && !options_.each_span) continue;
      if (thread.track->device && thread.track->stream == kOverheadStream) continue;
      const auto place = static_cast<size_t>(&span - thread.spans.data());
      const HostStacks::StackNumber stack = has_stacks ? stacks[place] : 0;
      KeyAverage &row = row_of(event, stack);
      if (row.count++ == 0 || begins_before(thread, event, row))
        row.first = &span, row.thread = &thread, row.stack = stack;
      const auto common = [&](uint64_t ticks) { return parts_.common_ticks(ticks, *thread.track); };
      const uint64_t length = common(length_ticks(event));
      if (event.kind == EventKind::kDeviceWork) {
        row.device.self += length, row.device.total += length;
        continue;
      }
      row.total_ticks += length;
      row.self_ticks += common(span.self);
      if (!device.empty())
        row.device.self += common(device[place].self), row.device.total += common(device[place].total);
      if (!memory.empty()) row.memory += memory[place];
      if (!options_.with_flops) continue;
      if (const std::optional<double> flop = costs_.flop(event)) row.flop = row.flop.value_or(0) + *flop;
    }
  }

  std::vector<KeyAverage> take() {
    if (parts_.processes.size() == 1)
      std::ranges::stable_sort(rows_, {}, [](const KeyAverage &row) { return row.event().begin; });
    else
      std::ranges::stable_sort(rows_, {}, [this](const KeyAverage &row) { return begin_ns(*row.thread, row.event()); });
    return std::move(rows_);
  }

 private:
  struct Key {
    NameId name;
    uint32_t shapes;  // 0: any shapes
    uint32_t stack;   // 0: any stack
    EventKind kind;
    bool operator==(const Key &) const = default;
  };
  struct Hash {
    size_t operator()(const Key &key) const {
      const uint64_t words = (uint64_t{key.name} << 32 | key.shapes) ^ uint64_t { static_cast<uint8_t>(key.kind) }
                                                                           << 60;
      return (words ^ key.stack * 0xD6E8FEB86659FD93u) * 0x9E3779B97F4A7C15u >> 20;
    }
  };

  int64_t begin_ns(const ThreadSpans &thread, const Event &event) const {
    return parts_.process_of(*thread.track).unix_ns(event.begin);
  }
  bool begins_before(const ThreadSpans &thread, const Event &event, const KeyAverage &row) const {
    if (thread.track->process == row.thread->track->process) return event.begin < row.event().begin;
    return begin_ns(thread, event) < begin_ns(*row.thread, row.event());
  }

  KeyAverage &row_of(const Event &event, HostStacks::StackNumber stack) {
    if (options_.each_span) return rows_.emplace_back();
    const uint32_t shapes = options_.by_shape ? shapes_.of(event) : 0;
    const bool is_work = event.kind == EventKind::kDeviceWork;  // work has no shapes; devices have separate rows
    const Key key{event.name, is_work ? device_number(event.device) : shapes, group_of(stack), event.kind};
    if (rows_.empty() || key != last_key_) {
      last_ = places_.try_emplace(key, rows_.size()).first->second;
      if (last_ == rows_.size()) rows_.emplace_back();
      last_key_ = key;
    }
    return rows_[last_];
  }

  static uint32_t device_number(DLDevice device) {
    return static_cast<uint32_t>(device.device_type) << 16 | static_cast<uint16_t>(device.device_id);
  }

  // Number of the group of stacks with equal innermost functions; 0: no stack.
  uint32_t group_of(HostStacks::StackNumber stack) {
    if (!stack) return 0;
    const auto [known, fresh] = groups_.try_emplace(stack, 0);
    if (fresh)
      known->second =
          texts_.try_emplace(host_.call_stack(stack, options_.stack_depth), static_cast<uint32_t>(texts_.size() + 1))
              .first->second;
    return known->second;
  }

  const TraceParts &parts_;
  const GivenWork &work_;
  const KeyAverageOptions options_;
  HostStacks &host_;
  std::unordered_map<HostStacks::StackNumber, uint32_t> groups_;
  std::unordered_map<std::string, uint32_t> texts_;  // numbers of the texts, from 1 on
  std::vector<KeyAverage> rows_;
  std::unordered_map<Key, size_t, Hash> places_;
  ShapeNumbers shapes_;
  EventCosts costs_;
  Key last_key_{};  // key of the last span; the next one often has the same
  size_t last_ = 0;
};

}  // namespace

std::string span_name(const Event &event) {
  return event.kind == EventKind::kStep ? concat("ProfilerStep#", event.run) : name_text(event.name);
}

const std::string &joined_name(const Event &event) {
  static const auto *any_step = new std::string("ProfilerStep*");  // never destroyed, as names are
  return event.kind == EventKind::kStep ? *any_step : name_text(event.name);
}

std::vector<KeyAverage> key_averages(const Trace &trace, const std::vector<ThreadSpans> &threads, const GivenWork &work,
                                     const KeyAverageOptions &options, HostStacks &host) {
  Joiner joiner(trace.parts, work, options, host);
  for (const ThreadSpans &thread : threads) joiner.add(thread);
  return joiner.take();
}

}  // namespace opd
