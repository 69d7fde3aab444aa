// include/opdyno/diff.h: what numbers of calls, likeness of neighbours and options make of runs.
#include "support/diff_runs.h"

using namespace diff_runs;

namespace {

// One run: an operator, and how often the program was called.
Report run_of_calls(double us, int64_t program_calls, const std::string &more = "") {
  const std::string count = ",\"Count\":{\"count\":" + std::to_string(program_calls) + "}";
  return report(call("f", us, count) + "," +
                call("(dispatch)", us / 10, count + ",\"Row Kind\":{\"string\":\"dispatch\"}") + more);
}
std::vector<Report> runs_of_calls(double middle, int count, int64_t program_calls) {
  std::vector<Report> reports;
  for (int i = 0; i < count; ++i)
    reports.push_back(run_of_calls(middle * (1 + 0.01 * (i * 7 % count / double(count - 1) - 0.5)), program_calls));
  return reports;
}

// Ten runs that drift slowly up and down.
std::vector<Report> resembling(double middle) {
  std::vector<Report> reports;
  for (const double step : {0.0, 0.3, 0.5, 0.6, 0.6, 0.5, 0.3, 0.0, -0.2, -0.3})
    reports.push_back(report(call("f", middle * (1 + 0.02 * step))));
  return reports;
}

}  // namespace

TEST(Diff, ComparesTimesPerCallIfNumbersOfCallsDiffer) {
  const Report equal = diff(runs_of_calls(100, 13, 1), runs_of_calls(1000, 13, 10));
  EXPECT_EQ(Row(equal).verdict(), "same");
  EXPECT_NEAR(Row(equal).number("After (us)"), 100, 0.1) << "of one call, not of ten";
  EXPECT_EQ(Row(equal).number("Calls After"), 1);
  EXPECT_EQ(Row(equal, "(total)").verdict(), "same");
  EXPECT_EQ(configured(equal, "Per call"), "1");
  const Report slower = diff(runs_of_calls(100, 13, 1), runs_of_calls(1100, 13, 10));
  EXPECT_EQ(Row(slower).verdict(), "regression");
  EXPECT_NEAR(Row(slower).number("Change"), 0.1, 1e-6);
}

TEST(Diff, ComparesSumsIfRunsHaveEquallyManyCalls) {
  const Report equal = diff(runs_of_calls(1000, 13, 10), runs_of_calls(1000, 13, 10));
  EXPECT_NEAR(Row(equal).number("After (us)"), 1000, 1);
  EXPECT_EQ(configured(equal, "Per call"), "0");
}

TEST(Diff, ComparesSumsIfARunLacksItsNumberOfCalls) {
  std::vector<Report> some = runs_of_calls(1000, 12, 10);
  some.push_back(report(call("f", 1000)));
  EXPECT_EQ(configured(diff(runs_of_calls(100, 13, 1), some), "Per call"), "0");
}

TEST(Diff, AsksForALargerChangeIfRunsAreAutocorrelated) {
  const Report small = diff(resembling(100), resembling(102)), large = diff(resembling(100), resembling(120));
  EXPECT_GE(Row(small).number("Autocorrelation"), 0.45);
  EXPECT_EQ(Row(small).verdict(), "undecided") << "all runs after are slower than all before, but that may be a drift";
  EXPECT_LT(Row(small).number("Change Low"), 0);
  EXPECT_EQ(Row(large).verdict(), "regression");
}

TEST(Diff, StatesTheConditionOfAVerdictFromFewRuns) {
  const auto condition = [](const Report &diff) {
    Value value;
    opd_error_release(opd_report_get(diff.get(), OPD_REPORT_CONFIGURATION, 0, "Condition", value.out(), nullptr));
    return value.type() == OPD_NONE ? "" : string_of(value);
  };
  EXPECT_NE(condition(diff(runs(100, 14), runs(110, 14))).find("With fewer than 15 runs on a side"), std::string::npos);
  EXPECT_EQ(condition(diff(runs(100, 15), runs(110, 15))), "") << "so many show it";
  EXPECT_NE(condition(diff(runs(100, 15), runs(110, 14))), "") << "either side";
  EXPECT_NE(condition(diff(runs(110, 14), runs(100, 15))), "") << "and of an improvement";
  EXPECT_EQ(condition(diff(runs(100, 14), runs(100, 14))), "") << "nothing changed";
}

