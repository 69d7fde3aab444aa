// A report as lines, to be compared as a whole.
#pragma once
#include <cmath>
#include <string>

#include "report/report.h"

namespace opd {

// A line of the columns, one for each row with its cells, one for each device, and one for each further entry. Numbers
// have three decimals; "-": there is none.
inline std::string shown_report(const Report &report) {
  std::string out;
  const auto add = [&](Metric metric) {
    if (!metric) out += "-";
    else if (metric.is_text()) out += report.text(metric.text());
    else if (metric.is_integer()) append(out, metric.count());
    else append(out, std::round(metric.number() * 1000) / 1000 + 0.0);
  };
  for (const Column &column : report.columns()) out += column.name() + "|";
  out += "\n";
  for (size_t row = 0; row < report.num_rows(); ++row, out += "\n")
    for (const Column &column : report.columns()) add(column.at(row)), out += "|";
  for (const auto &[device, metrics] : report.devices()) {
    out += device + ":";
    for (const auto &[name, metric] : metrics) out += " " + name + "=", add(metric);
    out += "\n";
  }
  for (const auto &[name, metric] : report.configuration()) out += name + ": ", add(metric), out += "\n";
  return out;
}

}  // namespace opd
