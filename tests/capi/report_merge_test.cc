// include/opdyno/report.h: several reports as one.
#include <algorithm>

#include "support/report_rows.h"

using opdyno::check;
using opdyno::Value;
using opdyno_test::expect_error;
using report_rows::JsonReport;

namespace {

JsonReport merge(std::initializer_list<const JsonReport *> reports) {
  std::vector<const opd_report *> all;
  for (const JsonReport *report : reports) all.push_back(report->get());
  JsonReport merged;
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

TEST(ReportMerge, MakesColumnsOfConfigurationEntriesThatDiffer) {
  const JsonReport a(report("{" + text("Name", "f") + "},{" + text("Name", "g") + "}",
                            "\"cpu0\":{" + count("Count", 1) + "}", text("Executor", "VM") + "," + count("Rank", 0)));
  const JsonReport b(report("{" + text("Name", "f") + "," + count("Extra", 7) + "}",
                            "\"cpu0\":{" + count("Count", 2) + "}", text("Executor", "VM") + "," + count("Rank", 1)));
  EXPECT_EQ(
      merge({&a, &b}).json(),
      report("{" + text("Name", "f") + "," + count("Rank", 0) + "," + count("Run", 0) + "},{" + text("Name", "g") +
                 "," + count("Rank", 0) + "," + count("Run", 0) + "},{" + text("Name", "f") + "," + count("Extra", 7) +
                 "," + count("Rank", 1) + "," + count("Run", 1) + "}",
             "\"cpu0 (run 0)\":{" + count("Count", 1) + "," + count("Rank", 0) + "," + count("Run", 0) +
                 "},\"cpu0 (run 1)\":{" + count("Count", 2) + "," + count("Rank", 1) + "," + count("Run", 1) + "}",
             text("Executor", "VM")));
}

TEST(ReportMerge, RunsOfMergedReportsStayDistinct) {
  const JsonReport a(report("{" + text("Name", "f") + "}", "\"cpu0\":{" + count("Count", 1) + "}", count("Rank", 0)));
  const JsonReport b(report("{" + text("Name", "f") + "}", "\"cpu0\":{" + count("Count", 1) + "}", count("Rank", 1)));
  const JsonReport c(report("{" + text("Name", "h") + "}", "\"cpu0\":{" + count("Count", 1) + "}", count("Rank", 2)));
  const JsonReport ab = merge({&a, &b});
  EXPECT_EQ(merge({&ab, &c}).json(), merge({&a, &b, &c}).json());
  const JsonReport twice = merge({&ab, &ab});
  EXPECT_EQ(opd_report_call_count(twice.get()), 4);
  for (size_t row = 0; row < 4; ++row) {
    Value run;
    check(opd_report_get(twice.get(), OPD_REPORT_CALLS, row, "Run", run.out(), nullptr));
    EXPECT_EQ(run.view().u.int64, static_cast<int64_t>(row));
  }
}

TEST(ReportMerge, LosesNothingWhereNamesCollide) {
  const JsonReport a(
      report("{" + text("Name", "f") + "," + text("Run", "first") + "}", "", text("Name", "model_a"), ",\"more\":[1]"));
  const JsonReport b(report("{" + text("Name", "f") + "}", "", text("Name", "model_b"), ",\"more\":[2]"));
  const JsonReport empty(report("", "", text("Name", "model_c"), ",\"more\":[1]"));
  EXPECT_EQ(merge({&a, &b, &empty}).json(),
            report("{" + text("Name", "f") + "," + text("Name (configuration)", "model_a") + "," + count("Run", 0) +
                       "," + text("Run (before)", "first") + "},{" + text("Name", "f") + "," +
                       text("Name (configuration)", "model_b") + "," + count("Run", 1) + "}",
                   "", text("Name (run 2)", "model_c"), ",\"more\":[1],\"more (run 1)\":[2]"));
}

TEST(ReportMerge, KeepsGapsTextsAndKinds) {
  const auto ratio = [](const char *key, const char *number) {
    return std::string("\"") + key + "\":{\"ratio\":" + number + "}";
  };
  const std::string half = "0.50000000000000000";
  const JsonReport a(report(
      "{" + text("s", "x") + "},{" + count("n", 1) + "," + text("s", "y") + "},{" + text("s", "x") + "}", "", ""));
  const JsonReport b(report("{" + text("s", "y") + "},{" + ratio("n", half.c_str()) + "," + text("s", "z") + "},{" +
                                "\"j\":{\"labels\":[1]}}",
                            "", ""));
  // Columns come in the order of the reports: s and n of a, then j of b.
  EXPECT_EQ(merge({&a, &b}).json(),
            report("{" + text("s", "x") + "," + count("Run", 0) + "},{" + text("s", "y") + "," + count("n", 1) + "," +
                       count("Run", 0) + "},{" + text("s", "x") + "," + count("Run", 0) + "},{" + text("s", "y") + "," +
                       count("Run", 1) + "},{" + text("s", "z") + "," + ratio("n", half.c_str()) + "," +
                       count("Run", 1) + "},{\"j\":{\"labels\":[1]}," + count("Run", 1) + "}",
                   "", ""));
}

TEST(ReportMerge, EntriesAreCommonOnlyIfEachReportHasThemWithOneValueAndKind) {
  const auto of = [](const std::string &configuration) { return report("{" + count("n", 1) + "}", "", configuration); };
  const JsonReport a(of(text("Same", "x") + "," + text("Text", "x") + "," + count("Kind", 1) + "," +
                        count("Missing", 1) + "," + count("Number", 1)));
  const JsonReport b(
      of(count("Number", 2) + "," + text("Same", "x") + "," + text("Text", "y") + ",\"Kind\":{\"ratio\":1.5}"));
  const JsonReport merged = merge({&a, &b});
  EXPECT_EQ(
      merged.json(),
      report("{" + count("n", 1) + "," + text("Text", "x") + "," + count("Kind", 1) + "," + count("Missing", 1) + "," +
                 count("Number", 1) + "," + count("Run", 0) + "},{" + count("n", 1) + "," + text("Text", "y") +
                 ",\"Kind\":{\"ratio\":1.50000000000000000}," + count("Number", 2) + "," + count("Run", 1) + "}",
             "", text("Same", "x")));
  EXPECT_EQ(merge({&a}).json(), report("{" + count("n", 1) + "," + count("Run", 0) + "}", "",
                                       text("Same", "x") + "," + text("Text", "x") + "," + count("Kind", 1) + "," +
                                           count("Missing", 1) + "," + count("Number", 1)));
}

TEST(ReportMerge, DevicesGetTheNewRunNumbersOfTheirRows) {
  const JsonReport a(report("{" + count("Run", 5) + "},{" + count("Run", 3) + "},{" + count("Run", 5) + "}",
                            "\"cpu0 (run 3)\":{" + count("Run", 3) + "," + count("Count", 1) + "},\"cpu0\":{" +
                                count("Run", 5) + "},\"cpu0 (run 4)\":{" + count("Run", 4) + "},\"gpu\":{" +
                                count("Count", 2) + "}",
                            ""));
  const JsonReport b(
      report("", "\"cpu0\":{" + text("Run", "first") + "},\"cpu1\":{" + count("Rank", 7) + "}", count("Rank", 1)));
  // Of a: 5 becomes 0, 3 becomes 1, 4 becomes 2; a device without a number is of the first of them by its old
  // number, 3.
  EXPECT_EQ(
      merge({&a, &b}).json(),
      report("{" + count("Run", 0) + "},{" + count("Run", 1) + "},{" + count("Run", 0) + "}",
             "\"cpu0 (run 1)\":{" + count("Count", 1) + "," + count("Run", 1) + "},\"cpu0 (run 0)\":{" +
                 count("Run", 0) + "},\"cpu0 (run 2)\":{" + count("Run", 2) + "},\"gpu (run 1)\":{" +
                 count("Count", 2) + "," + count("Run", 1) + "},\"cpu0 (run 3)\":{" + text("Run (before)", "first") +
                 "," + count("Rank", 1) + "," + count("Run", 3) + "},\"cpu1 (run 3)\":{" + count("Rank", 7) + "," +
                 count("Rank (configuration)", 1) + "," + count("Run", 3) + "}",
             ""));
}

TEST(ReportMerge, RefusesNoReports) {
  opd_report *out = nullptr;
  expect_error(opd_report_merge(nullptr, 0, &out), OPD_INVALID_ARGUMENT, "at least one report");
  const opd_report *none = nullptr;
  expect_error(opd_report_merge(&none, 1, &out), OPD_INVALID_ARGUMENT, "reports[0] must not be NULL");
}