// Operators of one machine drift together: what one of them shows too little of is taken from the others.
TEST(Diff, EstimatesAutocorrelationFromAllOperators) {
  const auto side = [](int others) {
    std::vector<Report> reports;
    const double own[] = {3, 1, 4, 0, 2};
    for (int i = 0; i < 5; ++i) {
      std::string calls = call("f", 100 + own[i]);
      for (int k = 0; k < others; ++k)
        calls += "," + call("g" + std::to_string(k), 100 + 5 * i + 0.01 * ((i * 3 + k) % 5));
      reports.push_back(report(calls));
    }
    return reports;
  };
  const auto found = [&](int others) { return Row(diff(side(others), side(others))).number("Autocorrelation"); };
  EXPECT_LT(found(0), 0.05) << "five runs without an order say little, so it is near the prior";
  EXPECT_GT(found(1), found(0));
  EXPECT_GT(found(4), 2 * found(1));
  EXPECT_GT(found(16), 0.25);
  EXPECT_GT(found(40), 0.5);
}

TEST(Diff, ReportsItsOptionsAndAllItsRows) {
  opd_diff_options options = defaults();
  options.min_effect = 0.02, options.min_share = 0.25, options.fail_above = 0.5, options.level = 0.1;
  options.confidence = 0.8;
  const std::string more = R"(,"Device":{"string":"cuda0"},"Argument Shapes":{"string":"i8[2]"},"Count":{"count":3})";
  const auto side = [&](double f, const char *other, double us) {
    std::vector<Report> reports;
    for (int i = 0; i < 5; ++i)
      reports.push_back(report(call("f", f + i * 3 % 5, more) + "," + call("g", 20) + "," + call(other, us)));
    return reports;
  };
  const Report made = diff(side(60, "gone", 16), side(158, "fresh", 36), &options);
  std::string rows;
  for (int32_t at = 0; at < opd_report_call_count(made.get()); ++at) {
    for (const char *column :
         {"Name", "Device", "Argument Shapes", "Kind", "Duration (us)", "Before (us)", "After (us)", "Verdict",
          "Runs Before", "Runs After", "Calls Before", "Calls After", "Decides", "Fails", "Effect", "Share"}) {
      Value value;
      check(opd_report_get(made.get(), OPD_REPORT_CALLS, at, column, value.out(), nullptr));
      const std::string cell = value.type() == OPD_NONE ? "-" : value.to_string();
      std::ranges::copy_if(cell + "|", std::back_inserter(rows), [](char c) { return c != '"'; });
    }
    rows += "\n";
  }
  EXPECT_EQ(rows,
            "(total)|-|-|total|-|98|216|regression|5|5|5|5|1|1|1.2040816326530612|1|\n"
            "f|cuda0|i8[2]|operator|160|62|160|regression|5|5|3|3|1|1|1|0.7407407407407407|\n"
            "fresh|-|-|operator|36|-|36|new|0|5|-|1|0|0|0.3673469387755102|0.16666666666666666|\n"
            "(replaced)|-|-|replaced|-|16|36|regression|5|5|1|1|0|0|0.20408163265306123|0.16666666666666666|\n"
            "gone|-|-|operator|16|16|-|vanished|5|0|1|-|0|0|-0.16326530612244897|0.16326530612244897|\n"
            "g|-|-|operator|20|20|20|same|5|5|1|1|0|0|0|0.20408163265306123|\n")
      << "f changes by 98 of the 98 µs before, and takes 160 of the 216 after";
  std::string entries;
  for (const char *entry : {"Verdict", "Fails", "Metric", "Runs before", "Runs after", "Paired", "Per call",
                            "Minimum effect", "Minimum share", "Fail above", "Level", "Confidence"})
    entries += std::string(entry) + "=" + made.value(OPD_REPORT_CONFIGURATION, 0, entry).to_string() + " ";
  EXPECT_EQ(entries,
            "Verdict=\"regression\" Fails=2 Metric=\"Duration (us)\" Runs before=5 Runs after=5 Paired=0 Per call=0 "
            "Minimum effect=0.02 Minimum share=0.25 Fail above=0.5 Level=0.1 Confidence=0.8 ");
}

