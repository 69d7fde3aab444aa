#include "analysis/trace_report.h"

#include <algorithm>

#include "analysis/event_costs.h"
#include "analysis/key_averages.h"
#include "analysis/report_texts.h"

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
    case EventKind::kAlloc:
    case EventKind::kFree:
      break;  // they are no spans
  }
  return "";
}

class Maker {
 public:
  explicit Maker(const Trace &trace) : trace_(trace), threads_(nest_spans(trace)), first_(trace.first_tick()) {
    for (const std::string_view name : kTvmColumns) builder_.column(name);
    builder_.column(kSelfColumn);
    builder_.column("Kind");
    for (const ThreadSpans &thread : threads_)
      for (const Span &span : thread.spans) all_ticks_ += span.self;
  }

  Ref<Report> averages(bool by_shape) {
    for (const KeyAverage &row : key_averages(threads_, {.by_shape = by_shape, .with_flops = true})) {
      add(row.event(), row.count, row.total_ticks, row.self_ticks, by_shape);
      if (row.flop) add_flop(*row.flop);
      add_memory(row.memory);
    }
    return finish();
  }

  Ref<Report> events() {
    // Spans of a thread are in the order of their begins; those of several threads are merged.
    struct Place {
      uint32_t thread, span;
    };
    std::vector<Place> order;
    std::vector<std::vector<uint32_t>> rows;  // of each thread's spans
    std::vector<std::vector<SpanMemory>> memory;
    const auto begin = [&](const Place &place) { return threads_[place.thread].spans[place.span].event->begin; };
    for (uint32_t thread = 0; thread < threads_.size(); ++thread) {
      const auto middle = static_cast<std::ptrdiff_t>(order.size());
      const auto size = static_cast<uint32_t>(threads_[thread].spans.size());
      for (uint32_t span = 0; span < size; ++span) order.push_back({thread, span});
      std::inplace_merge(order.begin(), order.begin() + middle, order.end(),
                         [&](const Place &a, const Place &b) { return begin(a) < begin(b); });
      rows.emplace_back(size);
      memory.push_back(span_memory(threads_[thread]));
    }
    builder_.reserve(order.size());
    for (const Place &place : order) {
      const ThreadSpans &thread = threads_[place.thread];
      const Span &span = thread.spans[place.span];
      std::vector<uint32_t> &row_of = rows[place.thread];
      row_of[place.span] = num_rows_;
      add(*span.event, 1, length_ticks(*span.event), span.self, true);
      if (const std::optional<double> flop = costs_.flop(*span.event)) add_flop(*flop);
      add_memory(memory[place.thread].empty() ? SpanMemory() : memory[place.thread][place.span]);
      add_place(thread, span, span.parent == Span::kNone ? Span::kNone : row_of[span.parent]);
    }
    return finish();
  }

 private:
  enum : size_t { kName, kDuration, kPercent, kDevice, kCount, kShapes, kSelf, kKind };  // columns, in this order

  Ref<Report> finish() {
    if (const uint64_t dropped = trace_.num_dropped())
      builder_.configure(kDroppedEntry, Metric::of_count(static_cast<int64_t>(dropped)));
    return builder_.finish();
  }

  Metric duration(uint64_t ticks) const {
    return Metric::of_number(MetricKind::kDuration, trace_.parts.line.duration_ns(ticks) / 1000);
  }
  Metric name_of(const Event &event) {
    return event.kind == EventKind::kStep ? builder_.text(joined_name(event)) : texts_.name(event.name);
  }
  Metric device_of(const Event &event) {
    const bool has_device = event.kind == EventKind::kCall && event.num_tensors;
    return texts_.device(has_device ? event.device : DLDevice{kDLCPU, 0});
  }
  Metric kind_of(const Event &event) {
    Metric &kind = kinds_[static_cast<size_t>(event.kind)];
    return kind ? kind : kind = builder_.text(kind_text(event.kind));
  }

  void add(const Event &event, uint64_t count, uint64_t total, uint64_t self, bool has_shapes) {
    const double share = all_ticks_ ? static_cast<double>(total) * 100 / static_cast<double>(all_ticks_) : 0;
    builder_.begin_row();
    builder_.set(kName, name_of(event));
    builder_.set(kDuration, duration(total));
    builder_.set(kPercent, Metric::of_number(MetricKind::kPercent, share));
    builder_.set(kDevice, device_of(event));
    builder_.set(kCount, Metric::of_count(static_cast<int64_t>(count)));
    builder_.set(kShapes, has_shapes ? texts_.shapes(event) : texts_.none());
    builder_.set(kSelf, duration(self));
    builder_.set(kKind, kind_of(event));
    ++num_rows_;
  }
  void set(std::string_view column, Metric metric) { builder_.set(builder_.column(column), metric); }
  void add_flop(double flop) { set("FLOP", Metric::of_count(static_cast<int64_t>(flop))); }
  void add_memory(const SpanMemory &memory) {
    if (!trace_.parts.has_memory) return;
    const auto bytes = [](int64_t count) { return Metric{MetricKind::kBytes, std::bit_cast<uint64_t>(count)}; };
    set("Memory (bytes)", bytes(memory.host.total));
    set("Self Memory (bytes)", bytes(memory.host.self));
    if (!has_other_device_) return;
    set("Device Memory (bytes)", bytes(memory.other.total));
    set("Self Device Memory (bytes)", bytes(memory.other.self));
  }

  void add_place(const ThreadSpans &thread, const Span &span, uint32_t parent) {
    if (last_thread_ != &thread) last_thread_ = &thread, thread_name_ = builder_.text(thread.track->thread_name);
    set("Start (us)", duration(span.event->begin - first_));
    set("Thread ID", Metric::of_count(thread.track->thread_id));
    set("Thread", thread_name_);
    set(kDepthColumn, Metric::of_count(span.depth));
    if (parent != Span::kNone) set("Parent", Metric::of_count(parent));
    if (span.event->is_open) set("Open", Metric::of_count(1));
    if (span.event->kind == EventKind::kStep) set("Step", Metric::of_count(static_cast<int64_t>(span.event->run)));
    if (const std::string_view error = error_of(*span.event); !error.empty()) set(kErrorColumn, builder_.text(error));
  }

  const Trace &trace_;
  const std::vector<ThreadSpans> threads_;
  const uint64_t first_;
  const bool has_other_device_ = other_device(trace_).has_value();
  uint64_t all_ticks_ = 0;
  uint32_t num_rows_ = 0;
  ReportBuilder builder_;
  ReportTexts texts_{builder_};
  EventCosts costs_;
  Metric kinds_[5], thread_name_;
  const ThreadSpans *last_thread_ = nullptr;
};

}  // namespace

Ref<Report> report_of_events(const Trace &trace) { return Maker(trace).events(); }
Ref<Report> report_of_averages(const Trace &trace, bool by_shape) { return Maker(trace).averages(by_shape); }

}  // namespace opd
