// Makes reports with a row for each stack of names, or for each name, in a part of the trace.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "trace_views/span_rows.h"
#include "trace_views/trace_report.h"

namespace opd {
namespace {

// Divides a trace into parts, which a comparison treats as runs: the steps of schedules; without steps, the outermost
// runs of programs; without runs, the outermost ranges; else the whole trace. Parts that had not ended when the
// recording did are left out, because they would seem too fast.
struct TraceDivision {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t num_parts = 0;                      // parts are numbered in the order of their starts
  std::vector<std::vector<uint32_t>> part_of;  // per thread: the part of each span; kNone: in no part
};

struct DivisionPart {
  int64_t begin_ns;
  uint32_t thread, span;  // indices
};

// The parts that no other part of the kind contains.
std::vector<DivisionPart> outermost(const Trace &trace, const std::vector<ThreadSpans> &threads, EventKind kind) {
  std::vector<DivisionPart> found;
  for (uint32_t thread = 0; thread < threads.size(); ++thread) {
    const std::vector<Span> &spans = threads[thread].spans;
    const TraceProcess &process = trace.parts.process_of(*threads[thread].track);
    for (uint32_t i = 0; i < spans.size();) {
      const bool is_part = spans[i].event->kind == kind && !spans[i].event->is_open;
      if (is_part) found.push_back({process.unix_ns(spans[i].event->begin), thread, i});
      i = is_part ? spans[i].end : i + 1;
    }
  }
  std::ranges::stable_sort(found, {}, &DivisionPart::begin_ns);
  return found;
}

// Steps of one process do not overlap, because one profiler made them.
void assign_steps(const std::vector<ThreadSpans> &threads, const std::vector<DivisionPart> &steps,
                  TraceDivision &made) {
  struct Step {
    uint64_t begin, end;
    uint32_t part;
  };
  std::vector<std::vector<Step>> of_process;
  for (uint32_t part = 0; part < steps.size(); ++part) {
    const ThreadSpans &thread = threads[steps[part].thread];
    const Event &event = *thread.spans[steps[part].span].event;
    if (thread.track->process >= of_process.size()) of_process.resize(size_t{thread.track->process} + 1);
    of_process[thread.track->process].push_back({event.begin, event.end, part});
  }
  for (std::vector<Step> &own : of_process) std::ranges::sort(own, {}, &Step::begin);
  for (size_t thread = 0; thread < threads.size(); ++thread) {
    if (threads[thread].track->process >= of_process.size()) continue;
    const std::vector<Step> &own = of_process[threads[thread].track->process];
    for (size_t i = 0; i < threads[thread].spans.size(); ++i) {
      const uint64_t begin = threads[thread].spans[i].event->begin;
      const auto next = std::ranges::upper_bound(own, begin, {}, &Step::begin);
      if (next != own.begin() && begin <= (next - 1)->end) made.part_of[thread][i] = (next - 1)->part;
    }
  }
}

// `threads`: those of the trace. Spans on any thread that begin during a step of their process belong to this step.
// Spans nested in a run or a range belong to it.
TraceDivision divide(const Trace &trace, const std::vector<ThreadSpans> &threads) {
  TraceDivision made;
  for (const ThreadSpans &thread : threads) made.part_of.emplace_back(thread.spans.size(), TraceDivision::kNone);
  for (const EventKind kind : {EventKind::kStep, EventKind::kRun, EventKind::kRange}) {
    const std::vector<DivisionPart> parts = outermost(trace, threads, kind);
    if (parts.empty()) continue;
    made.num_parts = static_cast<uint32_t>(parts.size());
    if (kind == EventKind::kStep) {
      assign_steps(threads, parts, made);
      return made;
    }
    for (uint32_t part = 0; part < parts.size(); ++part) {
      std::vector<uint32_t> &of_thread = made.part_of[parts[part].thread];
      const uint32_t first = parts[part].span, end = threads[parts[part].thread].spans[first].end;
      std::fill(of_thread.begin() + first, of_thread.begin() + end, part);
    }
    return made;
  }
  for (std::vector<uint32_t> &of_thread : made.part_of) {
    if (!of_thread.empty()) made.num_parts = 1;
    std::ranges::fill(of_thread, 0);
  }
  return made;
}

// The spans of one subject (a name or a stack) in one part.
struct Sum {
  uint32_t part, subject;
  const Event *first;
  uint64_t count = 0, total = 0, self = 0;
  // Index after the spans nested in the subject's last counted one. That span's time includes theirs.
  uint32_t thread = 0, end = 0;
};

class PathReportMaker : SpanRows {
 public:
  PathReportMaker(const Trace &trace, bool by_part) : SpanRows(trace), by_part_(by_part), threads_(nest_spans(trace)) {
    if (by_part) division_ = divide(trace, threads_);
  }