namespace {

double normal_quantile(double tail) {  // by bisection of the complementary error function
  double low = -40, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2)) / 2 > tail ? low : high) = middle;
  }
  return low;
}

}  // namespace

// The noise is that of the interval, which is as wide as the means of so many runs scatter; the power is 90 %. A single
// operator has the whole level.
TEST(Diff, ReportsTheNumberOfRunsThatWouldFindTheChange) {
  const auto wanted = [](const Report &made, double runs_per_mean, double factor, double level, double confidence,
                         double effect) {
    const double width = std::log1p(Row(made).number("Change High")) - std::log1p(Row(made).number("Change Low"));
    const double deviation = width / 2 / normal_quantile((1 - confidence) / 2) / std::sqrt(runs_per_mean);
    const double z = (normal_quantile(level / 2) + normal_quantile(0.1)) * deviation / std::log1p(effect);
    return std::ceil(factor * z * z);
  };
  opd_diff_options options = defaults();
  options.fail_above = 0.02, options.level = 0.1, options.confidence = 0.9;
  const Report apart = diff(runs(100, 13, 0.3), runs(100, 11, 0.3), &options);
  EXPECT_EQ(Row(apart).number("Runs Needed"), wanted(apart, 1 / 13.0 + 1 / 11.0, 2, 0.1, 0.9, 0.02));
  options.fail_above = -1, options.min_effect = 0.03;
  const Report least = diff(runs(100, 13, 0.3), runs(100, 11, 0.3), &options);
  EXPECT_EQ(Row(least).number("Runs Needed"), wanted(least, 1 / 13.0 + 1 / 11.0, 2, 0.1, 0.9, 0.03));
  options.is_paired = 1;
  const Report pairs = diff(runs(100, 13, 0.3), runs(100, 13, 0.9), &options);
  EXPECT_EQ(Row(pairs).number("Runs Needed"), wanted(pairs, 1 / 13.0, 1, 0.1, 0.9, 0.03));
  options.min_effect = 0;
  EXPECT_EQ(Row(diff(runs(100, 13), runs(100, 13), &options)).number("Runs Needed"), -1) << "for no change";
}

// Where runs do not scatter, it is as many as can show anything: 2 / 70 orders of four and four are less than 5 %, 2 of
// 2^6 choices of signs.
TEST(Diff, NeedsAtLeastTheRunsThatCanShowAChange) {
  opd_diff_options options = defaults();
  options.fail_above = 0.03;
  const auto equal = [](int count) {
    std::vector<Report> reports;
    for (int i = 0; i < count; ++i) reports.push_back(report(call("f", 100)));
    return reports;
  };
  EXPECT_EQ(Row(diff(equal(13), equal(13), &options)).number("Runs Needed"), 4);
  EXPECT_EQ(Row(diff(equal(2), equal(2), &options)).number("Runs Needed"), 4);
  options.is_paired = 1;
  EXPECT_EQ(Row(diff(equal(13), equal(13), &options)).number("Runs Needed"), 6);
  // Of one run on each side nothing tells how much they scatter.
  EXPECT_EQ(Row(diff(equal(1), equal(1), &options)).number("Runs Needed"), 6);
}
