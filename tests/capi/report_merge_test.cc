// include/opdyno/report.h: several reports as one.
#include <algorithm>

#include "support/opdyno_test.h"

using opdyno::check;
using opdyno::Value;
using opdyno_test::expect_error;

namespace {

struct Report : opdyno::Report {
  Report() = default;
  explicit Report(const std::string &json) { check(opd_report_from_json(json.data(), json.size(), out())); }
};

Report merge(std::initializer_list<const Report *> reports) {
  std::vector<const opd_report *> all;
  for (const Report *report : reports) all.push_back(report->get());
  Report merged;
  check(opd_report_merge(all.data(), all.size(), merged.out()));
  return merged;
}

std::string text(const char *key, const char *value) {
  return std::string("\"") + key + "\":{\"string\":\"" + value + "\"}";
}
std::string count(const char *key, int value) {
  return std::string("\"") + key + "\":{\"count\":" + std::to_string(value) + "}";
}
std::string report(const std::string &calls, const std::string &devices, const std::string &configuration,
                   const std::string &more = "") {
  return "{\"calls\":[" + calls + "],\"device_metrics\":{" + devices + "},\"configuration\":{" + configuration + "}" +
         more + "}";
}

}  // namespace

TEST(ReportMerge, DifferingEntriesOfTheConfigurationBecomeColumnsAndEqualOnesStay) {
  const Report a(report("{" + text("Name", "f") + "},{" + text("Name", "g") + "}",
                        "\"cpu0\":{" + count("Count", 1) + "}", text("Executor", "VM") + "," + count("Rank", 0)));
  const Report b(report("{" + text("Name", "f") + "," + count("Extra", 7) + "}", "\"cpu0\":{" + count("Count", 2) + "}",
                        text("Executor", "VM") + "," + count("Rank", 1)));
  EXPECT_EQ(
      merge({&a, &b}).json(),
      report("{" + text("Name", "f") + "," + count("Rank", 0) + "," + count("Run", 0) + "},{" + text("Name", "g") +
                 "," + count("Rank", 0) + "," + count("Run", 0) + "},{" + text("Name", "f") + "," + count("Extra", 7) +
                 "," + count("Rank", 1) + "," + count("Run", 1) + "}",
             "\"cpu0 (run 0)\":{" + count("Count", 1) + "," + count("Rank", 0) + "," + count("Run", 0) +
                 "},\"cpu0 (run 1)\":{" + count("Count", 2) + "," + count("Rank", 1) + "," + count("Run", 1) + "}",
             text("Executor", "VM")));
}

TEST(ReportMerge, RunsOfMergedReportsKeepApart) {
  const Report a(report("{" + text("Name", "f") + "}", "\"cpu0\":{" + count("Count", 1) + "}", count("Rank", 0)));
  const Report b(report("{" + text("Name", "f") + "}", "\"cpu0\":{" + count("Count", 1) + "}", count("Rank", 1)));
  const Report c(report("{" + text("Name", "h") + "}", "\"cpu0\":{" + count("Count", 1) + "}", count("Rank", 2)));
  const Report ab = merge({&a, &b});
  EXPECT_EQ(merge({&ab, &c}).json(), merge({&a, &b, &c}).json());
  const Report twice = merge({&ab, &ab});
  EXPECT_EQ(opd_report_call_count(twice.get()), 4u);
  for (size_t row = 0; row < 4; ++row) {
    Value run;
    check(opd_report_get(twice.get(), OPD_REPORT_CALLS, row, "Run", run.out(), nullptr));
    EXPECT_EQ(run.view().u.int64, static_cast<int64_t>(row));
  }
}

TEST(ReportMerge, LosesNothingWhereNamesCollide) {
  const Report a(
      report("{" + text("Name", "f") + "," + text("Run", "first") + "}", "", text("Name", "model_a"), ",\"more\":[1]"));
  const Report b(report("{" + text("Name", "f") + "}", "", text("Name", "model_b"), ",\"more\":[2]"));
  const Report empty(report("", "", text("Name", "model_c"), ",\"more\":[1]"));
  EXPECT_EQ(merge({&a, &b, &empty}).json(),
            report("{" + text("Name", "f") + "," + text("Name (configuration)", "model_a") + "," + count("Run", 0) +
                       "," + text("Run (before)", "first") + "},{" + text("Name", "f") + "," +
                       text("Name (configuration)", "model_b") + "," + count("Run", 1) + "}",
                   "", text("Name (run 2)", "model_c"), ",\"more\":[1],\"more (run 1)\":[2]"));
}

TEST(ReportMerge, RefusesNoReports) {
  opd_report *out = nullptr;
  expect_error(opd_report_merge(nullptr, 0, &out), OPD_INVALID_ARGUMENT, "at least one report");
  const opd_report *none = nullptr;
  expect_error(opd_report_merge(&none, 1, &out), OPD_INVALID_ARGUMENT, "report 0 is NULL");
}
