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
    std::ranges::stable_sort(
        rows_, {}, [this](const KeyAverage &row) { return parts_.order_of(row.event().begin, *row.thread->track); });
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

struct Part {  // the part of a span within the interval
  uint64_t begin, end;
  const Event *event;
};

// The spans of a thread; a span comes before the spans within it.
std::vector<Part> parts_of(const TraceTrack &track, uint64_t from) {
  std::vector<Part> parts;
  parts.reserve(track.calls.size() + track.runs.size() + track.ranges.size());
  for (const auto *list : {&track.runs, &track.ranges, &track.calls})
    for (const Event *event : *list)
      if (event->kind != EventKind::kMark && event->end >= from)
        parts.push_back({std::max(event->begin, from), std::max(event->begin, event->end), event});
  std::ranges::stable_sort(
      parts, [](const Part &a, const Part &b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  return parts;
}

class Sums {
 public:
  void add(const TraceTrack &track, uint64_t from) {
    ++thread_;
    struct Open {
      uint64_t end;
      size_t row;
    };
    std::vector<Open> open;
    for (const Part &part : parts_of(track, from)) {
      while (!open.empty() && open.back().end <= part.begin && open.back().end < part.end) open.pop_back();
      const size_t place = row_of(*part.event);
      Activity &row = rows_[place];
      const uint64_t length = part.end - part.begin;
      row.ticks += length;
      row.self_ticks += length;
      if (!part.event->is_open) ++row.count, row.full_ticks += length_ticks(*part.event);
      if (last_thread_[place] != thread_) last_thread_[place] = thread_, ++row.num_threads;
      // A range may cross the end of the one around it.
      if (!open.empty()) rows_[open.back().row].self_ticks -= std::min(open.back().end, part.end) - part.begin;
      open.push_back({part.end, place});
    }
  }

  std::vector<Activity> take() {
    std::ranges::stable_sort(rows_, std::greater<>(), &Activity::self_ticks);
    return std::move(rows_);
  }

 private:
  size_t row_of(const Event &event) {
    const uint64_t key = uint64_t{event.name} << 8 | static_cast<uint8_t>(event.kind);
    const auto [found, is_new] = places_.try_emplace(key, rows_.size());
    if (is_new) rows_.push_back({&event}), last_thread_.push_back(0);
    return found->second;
  }

  std::vector<Activity> rows_;
  std::vector<uint32_t> last_thread_;  // per row: the last thread that had it
  uint32_t thread_ = 0;
  std::unordered_map<uint64_t, size_t> places_;
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

// The launching thread waits until the loop has ended. So the innermost span open at a task's begin launched the loop.
const Event *LoopNames::span_around(const Event &task, uint32_t process) {
  for (const TraceTrack &track : trace_.parts.tracks) {
    if (track.process != process || static_cast<uint32_t>(track.thread_id) != loop_task(task).thread) continue;
    const auto [place, fresh] = threads_.try_emplace(&track);
    if (fresh) place->second = nest_spans(track);
    const std::vector<Span> &spans = place->second.spans;
    const auto after =
        std::ranges::upper_bound(spans, task.begin, {}, [](const Span &span) { return span.event->begin; });
    if (after == spans.begin()) continue;
    auto at = static_cast<uint32_t>(after - spans.begin() - 1);
    while (at != Span::kNone && spans[at].event->end < task.begin) at = spans[at].parent;
    if (at != Span::kNone) return spans[at].event;
  }
  return nullptr;
}

const std::string &LoopNames::of(const Event &task, uint32_t process) {
  const auto [place, fresh] = names_.try_emplace({process, loop_task(task).loop}, "parallel_for");
  if (!fresh) return place->second;
  if (const Event *around = span_around(task, process)) place->second = span_name(*around);
  return place->second;
}

std::vector<Activity> activity_since(const Trace &trace, uint64_t from) {
  Sums sums;
  for (const TraceTrack &track : trace.parts.tracks) sums.add(track, from);
  return sums.take();
}

}  // namespace opd
