#include "measure/roofline.h"

#include <map>

#include "report/operator_cost.h"

namespace opd {
namespace {

constexpr const char *kFlop = "FLOP", *kBytes = "Tensors (bytes)", *kSpeed = "GFLOP/s",
                     *kIntensity = "Arithmetic Intensity (FLOP/byte)", *kShare = kPeakShareColumn.data();

// Copies a report row by row, so that columns can be added.
class Copy {
 public:
  explicit Copy(const Report &report) : from_(report) {
    for (const Column &column : report.columns()) builder_.column(column.name()), cells_.emplace_back(&column);
  }
  ReportBuilder &builder() { return builder_; }

  void begin_row(size_t row) {
    builder_.begin_row();
    for (size_t i = 0; i < cells_.size(); ++i)
      if (const Metric metric = cells_[i].at(row)) builder_.set(i, own(metric));
  }

  Ref<Report> finish() {
    for (const auto &[device, metrics] : from_.devices()) {
      builder_.begin_device(device);
      for (const auto &[name, metric] : metrics) builder_.set_device(name, own(metric));
    }
    for (const auto &[name, metric] : from_.configuration()) builder_.configure(name, own(metric));
    for (const auto &[key, json] : from_.extras()) builder_.add_extra(key, json);
    return builder_.finish();
  }

 private:
  Metric own(Metric metric) {
    return metric.is_text() ? builder_.text(from_.text(metric.text()), metric.kind) : metric;
  }

  const Report &from_;
  ReportBuilder builder_;
  std::vector<Cells> cells_;  // of each column
};

std::string_view text_at(const Report &report, const Column *column, size_t row) {
  const Metric metric = column ? column->at(row) : Metric();
  return metric.is_text() ? report.text(metric.text()) : std::string_view();
}

double microseconds_at(const Column *column, size_t row) {
  const Metric metric = column ? column->at(row) : Metric();
  return metric.is_number() ? metric.number() : 0;
}

Metric ratio(double number) { return Metric::of_number(MetricKind::kRatio, number); }

}  // namespace

Ref<Report> with_roofline(const Report &report, const MachinePeak &peak) {
  for (const char *name : {kFlop, kSpeed, kIntensity, kShare})
    if (report.find_column(name)) fail(OPD_ALREADY_EXISTS, "the report has a column \"", name, "\" already");
  Copy copy(report);
  ReportBuilder &builder = copy.builder();
  const Column *names = report.find_column("Name"), *shapes = report.find_column("Argument Shapes"),
               *durations = report.find_column("Duration (us)");
  const bool has_bytes = report.find_column(kBytes) != nullptr;  // profiles with details have it
  std::map<std::pair<std::string_view, std::string_view>, OperatorCost> known;
  for (size_t row = 0; row < report.num_rows(); ++row) {
    copy.begin_row(row);
    if (report.row_kind(row) != RowKind::kCall) continue;
    const std::pair key(text_at(report, names, row), text_at(report, shapes, row));
    auto place = known.find(key);
    if (place == known.end()) place = known.emplace(key, operator_cost(key.first, key.second)).first;
    const OperatorCost &cost = place->second;
    if (cost.bytes > 0 && !has_bytes)
      builder.set(builder.column(kBytes), {MetricKind::kBytes, static_cast<uint64_t>(cost.bytes)});
    if (!cost.flop) continue;
    builder.set(builder.column(kFlop), Metric::of_count(static_cast<int64_t>(*cost.flop)));
    const double us = microseconds_at(durations, row), speed = us > 0 ? *cost.flop / us / 1e3 : 0;
    if (us > 0) builder.set(builder.column(kSpeed), ratio(speed));
    if (cost.bytes <= 0) continue;
    const double intensity = *cost.flop / cost.bytes;
    builder.set(builder.column(kIntensity), ratio(intensity));
    const double roof = std::min(peak.gflops, peak.bandwidth_gbps * intensity);
    if (us > 0 && roof > 0)
      builder.set(builder.column(kShare), Metric::of_number(MetricKind::kPercent, speed / roof * 100));
  }
  if (peak.gflops > 0) builder.configure("Peak GFLOP/s", ratio(peak.gflops));
  if (peak.bandwidth_gbps > 0) builder.configure("Peak Bandwidth (GB/s)", ratio(peak.bandwidth_gbps));
  return copy.finish();
}

}  // namespace opd
