// How rows of a diff are written, with numbers at the borders of each form.
#include <gtest/gtest.h>

#include <cmath>

#include "diff_report.h"

namespace opd::cli {
namespace {

TEST(DiffView, SharesHaveASignAndFewerDigitsFromAWholeOn) {
  const std::pair<double, const char *> shares[] = {{0, "+0.00 %"},      {0.0212, "+2.12 %"}, {-0.5, "-50.00 %"},
                                                    {0.99, "+99.00 %"},  {1, "+100.0 %"},     {-1, "-100.0 %"},
                                                    {12.5, "+1250.0 %"}, {NAN, "-"}};
  for (const auto &[share, text] : shares) EXPECT_EQ(percent_text(share), text) << share;
}

TEST(DiffView, ARowWithoutAnIntervalSaysWhy) {
  const auto interval = [](DiffReport::Numbers numbers) {
    return interval_text(DiffReport().row("f", "operator", "undecided", numbers).view().rows()[0]);
  };
  EXPECT_EQ(interval({{"Change", 0.5}, {"Change Low", -0.25}, {"Change High", 1.5}}), "-25.00 % to +150.0 %");
  EXPECT_EQ(interval({{"Change", 0.5}, {"Runs Before", 3}, {"Runs After", 9}}), "too few runs");
  EXPECT_EQ(interval({{"Change", 0.5}, {"Runs Before", 9}, {"Runs After", 3}}), "too few runs");
  EXPECT_EQ(interval({{"Change", 0.5}, {"Runs Before", 4}, {"Runs After", 4}}), "unknown");
  EXPECT_EQ(interval({{"Runs Before", 3}}), "-");
}

TEST(DiffView, ALabelHasShapesAndAnotherDeviceThanTheFirstProcessor) {
  const auto label = [](const char *name, const char *shapes, const char *device) {
    DiffReport report;
    report.row(name, "operator", "same", {}).text("Argument Shapes", shapes).text("Device", device);
    return report.view().rows()[0].label();
  };
  EXPECT_EQ(label("f", "", ""), "f");
  EXPECT_EQ(label("f", "", "cpu0"), "f");
  EXPECT_EQ(label("f", "float32[4]", "cpu0"), "f (float32[4])");
  EXPECT_EQ(label("f", "float32[4]", "cpu1"), "f (float32[4]) on cpu1");
  EXPECT_EQ(label("f\n", "", "cuda0"), "f  on cuda0");
}

TEST(DiffView, EachColumnIsRead) {
  DiffReport report;
  report.row("f", "operator", "regression",
             {{"Before (us)", 1},
              {"After (us)", 2},
              {"Change", 3},
              {"Change Low", 4},
              {"Change High", 5},
              {"Effect", 6},
              {"Share", 7},
              {"Runs Before", 8},
              {"Runs After", 9},
              {"Calls Before", 10},
              {"Calls After", 11},
              {"Runs Needed", 12},
              {"Autocorrelation", 13},
              {"Decides", 1},
              {"Fails", 0}});
  report.row("", "total", "same", {{"Before", 14}, {"After", 15}, {"Decides", 0}, {"Fails", 1}});
  const DiffView view = report.view();
  const DiffRow &row = view.rows()[0], &other = view.rows()[1];
  const std::vector<double> found = {
      row.before,      row.after,       row.change,          row.low,        row.high,
      row.effect,      row.share,       row.runs_before,     row.runs_after, row.calls_before,
      row.calls_after, row.runs_needed, row.autocorrelation, other.before,   other.after};
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<double>(i + 1));
  EXPECT_TRUE(row.decides && !row.fails && !other.decides && other.fails);
  EXPECT_TRUE(row.is_changed() && row.is_tested() && !row.is_total());
  EXPECT_TRUE(!other.is_changed() && !other.is_tested() && other.is_total());
  EXPECT_EQ(row.kind + " " + row.verdict, "operator regression");
  EXPECT_EQ(view.table(TableStyle::markdown),
            "| Operator | Before (us) | After (us) | Change | 95 % interval | Of total | Verdict | Runs |\n"
            "|---|---:|---:|---:|---:|---:|---|---:|\n"
            "| f | 1.00 | 2.00 | +300.0 % | +400.0 % to +500.0 % | +600.0 % | regression | 8 + 9 |\n"
            "|  | 14.00 | 15.00 | - | - | - | same | nan + nan |\n");
}

TEST(DiffView, CallsAreListedWhereTheirNumberChangedAndTheRowDecides) {
  DiffReport report;
  report.row("(total)", "total", "same", {{"Decides", 1}, {"Calls Before", 1}, {"Calls After", 2}});
  report.row("few", "operator", "same", {{"Decides", 1}, {"Calls Before", 2.5}, {"Calls After", 1234567}});
  report.row("many", "operator", "same", {{"Decides", 1}, {"Calls Before", 1234567}, {"Calls After", 3}});
  report.row("equal", "operator", "same", {{"Decides", 1}, {"Calls Before", 4}, {"Calls After", 4}});
  report.row("small", "operator", "same", {{"Decides", 0}, {"Calls Before", 4}, {"Calls After", 5}});
  const std::string title = "\nThese are not called equally often; the times are sums over the calls of a run:\n";
  const DiffView view = report.view();
  // Rows without an interval may be slower, but those whose verdict is "same" are among these here, too.
  const std::string text = view.notes(TableStyle::text), markdown = view.notes(TableStyle::markdown);
  EXPECT_TRUE(text.starts_with(title + "  2.5 -> 1.23457e+06  few\n  1.23457e+06 -> 3  many\n\nThe data ")) << text;
  EXPECT_TRUE(markdown.starts_with(title + "\n- 2.5 -> 1.23457e+06: few\n- 1.23457e+06 -> 3: many\n\nThe data "))
      << markdown;
}

TEST(DiffView, ListsPossibleSlowdownsAboveTheLimitByShare) {
  DiffReport report;
  const auto row = [&](const char *name, const char *verdict, double high, double share, double needed,
                       double resemblance) {
    report.row(name, "operator", verdict,
               {{"Decides", 1},
                {"Change High", high},
                {"Share", share},
                {"Runs Needed", needed},
                {"Autocorrelation", resemblance},
                {"Runs Before", 5},
                {"Runs After", 6},
                {"Calls Before", 1},
                {"Calls After", 1}});
  };
  row("at_the_limit", "same", 0.02, 0.9, 1, 0);
  row("slightly_above", "undecided", 0.0201, 0.1, 12, 0.44);
  row("unknown", "undecided", NAN, 0.3, 345678, 0.45);
  row("changed", "regression", 0.5, 0.8, 1, 0);
  report.row("no_matter", "operator", "undecided", {{"Change High", 1}, {"Share", 1}});
  const std::string entries =
      "  345678  unknown (5 + 6 runs, which resemble their neighbours)\n"
      "      12  slightly_above (5 + 6 runs)\n";
  EXPECT_EQ(report.view().notes(TableStyle::text),
            "\nThe data cannot tell whether these are slower by more than 2.0 %; so many runs on each side would:\n" +
                entries);
  EXPECT_EQ(report.view(0.0201).notes(TableStyle::text),
            "\nThe data cannot tell whether these are slower by more than 2.0 %; so many runs on each side would:\n"
            "  345678  unknown (5 + 6 runs, which resemble their neighbours)\n");
  EXPECT_EQ(report.view(0).notes(TableStyle::markdown),
            "\nThe data cannot tell whether these are slower by more than 0.0 %; so many runs on each side would:\n\n"
            "- 1: at_the_limit (5 + 6 runs)\n- 345678: unknown (5 + 6 runs, which resemble their neighbours)\n"
            "- 12: slightly_above (5 + 6 runs)\n");
}

TEST(DiffView, ConfigurationEntriesAreSentencesBelowTheTable) {
  const opd_value yes = opdyno::arg(int64_t{1}), no = opdyno::arg(int64_t{0});
  EXPECT_EQ(DiffReport().view().notes(TableStyle::text), "");
  EXPECT_EQ(DiffReport().entry("Per call", OPD_METRIC_COUNT, no).view().notes(TableStyle::text), "");
  DiffReport report;
  report.entry("Per call", OPD_METRIC_COUNT, yes);
  report.entry("Condition", OPD_METRIC_STRING, opdyno::arg("Only if."));
  report.entry("Note", OPD_METRIC_STRING, opdyno::arg("Look."));
  EXPECT_EQ(
      report.view().notes(TableStyle::text),
      "\nThe runs have different numbers of calls of the program; times are per call of it.\n\nLook.\n\nOnly if.\n");
}

TEST(DiffView, FailingRowsAreReportedOnlyIfThereIsALimit) {
  DiffReport report;
  report.row("f", "operator", "regression",
             {{"Fails", 1}, {"Change", 0.5}, {"Change Low", 0.25}, {"Change High", 0.75}});
  report.row("g", "operator", "regression",
             {{"Fails", 0}, {"Change", 0.5}, {"Change Low", 0.25}, {"Change High", 0.75}});
  const auto judged = [&](double fail_above, Exit wanted) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(report.view(fail_above).judge("diff"), wanted);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(judged(-1, Exit::ok), "");
  const std::string message = "opdyno diff: f is slower by +50.00 % (+25.00 % to +75.00 %), more than ";
  EXPECT_EQ(judged(0, Exit::mismatch), message + "0.0 %\n");
  EXPECT_EQ(judged(0.1, Exit::mismatch), message + "10.0 %\n");
}

TEST(DiffView, WithoutRunsOfASideCannotBeJudged) {
  DiffReport report;
  report.row("(total)", "total", "new", {{"Runs Before", 0}, {"Runs After", 5}});
  EXPECT_EQ(report.view().judge("diff"), Exit::ok);
  testing::internal::CaptureStderr();
  EXPECT_EQ(report.view(0.1).judge("diff"), Exit::usage);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "opdyno diff: --fail-above has nothing to compare: the first side has no runs in which an operator ran\n");
}

}  // namespace
}  // namespace opd::cli
