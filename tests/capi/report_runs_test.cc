// The typical run of a report of several calls: medians per run, and runs that waited for a processor.
#include <cmath>
#include <iterator>
#include <sstream>

#include "support/report_test.h"

namespace {

using opdyno::arg;
using opdyno::Report;
using opdyno::ReportBuilder;
using opdyno_test::summary;

struct CallRow {
  const char *name;
  double us, waited = 0;
  double self = -1;  // -1: the same as us
  int64_t depth = 0, recursive = 0;
};

bool is_dispatch(const CallRow &row) { return row.name[0] == '('; }

// One list of rows for each run.
ReportBuilder rows_of(const std::vector<std::vector<CallRow>> &runs, const char *numbered = "Repeat") {
  ReportBuilder builder;
  double total = 0;
  for (size_t run = 0; run < runs.size(); ++run)
    for (const CallRow &row : runs[run]) {
      if (!row.depth) total += row.us;
      builder.add_call();
      builder.set_call("Name", OPD_METRIC_STRING, arg(row.name));
      builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(row.us));
      builder.set_call("Device", OPD_METRIC_STRING, arg("cpu0"));
      builder.set_call("Count", OPD_METRIC_COUNT, arg(int64_t{1}));
      builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg(""));
      if (is_dispatch(row)) builder.set_call("Row Kind", OPD_METRIC_STRING, arg("dispatch"));
      if (numbered) builder.set_call(numbered, OPD_METRIC_COUNT, arg(static_cast<int64_t>(run)));
      if (row.waited > 0) builder.set_call("Waited (us)", OPD_METRIC_DURATION, arg(row.waited));
      if (row.self >= 0) builder.set_call("Self (us)", OPD_METRIC_DURATION, arg(row.self));
      if (row.depth) builder.set_call("Depth", OPD_METRIC_COUNT, arg(row.depth));
      if (row.recursive) builder.set_call("Recursive Calls", OPD_METRIC_COUNT, arg(row.recursive));
    }
  builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, arg(total));
  builder.set_device("cpu0", "Count", OPD_METRIC_COUNT, arg(static_cast<int64_t>(runs.size())));
  return builder;
}

// Each run has two calls of conv, one of relu, and the rest. The wait belongs to the first call of conv.
struct Times {
  double conv, relu, dispatch, waited = 0;
};
std::vector<CallRow> rows(const Times &its) {
  return {{"conv", its.conv / 2 + its.waited, its.waited},
          {"conv", its.conv / 2},
          {"relu", its.relu},
          {"(dispatch)", its.dispatch}};
}
Report report_of(const std::vector<Times> &runs) {
  std::vector<std::vector<CallRow>> all;
  for (const Times &run : runs) all.push_back(rows(run));
  return rows_of(all).finish();
}

using Words = std::vector<std::string>;

Words words_of(const std::string &text, const std::string &first) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(first)) continue;
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

void expect_has(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
}

TEST(ReportOfRuns, ShowsMediansPerRunAndTheirShares) {
  const std::string text = summary(report_of({{60, 30, 10}, {70, 20, 10}, {50, 900, 10}}), 200);
  EXPECT_EQ(words_of(text, "conv"), (Words{"conv", "60.0", "µs", "60.0", "%", "2"})) << text;
  EXPECT_EQ(words_of(text, "relu")[1], "30.0") << text;
  EXPECT_EQ(words_of(text, "(dispatch)")[3], "10.0") << text;
  expect_has(text, "Total 100 µs, median of 3 runs, on cpu0");
  expect_has(text, "conv takes 60 % of the time");
  EXPECT_EQ(text.find("waited"), std::string::npos) << text;
}

TEST(ReportOfRuns, SortsByTheMedians) {
  const std::string text = summary(report_of({{20, 70, 10}, {20, 70, 10}, {900, 70, 10}}), 200);
  EXPECT_LT(text.find("\nrelu"), text.find("\nconv")) << "the sum of conv is larger";
  EXPECT_EQ(words_of(text, "relu")[3], "70.0") << text;
  const std::string table = report_of({{20, 70, 10}, {20, 70, 10}, {900, 70, 10}}).write(OPD_REPORT_TABLE);
  EXPECT_LT(table.find("\nrelu"), table.find("\nconv")) << table;
  EXPECT_EQ(words_of(table, "relu")[5], "70.00") << table;
}

TEST(ReportOfRuns, LeavesOutRunsThatWaitedForAProcessor) {
  std::vector<Times> runs(6, {60, 30, 10});
  runs.insert(runs.begin(), {{60, 30, 10, 900}, {500, 30, 10, 50}});
  const std::string text = summary(report_of(runs), 200);
  EXPECT_EQ(words_of(text, "conv")[3], "60.0") << text;
  expect_has(text, "Total 100 µs, median of 6 runs");
  // 950 of 6 * 100 + 1000 + 590
  expect_has(text, "the program waited 43 % of the time for a processor; 6 of 8 runs, which did not, are shown");
}

