#include "trace_views/spans.h"

#include <algorithm>

#include "value/dtype.h"

namespace opd {
namespace {

// Events are written at their ends, so of two with the same end, the inner one was written first.
bool ends_before(const Event *a, const Event *b) {
  if (a->end != b->end) return a->end < b->end;
  const Chunk &chunk_a = Chunk::of(*a), &chunk_b = Chunk::of(*b);
  return &chunk_a == &chunk_b ? a > b : chunk_a.first < chunk_b.first;  // events of a chunk grow downwards
}

std::vector<const Event *> by_end(const TraceTrack &track, bool with_tasks) {
  std::vector<const Event *> all;
  for (const auto *list : {&track.calls, &track.ranges, &track.runs, &track.tasks, &track.device_work}) {
    if (list == &track.tasks && !with_tasks) continue;
    const auto middle = static_cast<std::ptrdiff_t>(all.size());
    all.insert(all.end(), list->begin(), list->end());
    // If an observer calls a program, the events of that program are written before the event of the observed call.
    if (!std::is_sorted(all.begin() + middle, all.end(), ends_before))
      std::sort(all.begin() + middle, all.end(), ends_before);
    std::inplace_merge(all.begin(), all.begin() + middle, all.end(), ends_before);
  }
  return all;
}

// Adds spans in the order of their ends. The spans within a new span are then the last of those without a parent.
class Nest {
 public:
  Nest(const TraceTrack &track, bool with_tasks) : events_(by_end(track, with_tasks)), nodes_(events_.size()) {
    made_.track = &track;
    for (uint32_t i = 0; i < events_.size(); ++i) add(i);
  }

  // Sorts the spans by begin: a span's index is its parent's plus the number of spans between.
  ThreadSpans take() {
    made_.spans.resize(events_.size());
    auto free = static_cast<uint32_t>(events_.size());  // the outermost spans' indices end here
    for (auto i = static_cast<uint32_t>(events_.size()); i-- > 0;) {
      Node &node = nodes_[i];
      uint32_t &end = node.parent == Span::kNone ? free : nodes_[node.parent].free;
      const uint32_t place = end - node.size;
      Span &span = made_.spans[place];
      span = {events_[i], node.self, Span::kNone, end, 0, node.lane};
      if (node.parent != Span::kNone) {
        span.parent = nodes_[node.parent].place;
        span.depth = made_.spans[span.parent].depth + 1;
      }
      node.place = place;
      node.free = end;
      end = place;
    }
    return std::move(made_);
  }

 private:
  struct Node {
    uint64_t self;
    uint32_t parent = Span::kNone, size = 1, lane = 0;
    uint32_t place = 0, free = 0;  // where the indices of further nested spans end
  };

  uint64_t begin(uint32_t i) const { return std::min(events_[i]->begin, events_[i]->end); }

  void add(uint32_t i) {
    Node &node = nodes_[i];
    uint64_t inner = 0, first = events_[i]->end;  // covered ticks, and the start of the covered part
    while (!open_.empty() && begin(open_.back()) >= begin(i)) {
      const uint32_t child = open_.back();
      open_.pop_back();
      const uint64_t end = std::min(first, events_[child]->end);  // siblings may overlap
      if (end > begin(child)) inner += end - begin(child);
      first = std::min(first, begin(child));
      nodes_[child].parent = i;
      node.size += nodes_[child].size;
    }
    node.self = events_[i]->end - begin(i) - inner;
    open_.push_back(i);
    find_lane(i);
  }

  // Finds the first lane in which the span overlaps only spans that it contains or that contain it.
  void find_lane(uint32_t i) {
    for (node_lane(i) = 0;; ++node_lane(i)) {
      const uint32_t lane = node_lane(i);
      if (lane == lanes_.size()) lanes_.emplace_back();
      std::vector<uint32_t> &open = lanes_[lane];
      size_t kept = open.size();
      while (kept > 0 && begin(open[kept - 1]) >= begin(i)) --kept;
      if (kept > 0 && events_[open[kept - 1]]->end > begin(i)) continue;
      open.resize(kept);
      open.push_back(i);
      made_.num_lanes = std::max(made_.num_lanes, lane + 1);
      return;
    }
  }
  uint32_t &node_lane(uint32_t i) { return nodes_[i].lane; }

