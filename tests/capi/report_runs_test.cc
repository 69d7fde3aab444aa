// The typical run of a report of several runs: medians per run, and runs that waited for a processor.
#include <iterator>
#include <sstream>

#include "support/report_test.h"

namespace {

using opdyno::arg;
using opdyno::Report;
using opdyno::ReportBuilder;
using opdyno_test::summary;

struct Times {  // of one run, in us
  double conv, relu, dispatch, waited = 0;
};

// Each run has two calls of conv, one of relu, and the rest. The wait belongs to the first call of conv.
Report report_of(const std::vector<Times> &runs, bool numbers_runs = true) {
  const ReportBuilder builder;
  double total = 0;
  for (size_t run = 0; run < runs.size(); ++run) {
    const auto add = [&](const char *name, double us, double waited, const char *kind) {
      total += us;
      builder.add_call();
      builder.set_call("Name", OPD_METRIC_STRING, arg(name));
      builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(us));
      builder.set_call("Device", OPD_METRIC_STRING, arg("cpu0"));
      builder.set_call("Count", OPD_METRIC_COUNT, arg(int64_t{1}));
      builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg(""));
      if (kind) builder.set_call("Row Kind", OPD_METRIC_STRING, arg(kind));
      if (numbers_runs) builder.set_call("Run", OPD_METRIC_COUNT, arg(static_cast<int64_t>(run)));
      if (waited > 0) builder.set_call("Waited (us)", OPD_METRIC_DURATION, arg(waited));
    };
    const Times &its = runs[run];
    add("conv", its.conv / 2 + its.waited, its.waited, nullptr);
    add("conv", its.conv / 2, 0, nullptr);
    add("relu", its.relu, 0, nullptr);
    add("(dispatch)", its.dispatch, 0, "dispatch");
  }
  builder.set_device("cpu0", "Duration (us)", OPD_METRIC_DURATION, arg(total));
  builder.set_device("cpu0", "Count", OPD_METRIC_COUNT, arg(static_cast<int64_t>(runs.size())));
  return builder.finish();
}

std::vector<std::string> words_of(const std::string &text, const std::string &first) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(first)) continue;
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

using Words = std::vector<std::string>;

TEST(ReportOfRuns, ShowsMediansPerRunAndTheirShares) {
  const std::string text = summary(report_of({{60, 30, 10}, {70, 20, 10}, {50, 900, 10}}), 200);
  EXPECT_EQ(words_of(text, "conv"), (Words{"conv", "60.0", "µs", "60.0", "%", "2"})) << text;
  EXPECT_EQ(words_of(text, "relu")[1], "30.0") << text;
  EXPECT_EQ(words_of(text, "(dispatch)")[3], "10.0") << text;
  EXPECT_NE(text.find("Total 100 µs, median of 3 runs, on cpu0"), std::string::npos) << text;
  EXPECT_NE(text.find("conv takes 60 % of the time"), std::string::npos) << text;
  EXPECT_EQ(text.find("waited"), std::string::npos) << text;
}

TEST(ReportOfRuns, LeavesOutRunsThatWaitedForAProcessor) {
  std::vector<Times> runs(6, {60, 30, 10});
  runs.insert(runs.begin(), {{60, 30, 10, 900}, {500, 30, 10, 50}});
  const std::string text = summary(report_of(runs), 200);
  EXPECT_EQ(words_of(text, "conv")[3], "60.0") << text;
  EXPECT_NE(text.find("Total 100 µs, median of 6 runs"), std::string::npos) << text;
  // 950 of 8 * 100 + 440 + 950
  EXPECT_NE(text.find("the program waited 43 % of the time for a processor; 6 of 8 runs, which did not, are shown"),
            std::string::npos)
      << text;
}

TEST(ReportOfRuns, CountARunThatHardlyWaited) {
  const std::string text = summary(report_of(std::vector<Times>(5, {59.5, 30, 10, 0.5})), 200);
  EXPECT_NE(text.find("median of 5 runs"), std::string::npos) << text;
  EXPECT_EQ(text.find("waited"), std::string::npos) << text;
}

TEST(ReportOfRuns, SubtractsWaitsIfTooFewRunsDidNotWait) {
  const std::string text =
      summary(report_of({{60, 30, 10, 100}, {60, 30, 10, 300}, {80, 90, 10}, {60, 30, 10, 200}}), 200);
  EXPECT_EQ(words_of(text, "conv")[1], "60.0") << text;
  EXPECT_EQ(words_of(text, "conv")[3], "60.0") << text;
  EXPECT_NE(text.find("Total 100 µs, median of 4 runs"), std::string::npos) << text;
  EXPECT_NE(text.find("for a processor; too few of 4 runs did not, so this time is subtracted"), std::string::npos)
      << text;
}

TEST(ReportOfRuns, TellsTheWaitOfASingleRun) {
  const std::string text = summary(report_of({{60, 30, 10, 100}}, false), 200);
  EXPECT_NE(text.find("the program waited 50 % of the time for a processor\n"), std::string::npos) << text;
  EXPECT_EQ(words_of(text, "Operator")[1], "Time") << text;
}

TEST(ReportOfRuns, EveryFormForPeopleTellsTheWait) {
  const Report report = report_of(std::vector<Times>(5, {60, 30, 10, 100}));
  for (const opd_report_format format : {OPD_REPORT_TABLE, OPD_REPORT_MARKDOWN, OPD_REPORT_HTML})
    EXPECT_NE(report.write(format).find("the program waited 50 % of the time"), std::string::npos) << format;
}

TEST(ReportOfRuns, TableHasTheMedianPerRunAndSumsOfAllRuns) {
  const std::string text = report_of({{60, 30, 10}, {70, 20, 10}, {50, 40, 10}}).write(OPD_REPORT_TABLE);
  EXPECT_EQ(words_of(text, "conv"), (Words{"conv", "180.00", "60.00", "cpu0", "6", "60.00", "30.00", "25.00", "35.00"}))
      << text;
  EXPECT_EQ(words_of(text, "Total")[1], "300.00") << text;
}

TEST(ReportOfRuns, KeepsItsRunsThroughJson) {
  const Report report = report_of({{60, 30, 10}, {70, 20, 10}, {50, 900, 10}});
  EXPECT_EQ(summary(Report::from_json(report.json()), 120), summary(report, 120));
}

}  // namespace
