// Columns and entries of a report, which may lack them.
#pragma once
#include <algorithm>
#include <cmath>

#include "cli/support/face.h"
#include "cli/support/text.h"

namespace opd::cli {

// The values of one metric in all calls.
class Column {
 public:
  Column() = default;
  Column(const Report &report, const std::string &name) {
    if (std::ranges::count(report.columns(), name)) values_ = report.column(OPD_REPORT_CALLS, name.c_str());
  }
  double number(size_t row, double otherwise = NAN) const {
    const Value value = at(row);
    const opd_value &view = value.view();
    return view.type == OPD_FLOAT ? view.u.float64
           : view.type == OPD_INT ? static_cast<double>(view.u.int64)
                                  : otherwise;
  }
  std::string text(size_t row) const {
    const Value value = at(row);
    return value.type() == OPD_NONE ? "" : value.string();
  }

 private:
  Value at(size_t row) const { return values_ ? values_[row] : Value(); }
  Array values_;
};

// Returns an entry of the configuration; none if it is missing.
inline Value configured(const Report &report, const char *name) {
  if (!std::ranges::count(report.columns(OPD_REPORT_CONFIGURATION), name)) return {};
  return report.value(OPD_REPORT_CONFIGURATION, 0, name);
}
// Returns the entry's text, safe for the terminal; "" if the entry is missing.
inline std::string configured_text(const Report &report, const char *name) {
  const Value value = configured(report, name);
  if (value.type() == OPD_NONE) return "";
  return printable(value.type() == OPD_INT ? value.to_string() : value.string(), false);
}

}  // namespace opd::cli