TEST(ReportOfRuns, NeedsFiveRunsThatDidNotWaitOrHalfOfAll) {
  const auto with = [](size_t free, size_t waiting) {
    std::vector<Times> runs(free, {60, 30, 10});
    runs.insert(runs.end(), waiting, {60, 30, 10, 100});
    return summary(report_of(runs), 200);
  };
  expect_has(with(5, 95), "5 of 100 runs, which did not, are shown");
  expect_has(with(4, 96), "too few runs did not");
  expect_has(with(2, 2), "2 of 4 runs, which did not, are shown");
  expect_has(with(1, 2), "too few runs did not");
}

TEST(ReportOfRuns, TakesARunAsUndisturbedThatWaitedForOnePercent) {
  const std::string text = summary(report_of(std::vector<Times>(5, {59.1, 30, 10, 0.9})), 200);
  expect_has(text, "median of 5 runs");
  EXPECT_EQ(text.find("waited"), std::string::npos) << text;
  expect_has(summary(report_of(std::vector<Times>(5, {58, 30, 10, 2})), 200), "the program waited 2.0 %");
}

TEST(ReportOfRuns, SubtractsWaitsIfTooFewRunsDidNotWait) {
  const std::string text = summary(
      report_of({{60, 30, 10, 100}, {60, 30, 10, 300}, {80, 90, 10}, {60, 30, 10, 200}, {60, 30, 10, 200}}), 200);
  EXPECT_EQ(words_of(text, "conv"), (Words{"conv", "60.0", "µs", "60.0", "%", "2"})) << text;
  expect_has(text, "Total 100 µs, median of 5 runs");
  expect_has(text, "for a processor; too few runs did not, so the waits are subtracted");
}

TEST(ReportOfRuns, SubtractsNothingIfTheWaitingOperatorsAreUnknown) {
  const std::vector<CallRow> run = {{"conv", 160}, {"relu", 30}, {"(dispatch)", 10, 100}};
  const std::string text = summary(rows_of({run, run, run}).finish(), 200);
  EXPECT_EQ(words_of(text, "conv")[1], "160") << text;
  expect_has(text, "Total 200 µs, median of 3 runs");
  expect_has(text, "the program waited 50 % of the time for a processor; too few runs did not, so all 3 are shown");
}

TEST(ReportOfRuns, SubtractsAWaitOfANestedCallFromItsCallersTimeOnce) {
  const std::vector<CallRow> run = {{"conv", 900, 800, 900, 1}, {"main", 1000, 0, 100}, {"(dispatch)", 10, 0, 10}};
  const std::string text = summary(rows_of({run, run, run}).finish(), 200);
  EXPECT_EQ(words_of(text, "conv"), (Words{"conv", "100", "µs", "47.6", "%", "1", "100", "µs"})) << text;
  EXPECT_EQ(words_of(text, "main"), (Words{"main", "100", "µs", "47.6", "%", "1", "200", "µs"})) << text;
  expect_has(text, "Total 210 µs");
}

TEST(ReportOfRuns, CountsARecursiveCallOnce) {
  const std::vector<CallRow> run = {{"fib", 600, 400, 600, 1, 1}, {"fib", 1000, 0, 400}, {"(dispatch)", 10, 0, 10}};
  const std::string text = summary(rows_of({run, run, run}).finish(), 200);
  EXPECT_EQ(words_of(text, "fib"), (Words{"fib", "600", "µs", "98.4", "%", "2", "600", "µs", "1"})) << text;
}

TEST(ReportOfRuns, ShowsTheMeanOfAnOperatorThatIsNotInEachRun) {
  std::vector<std::vector<CallRow>> runs(10, rows({60, 30, 10}));
  runs[3].push_back({"once", 1000});
  const std::string text = summary(rows_of(runs).finish(), 200);
  EXPECT_EQ(words_of(text, "once"), (Words{"once", "100", "µs", "50.0", "%", "0.1"})) << text;
  EXPECT_EQ(words_of(text, "conv")[3], "30.0") << text;
}

TEST(ReportOfRuns, ShowsTheWaitOfASingleRun) {
  const std::string text = summary(rows_of({rows({60, 30, 10, 100})}, nullptr).finish(), 200);
  expect_has(text, "the program waited 50 % of the time for a processor\n");
  EXPECT_EQ(words_of(text, "Operator")[1], "Time") << text;
}

