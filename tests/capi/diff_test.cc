// include/opdyno/diff.h: what is compared with what, what is said of it, and what is refused.
#include <opdyno/diff.h>

#include <cmath>
#include <cstring>

#include "support/opdyno_test.h"

using opdyno::check;
using opdyno::Value;
using opdyno_test::expect_error;

namespace {

using opdyno::Handle;
using Diff = Handle<opd_diff>;

struct Report : opdyno::Report {
  Report() = default;
  explicit Report(const std::string &json) { check(opd_report_from_json(json.data(), json.size(), out())); }
};

std::string call(const std::string &name, double us, const std::string &more = "") {
  return "{\"Name\":{\"string\":\"" + name + "\"},\"Duration (us)\":{\"microseconds\":" + std::to_string(us) + "}" +
         more + "}";
}
Report report(const std::string &calls) { return Report("{\"calls\":[" + calls + "]}"); }

// Runs of one operator in which neighbours do not resemble each other.
std::vector<Report> runs(double middle, int count, double width = 0.01) {
  std::vector<Report> reports;
  for (int i = 0; i < count; ++i)
    reports.push_back(report(call("f", middle * (1 + width * (i * 7 % count / double(count - 1) - 0.5)))));
  return reports;
}

std::vector<const opd_report *> pointers(const std::vector<Report> &reports) {
  std::vector<const opd_report *> out;
  for (const auto &one : reports) out.push_back(one.get());
  return out;
}

opd_error *try_diff(const std::vector<Report> &before, const std::vector<Report> &after, Diff &out,
                    const opd_diff_options *options = nullptr) {
  const auto a = pointers(before), b = pointers(after);
  return opd_report_diff(a.data(), a.size(), b.data(), b.size(), options, out.out());
}
Diff diff(const std::vector<Report> &before, const std::vector<Report> &after,
          const opd_diff_options *options = nullptr) {
  Diff made;
  check(try_diff(before, after, made, options));
  return made;
}
opd_diff_operator operator_of(const Diff &diff, size_t index = 0) {
  opd_diff_operator one{};
  one.struct_size = sizeof one;
  check(opd_diff_get_operator(diff.get(), index, &one));
  return one;
}
template <class... Reports>
std::vector<Report> list(Reports... reports) {
  std::vector<Report> out;
  (out.push_back(std::move(reports)), ...);
  return out;
}

}  // namespace

TEST(Diff, SaysWhatBecameSlowerOrFaster) {
  const Diff slower = diff(runs(100, 13), runs(110, 13));
  EXPECT_EQ(operator_of(slower).verdict, OPD_VERDICT_REGRESSION);
  EXPECT_NEAR(operator_of(slower).change, 0.1, 1e-9);
  EXPECT_LT(operator_of(slower).low, 0.1);
  EXPECT_GT(operator_of(slower).high, 0.1);
  EXPECT_EQ(opd_diff_verdict(slower.get()), OPD_VERDICT_REGRESSION);
  const Diff faster = diff(runs(110, 13), runs(100, 13));
  EXPECT_EQ(opd_diff_verdict(faster.get()), OPD_VERDICT_IMPROVEMENT);
  EXPECT_EQ(opd_diff_verdict(diff(runs(100, 13), runs(100, 13)).get()), OPD_VERDICT_SAME);
}

TEST(Diff, AChangeBelowTheMinimumEffectIsNone) {
  opd_diff_options options;
  opd_diff_options_init(&options);
  options.min_effect = 0.15;
  EXPECT_EQ(opd_diff_verdict(diff(runs(100, 13), runs(110, 13), &options).get()), OPD_VERDICT_SAME);
}

// 5 against 5 runs come in 252 orders: 2 / 252 = 0.8 %; 3 against 3 in 20, which is never below 5 %.
TEST(Diff, TooFewRunsAreUndecidedWithTheNumberThatWouldDo) {
  const opd_diff_operator three = operator_of(diff(runs(100, 3), runs(200, 3)));
  EXPECT_EQ(three.verdict, OPD_VERDICT_UNDECIDED);
  EXPECT_DOUBLE_EQ(three.p_value, 0.1);
  EXPECT_EQ(three.low, -1);
  EXPECT_TRUE(std::isinf(three.high));
  EXPECT_EQ(opd_diff_runs_needed(diff(runs(100, 3), runs(200, 3)).get(), 0, 0.03), 4) << "2 / 70 orders";
  const opd_diff_operator five = operator_of(diff(runs(100, 5), runs(200, 5)));
  EXPECT_EQ(five.verdict, OPD_VERDICT_REGRESSION);
  EXPECT_DOUBLE_EQ(five.p_value, 2 / 252.0);
  const opd_diff_operator one = operator_of(diff(list(report(call("f", 1))), list(report(call("f", 2)))));
  EXPECT_EQ(one.verdict, OPD_VERDICT_UNDECIDED);
  EXPECT_NEAR(one.change, 1, 1e-9);
}

