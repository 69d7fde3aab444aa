#include "report/collector_failures.h"

#include "report/metric_text.h"

namespace opd {
namespace {

constexpr std::string_view kStart = "collector ", kVerb = " failed: ";

}  // namespace

std::vector<std::string> collector_failures_of(const Report &report) {
  std::vector<std::string> lines;
  for (const auto &[name, metric] : report.configuration()) {
    if (!name.starts_with(kCollectorErrorEntry)) continue;
    std::string &line = lines.emplace_back(kStart);
    append_printable(line, std::string_view(name).substr(kCollectorErrorEntry.size()));
    line += kVerb;
    if (metric.is_text()) append_printable(line, report.text(metric.text()));
  }
  return lines;
}

bool is_collector_failure(std::string_view line) {
  return line.starts_with(kStart) && line.find(kVerb) != std::string_view::npos;
}

}  // namespace opd
