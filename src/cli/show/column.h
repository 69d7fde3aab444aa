// One metric of all calls of a report; the report may lack it.
#pragma once
#include <algorithm>
#include <cmath>

#include "cli/support/face.h"

namespace opd::cli {

class Column {
 public:
  Column() = default;
  Column(const Report &report, const std::string &name) {
    const std::vector<std::string> names = report.columns();
    if (std::find(names.begin(), names.end(), name) != names.end())
      values_ = report.column(OPD_REPORT_CALLS, name.c_str());
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

}  // namespace opd::cli
