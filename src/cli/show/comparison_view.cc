#include "cli/show/comparison_view.h"

#include <algorithm>
#include <cmath>

#include "cli/show/column.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::string number_text(double number) { return std::isnan(number) ? "" : significant(number, 3); }

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
  constexpr size_t state = 1, tolerance = 3, input = 5, matched_by = 6;
  TextTable table{{{"Operator", "State", "Max abs", "Tolerance", "Differing", "Inputs", "Matched by"}},
                  {state, input, matched_by},
                  {matched_by, tolerance}};
  for (size_t i = 0; i < report_.count(); ++i) {
    const std::string other = in_a.text(i);
    const double differing = mismatches.number(i);
    table.lines.push_back({printable(other.empty() ? names.text(i) : cat(names.text(i), " (", other, ")")),
                           states.text(i), number_text(max_abs.number(i)), number_text(tolerances.number(i)),
                           std::isnan(differing) ? "" : cat(fixed(differing, 0), " of ", fixed(elements.number(i), 0)),
                           inputs.text(i), matched.text(i)});
  }
  return table.written(style);
}

}  // namespace opd::cli
