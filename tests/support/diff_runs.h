// Reports of runs that are compared, and the rows of the comparison.
#pragma once
#include <opdyno/diff.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "support/opdyno_test.h"

namespace diff_runs {

using opdyno::check;
using opdyno::Handle;
using opdyno::Value;
using opdyno_test::expect_error;

struct Report : opdyno::Report {
  Report() = default;
  explicit Report(const std::string &json) { check(opd_report_from_json(json.data(), json.size(), out())); }
};

inline std::string call(const std::string &name, double us, const std::string &more = "") {
  return "{\"Name\":{\"string\":\"" + name + "\"},\"Duration (us)\":{\"microseconds\":" + std::to_string(us) + "}" +
         more + "}";
}
inline Report report(const std::string &calls) { return Report("{\"calls\":[" + calls + "]}"); }

// Runs of one operator in which neighbours do not resemble each other.
inline std::vector<Report> runs(double middle, int count, double width = 0.01) {
  std::vector<Report> reports;
  for (int i = 0; i < count; ++i)
    reports.push_back(report(call("f", middle * (1 + width * (i * 7 % count / double(count - 1) - 0.5)))));
  return reports;
}

inline std::vector<const opd_report *> pointers(const std::vector<Report> &reports) {
  std::vector<const opd_report *> out;
  for (const auto &one : reports) out.push_back(one.get());
  return out;
}

inline opd_error *try_diff(const std::vector<Report> &before, const std::vector<Report> &after, Report &out,
                           const opd_diff_options *options = nullptr) {
  const auto a = pointers(before), b = pointers(after);
  return opd_report_diff(a.data(), a.size(), b.data(), b.size(), options, out.out());
}
inline Report diff(const std::vector<Report> &before, const std::vector<Report> &after,
                   const opd_diff_options *options = nullptr) {
  Report made;
  check(try_diff(before, after, made, options));
  return made;
}

inline std::string string_of(const Value &value) {
  const char *data = nullptr;
  size_t size = 0;
  const opd_value view = value.view();
  check(opd_string_get(&view, &data, &size));
  return {data, size};
}

// A row of a diff, by the name of its operator.
struct Row {
  Row(const Report &diff, const std::string &wanted = "f", const std::string &shapes = "",
      const std::string &device = "")
      : diff_(&diff) {
    for (; place_ < opd_report_call_count(diff.get()); ++place_)
      if (text("Name") == wanted && text("Argument Shapes") == shapes && text("Device") == device) return;
    ADD_FAILURE() << "no row " << wanted;
    place_ = 0;
  }
  int32_t place() const { return place_; }
  std::string text(const char *column) const {
    const Value value = cell(column);
    return value.view().type == OPD_NONE ? "" : string_of(value);
  }
  std::string verdict() const { return text("Verdict"); }
  double number(const char *column) const {  // NaN without one
    const opd_value view = cell(column).view();
    return view.type == OPD_FLOAT ? view.u.float64 : view.type == OPD_INT ? static_cast<double>(view.u.int64) : NAN;
  }

 private:
  Value cell(const char *column) const {
    Value value;
    opd_error_release(opd_report_get(diff_->get(), OPD_REPORT_CALLS, place_, column, value.out(), nullptr));
    return value;
  }
  const Report *diff_;
  int32_t place_ = 0;
};

inline std::string configured(const Report &diff, const char *key) {
  Value value;
  check(opd_report_get(diff.get(), OPD_REPORT_CONFIGURATION, 0, key, value.out(), nullptr));
  return value.view().type == OPD_INT ? std::to_string(value.view().u.int64) : string_of(value);
}
inline std::string verdict_of(const Report &diff) { return configured(diff, "Verdict"); }

inline opd_diff_options defaults() {
  opd_diff_options options;
  opd_diff_options_init(&options);
  return options;
}
template <class... Reports>
inline std::vector<Report> list(Reports... reports) {
  std::vector<Report> out;
  (out.push_back(std::move(reports)), ...);
  return out;
}

}  // namespace diff_runs