  const std::vector<const Event *> events_;  // sorted by end
  std::vector<Node> nodes_;
  std::vector<uint32_t> open_;                // spans without a parent so far
  std::vector<std::vector<uint32_t>> lanes_;  // per lane: spans without a parent so far
  ThreadSpans made_;
};

}  // namespace

ThreadSpans nest_spans(const TraceTrack &track, bool with_tasks) { return Nest(track, with_tasks).take(); }

std::vector<ThreadSpans> nest_spans(const Trace &trace) {
  std::vector<ThreadSpans> threads;
  for (const TraceTrack &track : trace.parts.tracks)
    if (!track.device) threads.push_back(nest_spans(track));
  return threads;
}

std::vector<ThreadSpans> nest_all_spans(const Trace &trace, bool with_tasks) {
  std::vector<ThreadSpans> threads;
  for (const TraceTrack &track : trace.parts.tracks) threads.push_back(nest_spans(track, with_tasks));
  std::stable_partition(threads.begin(), threads.end(),
                        [](const ThreadSpans &thread) { return !thread.track->device; });
  return threads;
}

std::vector<SpanMemory> span_memory(const ThreadSpans &thread) {
  if (thread.track->memory.empty()) return {};
  std::vector<SpanMemory> found(thread.spans.size());
  each_moment(thread, thread.track->memory, [&](const Event &change, uint32_t place) {
    if (place == Span::kNone) return;
    SpanMemory::Sum &sum = found[place].of(change);
    sum.self += signed_bytes(change), sum.total += signed_bytes(change);
  });
  // A span comes before the spans within it.
  for (size_t i = found.size(); i-- > 0;) {
    if (thread.spans[i].parent == Span::kNone) continue;
    SpanMemory &parent = found[thread.spans[i].parent];
    parent.host.total += found[i].host.total, parent.other.total += found[i].other.total;
  }
  return found;
}

std::optional<DLDevice> other_device(const Trace &trace) {
  for (const TraceTrack &track : trace.parts.tracks)
    for (const Event *change : track.memory)
      if (change->device.device_type != kDLCPU) return change->device;
  return std::nullopt;
}

GivenWork::GivenWork(const Trace &trace) {
  for (const TraceTrack &track : trace.parts.tracks) {
    if (track.device) {
      const std::string kind = device_kind_name(track.device->device_type);
      kind_ = kind_.empty() || kind_ == kind ? kind : "device";
    }
    for (const Event *event : track.device_work)
      if (const DeviceWork work = device_work(*event); work.kind != WorkKind::kOverhead)
        works_[{track.process, work.thread}].push_back(event);
  }
  for (auto &[thread, works] : works_)
    std::ranges::stable_sort(works, {}, [](const Event *work) { return device_work(*work).launched; });
}

std::span<const Event *const> GivenWork::of(const TraceTrack &thread) const {
  const auto found = works_.find({thread.process, static_cast<uint32_t>(thread.thread_id)});
  if (thread.device || found == works_.end()) return {};
  return found->second;
}

std::vector<SpanDevice> GivenWork::of_spans(const ThreadSpans &thread) const {
  if (of(*thread.track).empty()) return {};
  std::vector<SpanDevice> found(thread.spans.size());
  each_launch(thread, [&](const Event &work, uint32_t place) {
    if (place == Span::kNone) return;
    found[place].self += length_ticks(work), found[place].total += length_ticks(work);
  });
  // A span comes before the spans within it.
  for (size_t i = found.size(); i-- > 0;)
    if (thread.spans[i].parent != Span::kNone) found[thread.spans[i].parent].total += found[i].total;
  return found;
}

}  // namespace opd
