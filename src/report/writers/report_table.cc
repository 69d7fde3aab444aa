// Writes the report as a text table in TVM's layout, followed by the configuration.
#include <algorithm>

#include "report/metric_text.h"
#include "report/writers/report_summary.h"

namespace opd {
namespace {

std::string print_table(const ReportRows &rows) {
  const auto &headers = rows.headers();
  struct Cell {
    size_t end, width;  // end of its text in `texts`; the text begins at the previous end
  };
  std::string texts;
  std::vector<Cell> cells;
  std::vector<size_t> widths(headers.size());
  size_t line = 1;
  cells.reserve((rows.num_rows() + 1) * headers.size());
  for (size_t row = 0; row <= rows.num_rows(); ++row)
    for (size_t i = 0; i < headers.size(); ++i) {
      const size_t begin = texts.size();
      if (row == 0) append_printable(texts, headers[i]);
      else rows.append_text(texts, rows.cell(row - 1, i));
      cells.push_back({texts.size(), width_of(std::string_view(texts).substr(begin))});
      widths[i] = std::max(widths[i], cells.back().width);
    }
  for (const size_t width : widths) line += width + 2;
  check_table_bytes(rows.num_rows() + 1, line);
  std::string out;
  out.reserve(line * (rows.num_rows() + 1) + 64);
  const std::vector<std::string> failures = collector_failures_of(rows.report());
  for (const std::string &failure : failures) (out += failure) += '\n';
  if (!failures.empty()) out += '\n';
  size_t begin = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t column = i % headers.size(), padding = widths[column] - cells[i].width;
    if (column > 0) out.append(padding, ' ');
    out.append(texts, begin, cells[i].end - begin);
    out.append(column == 0 ? padding + 2 : 2, ' ');
    if (column + 1 == headers.size()) out += '\n';
    begin = cells[i].end;
  }
  out += "\nConfiguration\n-------------\n";
  for (const auto &[key, metric] : rows.report().configuration()) {
    append_printable(out, key);
    out += ": ";
    rows.append_text(out, metric);
    out += '\n';
  }
  return out;
}

}  // namespace

std::string Report::to_table(bool sort, bool aggregate, bool col_sums) const {
  return print_table(ReportRows(*this, sort, aggregate, col_sums));
}

}  // namespace opd