TEST(Diff, TheCallsOfARunAreSummedPerNameShapesAndDevice) {
  const std::string on_gpu = ",\"Device\":{\"string\":\"cuda0\"}",
                    shaped = ",\"Argument Shapes\":{\"string\":\"i8[2]\"}";
  const Diff made = diff(list(report(call("f", 1) + "," + call("f", 2, on_gpu) + "," + call("f", 4) + "," +
                                     call("f", 8, shaped) + "," + call("g", 16))),
                         list(report(call("f", 5) + "," + call("h", 3))));
  ASSERT_EQ(opd_diff_operator_count(made.get()), 5u);
  EXPECT_EQ(operator_of(made, 0).before, 5) << "1 + 4";
  EXPECT_STREQ(operator_of(made, 1).device, "cuda0");
  EXPECT_STREQ(operator_of(made, 2).shapes, "i8[2]");
  EXPECT_EQ(operator_of(made, 3).verdict, OPD_VERDICT_VANISHED);
  EXPECT_STREQ(operator_of(made, 4).name, "h");
  EXPECT_EQ(operator_of(made, 4).verdict, OPD_VERDICT_NEW);
  EXPECT_TRUE(std::isnan(operator_of(made, 4).before) && std::isnan(operator_of(made, 4).change));
  EXPECT_EQ(operator_of(made, 4).runs_needed, -1);
  EXPECT_EQ(opd_diff_verdict(made.get()), OPD_VERDICT_UNDECIDED);
}

TEST(Diff, AMergedReportHoldsItsRuns) {
  const auto before = runs(100, 13), after = runs(110, 13);
  const auto all = pointers(after);
  Report merged;
  check(opd_report_merge(all.data(), all.size(), merged.out()));
  const opd_diff_operator apart = operator_of(diff(before, after));
  const opd_diff_operator joined = operator_of(diff(before, list(std::move(merged))));
  EXPECT_EQ(joined.after_runs, 13);
  EXPECT_EQ(joined.p_value, apart.p_value);
  EXPECT_EQ(joined.high, apart.high);
}

TEST(Diff, RowsOfNoRunAndWhatTheProfilerTookAreNoPartOfIt) {
  const auto run = [](int number) { return ",\"Run\":{\"count\":" + std::to_string(number) + "}"; };
  const auto side = [&] {
    return list(report(call("f", 10, run(0)) + "," + call("f", 11, run(1)) + "," + call("(dispatch)", 500) + "," +
                       call("(profiler)", 700, run(0))));
  };
  const Diff made = diff(side(), side());
  ASSERT_EQ(opd_diff_operator_count(made.get()), 1u);
  EXPECT_STREQ(operator_of(made).name, "f");
  EXPECT_EQ(operator_of(made).before_runs, 2) << "the rows of all runs together are no third one";
}

// p = 2 / 252 for both; the p-values are weighted by 0.1 + 0.9 * 2 * share of the time, and the larger one stays.
TEST(Diff, FalseVerdictsAreAllowedWhereTheTimeGoes) {
  const auto both = [](double f, double g) {
    std::vector<Report> reports;
    for (int i = 0; i < 5; ++i) {
      const double width = 1 + 0.001 * (i * 3 % 5);
      reports.push_back(report(call("f", f * width) + "," + call("g", g * width)));
    }
    return reports;
  };
  const Diff made = diff(both(900, 100), both(1800, 200));
  const double p = 2 / 252.0, share = 0.1;  // the pooled medians are as 900 to 100
  EXPECT_DOUBLE_EQ(operator_of(made, 1).p_value, p);
  EXPECT_NEAR(operator_of(made, 1).adjusted_p, p / (0.1 + 0.9 * 2 * share), 1e-12);
  EXPECT_NEAR(operator_of(made, 0).adjusted_p, 2 * p / (0.1 + 0.9 * 2 * (1 - share)), 1e-12);
}