TEST(ReportOfRuns, HasNoMediansIfCallsAreMissing) {
  ReportBuilder builder = rows_of({rows({60, 30, 10}), rows({60, 30, 10})});
  builder.set_configuration("Dropped calls", OPD_METRIC_COUNT, arg(int64_t{3}));
  EXPECT_EQ(words_of(summary(builder.finish(), 200), "Operator")[1], "Time");
}

TEST(ReportOfRuns, HasNoMediansIfARowHasNoNumber) {
  ReportBuilder builder = rows_of({rows({60, 30, 10}), rows({60, 30, 10})});
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("other"));
  EXPECT_EQ(words_of(summary(builder.finish(), 200), "Operator")[1], "Time");
}

TEST(ReportOfRuns, MergedReportsHaveSums) {
  const Report one = report_of({{60, 30, 10}, {70, 20, 10}}), two = report_of({{60, 30, 10}, {70, 20, 10}});
  const Report merged = Report::merge({one, two});
  EXPECT_EQ(words_of(summary(merged, 200), "Operator")[1], "Time");
  for (const opd_report_format format : {OPD_REPORT_TABLE, OPD_REPORT_MARKDOWN, OPD_REPORT_HTML})
    expect_has(merged.write(format), "conv");
}

TEST(ReportOfRuns, KeepsADevicesMetricOfTheSameName) {
  ReportBuilder builder = rows_of({rows({60, 30, 10}), rows({60, 30, 10})});
  builder.set_device("cpu0", "Repeat", OPD_METRIC_COUNT, arg(int64_t{7}));
  expect_has(builder.finish().write(OPD_REPORT_TABLE), "Repeat");
}

TEST(ReportOfRuns, EveryFormForPeopleHasTheWait) {
  const Report report = report_of(std::vector<Times>(5, {60, 30, 10, 100}));
  for (const opd_report_format format : {OPD_REPORT_TABLE, OPD_REPORT_MARKDOWN, OPD_REPORT_HTML})
    expect_has(report.write(format), "the program waited 50 % of the time");
}

TEST(ReportOfRuns, TableHasTheMedianPerRunAndSumsOfAllRuns) {
  const std::string text = report_of({{60, 30, 10}, {70, 20, 10}, {50, 40, 10}}).write(OPD_REPORT_TABLE);
  EXPECT_EQ(words_of(text, "conv"), (Words{"conv", "180.00", "60.00", "cpu0", "6", "60.00", "30.00", "25.00", "35.00"}))
      << text;
  EXPECT_EQ(words_of(text, "Total")[1], "300.00") << text;
}

TEST(ReportOfRuns, PageHasTheTimeOfARunAndIsSortedByIt) {
  const std::string page = report_of({{60, 30, 10}, {70, 20, 10}, {50, 40, 10}}).write(OPD_REPORT_HTML);
  expect_has(page, "100.00 µs on cpu0 (median of 3 runs), 9 calls in 3 rows");
  expect_has(page, "aria-sort=\"descending\">Median per Run (us)");
}

TEST(ReportOfRuns, RatesAreThoseOfTheMedians) {
  ReportBuilder builder;
  for (int64_t run = 0; run < 3; ++run) {
    const double us = run == 2 ? 1000 : 100;
    for (const char *name : {"conv", "(dispatch)"}) {
      builder.add_call();
      builder.set_call("Name", OPD_METRIC_STRING, arg(name));
      builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(us));
      builder.set_call("Repeat", OPD_METRIC_COUNT, arg(run));
      if (name[0] == '(') builder.set_call("Row Kind", OPD_METRIC_STRING, arg("dispatch"));
      else builder.set_call("Percent of Peak", OPD_METRIC_PERCENT, arg(2000 / us));
    }
  }
  EXPECT_EQ(words_of(summary(builder.finish(), 200), "conv")[5], "20.0") << "2 in one of the runs";
}

TEST(ReportOfRuns, NumbersOfAnySizeStayFinite) {
  const std::vector<CallRow> run = {{"conv", 1.7e308, 1.7e308}, {"relu", 1.7e308}, {"(dispatch)", 1.7e308}};
  const std::string text = summary(rows_of({run, run, run}).finish(), 200);
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  const std::vector<CallRow> odd = {{"conv", NAN}, {"relu", -1}, {"(dispatch)", 0}};
  EXPECT_EQ(summary(rows_of({odd, odd}).finish(), 200).find("nan"), std::string::npos);
}

TEST(ReportOfRuns, KeepsItsRunsThroughJson) {
  const Report report = report_of({{60, 30, 10}, {70, 20, 10}, {50, 900, 10}});
  EXPECT_EQ(summary(Report::from_json(report.json()), 120), summary(report, 120));
}

}  // namespace
