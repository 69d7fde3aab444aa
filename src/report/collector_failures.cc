#include "report/collector_failures.h"

#include "report/metric_text.h"

namespace opd {

std::vector<std::string> collector_failures_of(const Report &report) {
  std::vector<std::string> lines;
  for (const auto &[name, metric] : report.configuration()) {
    if (!name.starts_with(kCollectorErrorEntry)) continue;
    std::string &line = lines.emplace_back("collector ");
    append_printable(line, std::string_view(name).substr(kCollectorErrorEntry.size()));
    line += " failed: ";
    if (metric.is_text()) append_printable(line, report.text(metric.text()));
  }
  return lines;
}

}  // namespace opd