TEST(Diff, BenchmarksAreComparedRepeatByRepeat) {
  std::vector<double> before, after;
  for (int i = 0; i < 13; ++i) before.push_back(1e-3 + 1e-6 * (i * 7 % 13)), after.push_back(before.back() * 1.05);
  Handle<opd_benchmark> a, b;
  check(opd_benchmark_create(before.data(), before.size(), a.out()));
  check(opd_benchmark_create(after.data(), after.size(), b.out()));
  Diff made;
  check(opd_benchmark_diff(a.get(), b.get(), nullptr, made.out()));
  ASSERT_EQ(opd_diff_operator_count(made.get()), 1u);
  EXPECT_STREQ(operator_of(made).name, "call");
  EXPECT_NEAR(operator_of(made).before, 1006, 1e-6) << "µs";
  EXPECT_NEAR(operator_of(made).change, 0.05, 1e-9);
  EXPECT_EQ(operator_of(made).verdict, OPD_VERDICT_REGRESSION);
  opd_benchmark *out = nullptr;
  const double negative = -1;
  expect_error(opd_benchmark_create(&negative, 1, &out), OPD_INVALID_ARGUMENT, "second 0 is -1");
  expect_error(opd_benchmark_create(nullptr, 0, &out), OPD_INVALID_ARGUMENT, "not be NULL");
}

TEST(Diff, OtherMetricsCanBeCompared) {
  opd_diff_options options;
  opd_diff_options_init(&options);
  options.metric = "Misses";
  const auto misses = [](int count) { return call("f", 1, ",\"Misses\":{\"count\":" + std::to_string(count) + "}"); };
  const Diff made = diff(list(report(misses(1000))), list(report(misses(1500) + "," + misses(500))), &options);
  EXPECT_EQ(operator_of(made).before, 1000);
  EXPECT_EQ(operator_of(made).after, 2000);
}

TEST(Diff, MoreNoiseAndSmallerChangesNeedMoreRuns) {
  const Diff quiet = diff(runs(100, 13, 0.01), runs(100, 13, 0.01)),
             noisy = diff(runs(100, 13, 0.1), runs(100, 13, 0.1));
  EXPECT_GT(opd_diff_runs_needed(noisy.get(), 0, 0.03), opd_diff_runs_needed(quiet.get(), 0, 0.03));
  EXPECT_GT(opd_diff_runs_needed(noisy.get(), 0, 0.01), opd_diff_runs_needed(noisy.get(), 0, 0.03));
  EXPECT_EQ(opd_diff_runs_needed(noisy.get(), 1, 0.03), -1) << "there is one operator";
  EXPECT_EQ(opd_diff_runs_needed(nullptr, 0, 0.03), -1);
}

TEST(Diff, IsAReportForAllViews) {
  Report made;
  check(opd_diff_to_report(diff(runs(100, 13), runs(110, 13)).get(), made.out()));
  Value verdict, change;
  check(opd_report_get_call(made.get(), 0, "Verdict", verdict.out()));
  EXPECT_EQ(verdict.to_string().find("regression") != std::string::npos, true);
  check(opd_report_get_call(made.get(), 0, "Change", change.out()));
  EXPECT_NEAR(change.view().u.float64, 0.1, 1e-9);
}

TEST(Diff, RefusesWhatCannotBeCompared) {
  Diff out;
  expect_error(try_diff({}, runs(1, 2), out), OPD_INVALID_ARGUMENT, "at least one report is expected before");
  expect_error(try_diff(runs(1, 2), list(report(call("f", -1))), out), OPD_INVALID_ARGUMENT,
               "row 0 of report 0 of those after has a \"Duration (us)\" that is not a number from 0");
  expect_error(try_diff(runs(1, 2), list(Report("{\"calls\":[{\"Name\":{\"string\":\"f\"}}]}")), out), OPD_NOT_FOUND,
               "no column \"Duration (us)\"");
  opd_diff_options options;
  opd_diff_options_init(&options);
  options.level = 2;
  expect_error(try_diff(runs(1, 2), runs(1, 2), out, &options), OPD_INVALID_ARGUMENT, "option level is 2");
  opd_diff_operator one{};
  one.struct_size = sizeof one;
  expect_error(opd_diff_get_operator(diff(runs(1, 2), runs(1, 2)).get(), 1, &one), OPD_OUT_OF_RANGE, "operator 1");
  EXPECT_STREQ(opd_verdict_name(OPD_VERDICT_VANISHED), "vanished");
  EXPECT_STREQ(opd_verdict_name(17), "?");
}
