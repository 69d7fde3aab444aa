#include "trace_views/clock_entries.h"

#include "trace_views/report_texts.h"

namespace opd {

void configure_device_clocks(const TraceParts &parts, ReportBuilder &builder) {
  for (const TraceTrack *track : parts.tracks_with_clocks()) {
    const std::string process = parts.is_merged() ? concat(parts.process_of(*track).title(), ", ") : "";
    const std::string name = process + report_device_name(*track->device);
    if (track->clock->error_ns)
      builder.configure(concat("Device clock error: ", name, " (us)"),
                        Metric::of_number(MetricKind::kDuration, static_cast<double>(*track->clock->error_ns) / 1000));
    builder.configure(concat("Device clock: ", name), builder.text(track->clock->text()));
  }
}

}  // namespace opd
