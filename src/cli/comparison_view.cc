#include "comparison_view.h"

#include <algorithm>
#include <cmath>

#include "column.h"
#include "screen.h"
#include "text.h"

namespace opd::cli {

namespace {

using Lines = std::vector<std::vector<std::string>>;

std::string number_text(double number) { return std::isnan(number) ? "" : significant(number, 3); }

std::string markdown(const Lines &lines) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const std::string &cell : lines[i]) text += cat("| ", markdown_text(cell), " ");
    text += "|\n";
    if (i > 0) continue;
    for (size_t column = 0; column < lines[0].size(); ++column) text += "|---";
    text += "|\n";
  }
  return text;
}

std::string columns(const Lines &lines, size_t width) {
  constexpr size_t kGap = 2, kLeastName = 20;
  std::vector<size_t> widths(lines[0].size());
  for (const auto &line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  size_t others = 0;
  for (size_t i = 1; i < widths.size(); ++i) others += widths[i] + kGap;
  widths[0] = std::min(widths[0], std::max(std::min(widths[0], kLeastName), width - std::min(width, others)));
  std::string text;
  for (const auto &line : lines) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string cell = shortened(line[i], widths[i]);
      row += cat(i ? "  " : "", cell, std::string(widths[i] - width_of(cell), ' '));
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace

std::string ComparisonView::entry(const char *name) const {
  const std::vector<std::string> names = report_.columns(OPD_REPORT_CONFIGURATION);
  if (std::find(names.begin(), names.end(), name) == names.end()) return "";
  return printable(report_.value(OPD_REPORT_CONFIGURATION, 0, name).string(), false);
}

double ComparisonView::number(const char *name) const {
  return static_cast<double>(report_.value(OPD_REPORT_CONFIGURATION, 0, name).view().u.int64);
}

std::string ComparisonView::table(TableStyle style) const {
  const Column names(report_, "Name"), in_a(report_, "Name in A"), states(report_, "State"), inputs(report_, "Inputs"),
      matched(report_, "Matched By"), max_abs(report_, "Max Abs"), tolerances(report_, "Tolerance"),
      mismatches(report_, "Mismatches"), elements(report_, "Elements");
  Lines lines = {{"Operator", "State", "Max abs", "Tolerance", "Differing", "Inputs", "Matched by"}};
  for (size_t i = 0; i < report_.count(); ++i) {
    const std::string other = in_a.text(i);
    const double differing = mismatches.number(i);
    lines.push_back({printable(other.empty() ? names.text(i) : cat(names.text(i), " (", other, ")")), states.text(i),
                     number_text(max_abs.number(i)), number_text(tolerances.number(i)),
                     std::isnan(differing) ? "" : cat(fixed(differing, 0), " of ", fixed(elements.number(i), 0)),
                     inputs.text(i), matched.text(i)});
  }
  if (style == TableStyle::markdown) return markdown(lines);
  const Screen screen = output_screen();
  return columns(lines, screen.is_terminal ? static_cast<size_t>(screen.width) : SIZE_MAX);
}

}  // namespace opd::cli
