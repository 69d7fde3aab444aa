#include "trace_views/activity.h"

#include <algorithm>
#include <unordered_map>

namespace opd {
namespace {

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

std::vector<Activity> activity_since(const Trace &trace, uint64_t from) {
  Sums sums;
  for (const TraceTrack &track : trace.parts.tracks) sums.add(track, from);
  return sums.take();
}

}  // namespace opd
