// Reports of diffs for tests: each row has the numbers that a test gives it, as the library's own diff has them.
#pragma once
#include <initializer_list>
#include <string>
#include <utility>

#include "cli/show/diff_view.h"

namespace opd::cli {

class DiffReport {
 public:
  using Numbers = std::initializer_list<std::pair<const char *, double>>;

  DiffReport &row(const char *name, const char *kind, const char *verdict, const Numbers &numbers) {
    builder_.add_call();
    text("Name", name);
    text("Kind", kind);
    text("Verdict", verdict);
    for (const auto &[column, number] : numbers) builder_.set_call(column, OPD_METRIC_RATIO, opdyno::arg(number));
    return *this;
  }
  DiffReport &text(const char *column, const char *value) {  // of the last row
    builder_.set_call(column, OPD_METRIC_STRING, opdyno::arg(value));
    return *this;
  }
  DiffReport &entry(const char *name, opd_metric_kind kind, const opd_value &value) {  // of the whole
    builder_.set_configuration(name, kind, value);
    return *this;
  }
  // No row may follow.
  DiffView view(double fail_above = -1) {
    if (!report_) report_ = builder_.finish();
    opd_diff_options options;
    opd_diff_options_init(&options);
    options.min_effect = 0.02;
    options.fail_above = fail_above;
    return DiffView(report_, options);
  }

 private:
  const opdyno::ReportBuilder builder_;
  Report report_;
};

}  // namespace opd::cli
