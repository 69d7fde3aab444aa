// Rows of a report of spans, with the columns that all views of a trace share.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "trace_views/key_averages.h"
#include "trace_views/trace_report.h"
#include "value/dtype.h"

namespace opd {

// ---- texts for a report's rows, made from events. Many rows share a text, so each is looked up once by its source.

std::string report_device_name(DLDevice device);  // "cpu0"

// Describes the clocks of devices in a report's configuration. "Device clock: opencl0" is a text. "Device clock error:
// opencl0 (us)" is the bound of the error of its times; it is left out if the bound is unknown.
void configure_device_clocks(const TraceParts &parts, ReportBuilder &builder);

class ReportTexts {
 public:
  explicit ReportTexts(ReportBuilder &builder) : builder_(builder) {}

  Metric none() { return none_ ? none_ : none_ = builder_.text(""); }
  Metric name(NameId id) {
    if (id >= kMostNames) return builder_.text(name_text(id));
    if (id >= names_.size()) names_.resize(size_t{id} + 1);
    return names_[id] ? names_[id] : names_[id] = builder_.text(name_text(id));
  }
  Metric shapes(const Event &event) {
    const uint32_t number = numbers_.of(event);
    if (number >= shapes_.size()) shapes_.resize(size_t{number} + 1);
    return shapes_[number] ? shapes_[number] : shapes_[number] = builder_.text(shapes_text(event));
  }
  Metric device(DLDevice device) {
    if (!device_text_ || !same(device, device_))
      device_text_ = builder_.text(report_device_name(device)), device_ = device;
    return device_text_;
  }

 private:
  ReportBuilder &builder_;
  Metric none_, device_text_;
  DLDevice device_{};           // the device that device_text_ names
  std::vector<Metric> names_;   // index: NameId
  std::vector<Metric> shapes_;  // index: number of the shapes
  ShapeNumbers numbers_;
};

// ---- rows of spans

class SpanRows {
 protected:
  explicit SpanRows(const Trace &trace) : trace_(trace) {
    for (const std::string_view name : kTvmColumns) builder_.column(name);
    builder_.column(kSelfColumn);
    builder_.column(kKindColumn);
  }

  Ref<Report> finish() {
    if (const uint64_t dropped = trace_.num_dropped())
      builder_.configure(kDroppedEntry, Metric::of_count(static_cast<int64_t>(dropped)));
    configure_device_clocks(trace_.parts, builder_);
    return builder_.finish();
  }

  // Begins a row. `event`: one of its spans. Ticks are those of TraceParts::common_ticks().
  void add(const Event &event, uint64_t count, uint64_t total, uint64_t self, bool has_shapes) {
    const Metric device = texts_.device(span_device(event));
    add(event, name_of(event), device, has_shapes ? texts_.shapes(event) : texts_.none(), count, total, self);
  }
  void add(const Event &event, Metric name, Metric device, Metric shapes, uint64_t count, uint64_t total,
           uint64_t self) {
    const double share = all_ticks_ ? static_cast<double>(total) * 100 / static_cast<double>(all_ticks_) : 0;
    builder_.begin_row();
    builder_.set(kName, name);
    builder_.set(kDuration, duration(total));
    builder_.set(kPercent, Metric::of_number(MetricKind::kPercent, share));
    builder_.set(kDevice, device);
    builder_.set(kCount, Metric::of_count(static_cast<int64_t>(count)));
    builder_.set(kShapes, shapes);
    builder_.set(kSelf, duration(self));
    builder_.set(kKind, kind_of(event));
    ++num_rows_;
  }
  void set(std::string_view column, Metric metric) { builder_.set(builder_.column(column), metric); }

  Metric duration(uint64_t ticks) const {
    return Metric::of_number(MetricKind::kDuration, trace_.parts.duration_ns(ticks) / 1000);
  }
  Metric name_of(const Event &event) {
    return event.kind == EventKind::kStep ? builder_.text(joined_name(event)) : texts_.name(event.name);
  }
  static DLDevice span_device(const Event &event) {
    const bool has_device =
        (event.kind == EventKind::kCall && event.num_tensors) || event.kind == EventKind::kDeviceWork;
    return has_device ? event.device : DLDevice{kDLCPU, 0};
  }

  const Trace &trace_;
  uint64_t all_ticks_ = 0;  // total for "Percent"
  uint32_t num_rows_ = 0;
  ReportBuilder builder_;
  ReportTexts texts_{builder_};

 private:
  enum : size_t { kName, kDuration, kPercent, kDevice, kCount, kShapes, kSelf, kKind };  // in the order of the columns

  Metric kind_of(const Event &event) {
    Metric &kind = kinds_[static_cast<size_t>(event.kind)];
    return kind ? kind : kind = builder_.text(kind_text(event.kind));
  }
  std::array<Metric, static_cast<size_t>(kLastEventKind) + 1> kinds_;  // index: EventKind
};

}  // namespace opd
