#include "profile/run_report.h"

namespace opd {

std::string report_device_name(DLDevice device) {
  return concat(device_kind_name(device.device_type), device.device_id);
}

Ref<Report> report_of_run(const RunRecord &run) {
  const uint64_t empty = empty_interval_ticks(run.buffer.clock());
  const auto microseconds = [&](uint64_t ticks) {
    return run.line.duration_ns(ticks > empty ? ticks - empty : 0) / 1000;
  };
  double total = 0;
  for (const uint64_t ticks : run.total_ticks) total += microseconds(ticks);

  ReportBuilder builder;
  const size_t name = builder.column("Name"), duration = builder.column("Duration (us)"),
               percent = builder.column("Percent"), device = builder.column("Device"), count = builder.column("Count"),
               shapes = builder.column("Argument Shapes");
  for (uint64_t i = 0; i < run.buffer.size(); ++i) {
    const Record &record = run.buffer.at(i);
    const double us = microseconds(record.end > record.begin ? record.end - record.begin : 0);
    builder.begin_row();
    builder.set(name, builder.text(record.name < run.names.size() ? std::string_view(run.names[record.name]) : "?"));
    builder.set(duration, Metric::of_number(MetricKind::kDuration, us));
    builder.set(percent, Metric::of_number(MetricKind::kPercent, total > 0 ? us / total * 100 : 0));
    builder.set(device, builder.text(report_device_name(record.device)));
    builder.set(count, Metric::of_count(1));
    builder.set(shapes, builder.text(run.buffer.shapes_text(record)));
    if (run.collected) run.collected->set_row(builder, record.sequence);
  }
  for (const DLDevice place : run.devices) {
    const std::string text = report_device_name(place);
    if (!builder.begin_device(text)) continue;  // a device may be listed twice
    builder.set_device("Name", builder.text("Total"));
    builder.set_device("Duration (us)", Metric::of_number(MetricKind::kDuration, total));
    builder.set_device("Device", builder.text(text));
    builder.set_device("Count", Metric::of_count(static_cast<int64_t>(run.total_ticks.size())));
    if (run.collected) run.collected->set_device(builder, place);
  }
  builder.configure("Number of threads", Metric::of_count(run.num_threads));
  builder.configure("Executor", builder.text("VM"));
  if (!run.note.empty()) builder.configure("Note", builder.text(run.note));
  if (run.buffer.dropped())
    builder.configure("Dropped calls", Metric::of_count(static_cast<int64_t>(run.buffer.dropped())));
  if (run.collected) run.collected->configure(builder, run.line);
  return builder.finish();
}

}  // namespace opd
