#include "analysis/trace_report.h"

#include <unordered_map>

#include "analysis/run_report.h"

namespace opd {
namespace {

std::string_view kind_text(EventKind kind) {
  switch (kind) {
    case EventKind::kCall:
      return "call";
    case EventKind::kRun:
      return "run";
    case EventKind::kRange:
      return "range";
    case EventKind::kStep:
      return "step";
    case EventKind::kMark:
      return "mark";
  }
  return "";
}

class Maker {
 public:
  Maker(const Trace &trace, const KeyAverageOptions &options)
      : trace_(trace), options_(options), threads_(nest_spans(trace)), first_(trace.first_tick()) {}

  Ref<Report> make() {
    for (const std::string_view name : {"Name", "Duration (us)", "Percent", "Device", "Count", "Argument Shapes"})
      builder_.column(name);
    const std::vector<KeyAverage> rows = key_averages(threads_, options_);
    for (const KeyAverage &row : rows) all_ticks_ += row.self_ticks;
    if (options_.each_span) number(rows);
    for (const KeyAverage &row : rows) add(row);
    if (const uint64_t dropped = trace_.num_dropped())
      builder_.configure(kDroppedEntry, Metric::of_count(static_cast<int64_t>(dropped)));
    return builder_.finish();
  }

 private:
  Metric duration(uint64_t ticks) const {
    return Metric::of_number(MetricKind::kDuration, trace_.parts.line.duration_ns(ticks) / 1000);
  }
  void set(std::string_view column, Metric metric) { builder_.set(builder_.column(column), metric); }

  // The rows of spans, by the spans' addresses.
  void number(const std::vector<KeyAverage> &rows) {
    rows_.reserve(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) rows_.emplace(rows[i].first, i);
  }

  void add(const KeyAverage &row) {
    const Event &event = *row.first->event;
    const double share = all_ticks_ ? static_cast<double>(row.total_ticks) * 100 / static_cast<double>(all_ticks_) : 0;
    builder_.begin_row();
    set("Name", builder_.text(row.name));
    set("Duration (us)", duration(row.total_ticks));
    set("Percent", Metric::of_number(MetricKind::kPercent, share));
    const bool has_device = row.kind == EventKind::kCall && event.num_tensors;
    set("Device", builder_.text(report_device_name(has_device ? event.device : DLDevice{kDLCPU, 0})));
    set("Count", Metric::of_count(static_cast<int64_t>(row.count)));
    set("Argument Shapes", builder_.text(row.shapes));
    set(kSelfColumn, duration(row.self_ticks));
    set("Kind", builder_.text(kind_text(row.kind)));
    if (row.flop) set("FLOP", Metric::of_count(static_cast<int64_t>(*row.flop)));
    if (options_.each_span) add_place(row);
  }

  void add_place(const KeyAverage &row) {
    const Span &span = *row.first;
    set("Start (us)", duration(span.event->begin - first_));
    set("Thread ID", Metric::of_count(row.thread->track->thread_id));
    set("Thread", builder_.text(row.thread->track->thread_name));
    if (span.parent != Span::kNone)
      set("Parent", Metric::of_count(static_cast<int64_t>(rows_.at(&row.thread->spans[span.parent]))));
    set(kDepthColumn, Metric::of_count(span.depth));
    if (span.event->is_open) set("Open", Metric::of_count(1));
    if (span.event->kind == EventKind::kStep) set("Step", Metric::of_count(static_cast<int64_t>(span.event->run)));
    if (const std::string_view error = error_of(*span.event); !error.empty()) set(kErrorColumn, builder_.text(error));
  }

  const Trace &trace_;
  const KeyAverageOptions options_;
  const std::vector<ThreadSpans> threads_;
  const uint64_t first_;
  uint64_t all_ticks_ = 0;
  ReportBuilder builder_;
  std::unordered_map<const Span *, size_t> rows_;
};

}  // namespace

Ref<Report> report_of_trace(const Trace &trace, const KeyAverageOptions &options) {
  return Maker(trace, options).make();
}

}  // namespace opd
