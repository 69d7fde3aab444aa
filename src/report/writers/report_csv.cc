// Writes the calls as CSV: one column per metric name, sorted; 6 significant digits, the default of C++ streams.
#include <algorithm>

#include "report/metric_text.h"
#include "report/report.h"

namespace opd {
namespace {

void append_quoted(std::string &out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace

std::string Report::to_csv() const {
  std::vector<const Column *> sorted;
  for (const auto &column : columns_)
    if (column.size()) sorted.push_back(&column);
  std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) { return a->name() < b->name(); });
  check_cells(num_rows_, sorted.size());

  std::string out;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const std::string &name = sorted[i]->name();
    if (i) out += ',';
    if (name.find_first_of(",\"\r\n") == std::string::npos) out += name;
    else append_quoted(out, name);
  }
  out += '\n';
  std::vector<Cells> cells(sorted.begin(), sorted.end());
  for (size_t row = 0; row < num_rows_; ++row) {
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (i) out += ',';
      const Metric metric = cells[i].at(row);
      if (metric.is_text()) append_quoted(out, text(metric.text()));
      else if (metric.is_integer()) append(out, metric.count());
      else if (metric) append_general(out, metric.number(), 6);
    }
    out += '\n';
  }
  return out;
}

}  // namespace opd