  Ref<Report> averages() {
    for (uint32_t thread = 0; thread < threads_.size(); ++thread)
      for (uint32_t i = 0; i < threads_[thread].spans.size(); ++i)
        if (const Event &event = *threads_[thread].spans[i].event; event.kind != EventKind::kMark)
          add_span(thread, i, subject_of(event));
    write([this](const Sum &sum) { begin_row(sum, name_of(*sum.first), texts_.device(span_device(*sum.first))); });
    return finish();
  }

  Ref<Report> paths() {
    StackTree tree(trace_, false);  // without lines: a function that moves must not get another stack
    for (uint32_t thread = 0; thread < threads_.size(); ++thread) {
      const std::vector<uint32_t> node_of = tree.add(threads_[thread]);
      for (uint32_t i = 0; i < node_of.size(); ++i)
        if (threads_[thread].spans[i].event->kind != EventKind::kMark) add_span(thread, i, node_of[i]);
    }
    std::vector<Path> paths(tree.nodes().size());
    for (size_t i = 1; i < paths.size(); ++i) {
      const StackTree::Node &node = tree.nodes()[i];
      const Path &outer = paths[node.parent];
      std::string name = tree.name(node);
      std::ranges::replace(name, ';', '_');
      paths[i].text = outer.depth ? concat(outer.text, ";", name) : std::move(name);
      paths[i].depth = outer.depth + 1;
      paths[i].parent = node.parent;
    }
    write([&](const Sum &sum) {
      Path &path = paths[sum.subject];
      begin_row(sum, path.metric ? path.metric : path.metric = builder_.text(path.text), texts_.none());
      if (by_part_) return;
      path.row = num_rows_ - 1;
      set(kDepthColumn, Metric::of_count(path.depth - 1));
      if (const Path &outer = paths[path.parent]; outer.row != kNoRow) set("Parent", Metric::of_count(outer.row));
    });
    return finish();
  }

 private:
  static constexpr uint32_t kNoRow = UINT32_MAX;
  struct Path {
    std::string text;
    Metric metric;
    uint32_t depth = 0, parent = 0, row = kNoRow;
  };
  struct Hash {
    size_t operator()(uint64_t key) const { return key * 0x9E3779B97F4A7C15u >> 20; }
  };

  // Spans of one name and device are one subject, whatever their kinds, because a diff identifies rows by name and
  // device.
  uint32_t subject_of(const Event &event) {
    const DLDevice device = span_device(event);
    const uint64_t place =
        uint64_t{static_cast<uint32_t>(device.device_type)} << 32 | static_cast<uint32_t>(device.device_id);
    const bool is_step = event.kind == EventKind::kStep;
    const auto [found, fresh] = subjects_.try_emplace({event.name, place << 1 | is_step}, subjects_.size());
    return static_cast<uint32_t>(found->second);
  }

  void add_span(uint32_t thread, uint32_t place, uint32_t subject) {
    const uint32_t part = by_part_ ? division_.part_of[thread][place] : 0;
    if (part == TraceDivision::kNone) return;
    const ThreadSpans &own = threads_[thread];
    const Span &span = own.spans[place];
    const uint64_t self = trace_.parts.common_ticks(span.self, *own.track);
    all_ticks_ += self;
    const auto [found, fresh] = places_.try_emplace(uint64_t{part} << 32 | subject, sums_.size());
    if (fresh) sums_.push_back({part, subject, span.event});
    Sum &sum = sums_[found->second];
    ++sum.count;
    sum.self += self;
    if (by_part_ && sum.thread == thread && place < sum.end) return;
    sum.total += trace_.parts.common_ticks(length_ticks(*span.event), *own.track);
    sum.thread = thread, sum.end = span.end;
  }

  template <class Begin>
  void write(const Begin &begin) {
    std::ranges::sort(sums_, {}, [](const Sum &sum) { return std::pair(sum.part, sum.subject); });
    builder_.reserve(sums_.size());
    for (const Sum &sum : sums_) {
      begin(sum);
      if (by_part_) set("Run", Metric::of_count(sum.part));
    }
  }
  void begin_row(const Sum &sum, Metric name, Metric device) {
    add(*sum.first, name, device, texts_.none(), sum.count, sum.total, sum.self);
  }

  const bool by_part_;
  const std::vector<ThreadSpans> threads_;
  TraceDivision division_;
  std::vector<Sum> sums_;
  std::unordered_map<uint64_t, size_t, Hash> places_;  // index of the sum, by part and subject
  std::map<std::pair<NameId, uint64_t>, size_t> subjects_;
};

}  // namespace

Ref<Report> report_of_averages_by_part(const Trace &trace) { return PathReportMaker(trace, true).averages(); }
Ref<Report> report_of_paths(const Trace &trace, bool by_part) { return PathReportMaker(trace, by_part).paths(); }

}  // namespace opd
