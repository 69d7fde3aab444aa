// include/opdyno/diff.h: what is compared with what, what is said of it, and what is refused.
#include "support/diff_runs.h"

using namespace diff_runs;

TEST(Diff, ReportsRegressionsAndImprovements) {
  const Report slower = diff(runs(100, 13), runs(110, 13));
  EXPECT_EQ(Row(slower).verdict(), "regression");
  EXPECT_NEAR(Row(slower).number("Change"), 0.1, 1e-9);
  EXPECT_LT(Row(slower).number("Change Low"), 0.1);
  EXPECT_GT(Row(slower).number("Change High"), 0.1);
  EXPECT_EQ(verdict_of(slower), "regression");
  EXPECT_EQ(verdict_of(diff(runs(110, 13), runs(100, 13))), "improvement");
  EXPECT_EQ(verdict_of(diff(runs(100, 13), runs(100, 13))), "same");
}

TEST(Diff, AChangeBelowTheMinimumEffectIsNone) {
  opd_diff_options options = defaults();
  options.min_effect = 0.15;
  EXPECT_EQ(verdict_of(diff(runs(100, 13), runs(110, 13), &options)), "same");
}

TEST(Diff, AChangeAsLargeAsTheMinimumEffectCounts) {
  const auto five = [](double us) {
    std::vector<Report> reports;
    for (int i = 0; i < 5; ++i) reports.push_back(report(call("f", us)));
    return reports;
  };
  opd_diff_options options = defaults();
  options.min_effect = 1;
  EXPECT_EQ(verdict_of(diff(five(1), five(2), &options)), "regression");
  options.min_effect = 1.01;
  EXPECT_EQ(verdict_of(diff(five(1), five(2), &options)), "same");
}

// 5 against 5 runs come in 252 orders: 2 / 252 = 0.8 %; 3 against 3 in 20, which is never below 5 %; 4 against 4 in 70.
TEST(Diff, TooFewRunsAreUndecidedWithTheNumberThatWouldDo) {
  opd_diff_options options = defaults();
  options.fail_above = 0.03;
  const Report few = diff(runs(100, 3), runs(200, 3), &options), enough = diff(runs(100, 5), runs(200, 5));
  const Row three(few), five(enough);
  EXPECT_EQ(three.verdict(), "undecided");
  EXPECT_DOUBLE_EQ(three.number("P Value"), 0.1);
  EXPECT_TRUE(std::isnan(three.number("Change Low")) && std::isnan(three.number("Change High")));
  EXPECT_EQ(three.number("Runs Needed"), 4) << "2 / 70 orders";
  EXPECT_EQ(five.verdict(), "regression");
  EXPECT_DOUBLE_EQ(five.number("P Value"), 2 / 252.0);
  const Report single = diff(list(report(call("f", 1))), list(report(call("f", 2))));
  EXPECT_EQ(Row(single).verdict(), "undecided");
  EXPECT_NEAR(Row(single).number("Change"), 1, 1e-9);
}

TEST(Diff, TheCallsOfARunAreSummedPerNameShapesAndDevice) {
  const std::string on_gpu = ",\"Device\":{\"string\":\"cuda0\"}",
                    shaped = ",\"Argument Shapes\":{\"string\":\"i8[2]\"}";
  const Report made = diff(list(report(call("f", 1) + "," + call("f", 2, on_gpu) + "," + call("f", 4) + "," +
                                       call("f", 8, shaped) + "," + call("g", 16))),
                           list(report(call("f", 5) + "," + call("h", 3))));
  EXPECT_EQ(opd_report_call_count(made.get()), 7) << "five operators, the total and what replaced what";
  EXPECT_EQ(Row(made).number("Before (us)"), 5) << "1 + 4";
  EXPECT_EQ(Row(made, "f", "", "cuda0").verdict(), "vanished");
  EXPECT_EQ(Row(made, "f", "i8[2]").number("Before (us)"), 8);
  EXPECT_EQ(Row(made, "g").verdict(), "vanished");
  const Row fresh(made, "h");
  EXPECT_EQ(fresh.verdict(), "new");
  EXPECT_TRUE(std::isnan(fresh.number("Before (us)")) && std::isnan(fresh.number("Change")));
  EXPECT_TRUE(std::isnan(fresh.number("Runs Needed")));
  EXPECT_EQ(verdict_of(made), "undecided");
}

TEST(Diff, AMergedReportHoldsItsRuns) {
  const auto before = runs(100, 13), after = runs(110, 13);
  const auto all = pointers(after);
  Report merged;
  check(opd_report_merge(all.data(), all.size(), merged.out()));
  const Report apart = diff(before, after), joined = diff(before, list(std::move(merged)));
  EXPECT_EQ(Row(joined).number("Runs After"), 13);
  for (const char *column : {"P Value", "Change High"})
    EXPECT_EQ(Row(joined).number(column), Row(apart).number(column)) << column;
}

TEST(Diff, IgnoresRowsWithoutARunAndOfTheProfiler) {
  const auto run = [](int number) { return ",\"Run\":{\"count\":" + std::to_string(number) + "}"; };
  const auto side = [&] {
    return list(report(call("f", 10, run(0)) + "," + call("f", 11, run(1)) + "," + call("(dispatch)", 500) + "," +
                       call("(profiler)", 700, run(0) + ",\"Row Kind\":{\"string\":\"profiler\"}")));
  };
  const Report made = diff(side(), side());
  ASSERT_EQ(opd_report_call_count(made.get()), 1);
  EXPECT_EQ(Row(made).number("Runs Before"), 2) << "the rows of all runs together are no third one";
}

// p = 2 / 252 for all three; it is divided by 0.1 + 0.9 * 3 * share of the time, of which the total has one half.
// Benjamini-Hochberg then multiplies the smallest by 3 / 1, the second by 3 / 2, the largest by 3 / 3.
TEST(Diff, TheLevelIsDividedByTheShareOfTime) {
  const auto both = [](double f, double g) {
    std::vector<Report> reports;
    for (int i = 0; i < 5; ++i) {
      const double width = 1 + 0.001 * (i * 3 % 5);
      reports.push_back(report(call("f", f * width) + "," + call("g", g * width)));
    }
    return reports;
  };
  const Report made = diff(both(900, 100), both(1800, 200));
  const double p = 2 / 252.0;  // the pooled medians of f, g and the total are as 9 to 1 to 10
  EXPECT_DOUBLE_EQ(Row(made, "g").number("P Value"), p);
  EXPECT_NEAR(Row(made, "g").number("Adjusted P"), p / (0.1 + 0.9 * 3 * 0.05), 1e-12);
  EXPECT_NEAR(Row(made, "f").number("Adjusted P"), p * 3 / 2 / (0.1 + 0.9 * 3 * 0.45), 1e-12);
  EXPECT_NEAR(Row(made, "(total)").number("Adjusted P"), p * 3 / 2 / (0.1 + 0.9 * 3 * 0.45), 1e-12)
      << "no more than what has a larger p";
}

TEST(Diff, BenchmarksAreComparedRepeatByRepeat) {
  std::vector<double> before, after;
  for (int i = 0; i < 13; ++i) before.push_back(1e-3 + 1e-6 * (i * 7 % 13)), after.push_back(before.back() * 1.05);
  Handle<opd_benchmark> a, b;
  check(opd_benchmark_create(before.data(), before.size(), a.out()));
  check(opd_benchmark_create(after.data(), after.size(), b.out()));
  Report made;
  check(opd_benchmark_diff(a.get(), b.get(), nullptr, made.out()));
  ASSERT_EQ(opd_report_call_count(made.get()), 1);
  EXPECT_NEAR(Row(made, "call").number("Before (us)"), 1006, 1e-6) << "µs";
  EXPECT_NEAR(Row(made, "call").number("Change"), 0.05, 1e-9);
  EXPECT_EQ(Row(made, "call").verdict(), "regression");
  opd_benchmark *out = nullptr;
  const double negative = -1;
  expect_error(opd_benchmark_create(&negative, 1, &out), OPD_INVALID_ARGUMENT, "-1");
  expect_error(opd_benchmark_create(nullptr, 0, &out), OPD_INVALID_ARGUMENT, "not be NULL");
}

TEST(Diff, OtherMetricsCanBeCompared) {
  opd_diff_options options = defaults();
  options.metric = "Misses";
  const auto misses = [](int count) { return call("f", 1, ",\"Misses\":{\"count\":" + std::to_string(count) + "}"); };
  const Report made = diff(list(report(misses(1000))), list(report(misses(1500) + "," + misses(500))), &options);
  EXPECT_EQ(Row(made).number("Before"), 1000);
  EXPECT_EQ(Row(made).number("After"), 2000);
}

TEST(Diff, MoreNoiseAndSmallerChangesNeedMoreRuns) {
  opd_diff_options coarse = defaults(), fine = defaults();
  coarse.fail_above = 0.03, fine.fail_above = 0.01;
  const auto needed = [](double width, const opd_diff_options &options) {
    return Row(diff(runs(100, 13, width), runs(100, 13, width), &options)).number("Runs Needed");
  };
  EXPECT_GT(needed(0.1, coarse), needed(0.01, coarse));
  EXPECT_GT(needed(0.1, fine), needed(0.1, coarse));
}

// What fails: the total, and what takes a share of the time that is not too small.

using Times = std::vector<std::pair<std::string, double>>;  // operators, µs

std::vector<Report> program(const Times &times, int count = 9, double width = 0.01) {
  std::vector<Report> reports;
  for (int i = 0; i < count; ++i) {
    std::string calls;
    for (const auto &[name, us] : times)
      calls += (calls.empty() ? "" : ",") + call(name, us * (1 + width * (i * 7 % count / double(count) - 0.5)));
    reports.push_back(report(calls));
  }
  return reports;
}

Report fail_above_3_percent(const Times &before, const Times &after) {
  opd_diff_options options = defaults();
  options.fail_above = 0.03;
  return diff(program(before), program(after), &options);
}

TEST(Diff, AnOperatorThatTwoOthersReplacedAtTenTimesTheCostFails) {
  const Report made =
      fail_above_3_percent({{"fused", 110}, {"rest", 50'000}}, {{"one", 500}, {"other", 511}, {"rest", 50'000}});
  EXPECT_EQ(Row(made, "(replaced)").text("Kind"), "replaced");
  EXPECT_EQ(Row(made, "(replaced)").verdict(), "regression");
  EXPECT_NEAR(Row(made, "(replaced)").number("Change"), 1011.0 / 110 - 1, 1e-9);
  EXPECT_EQ(Row(made, "(replaced)").number("Fails"), 1);
  EXPECT_EQ(configured(made, "Fails"), "1") << "the total is slower by 1.8 % only";
  EXPECT_EQ(verdict_of(made), "regression");
}

TEST(Diff, ANewOperatorThatCostsAThirdOfTheTotalFails) {
  const Report made = fail_above_3_percent({{"f", 1000}}, {{"f", 1000}, {"fresh", 360}});
  EXPECT_EQ(Row(made, "fresh").verdict(), "new");
  EXPECT_EQ(Row(made, "(total)").text("Kind"), "total");
  EXPECT_EQ(Row(made, "(total)").number("Fails"), 1);
  EXPECT_NEAR(Row(made, "(total)").number("Change"), 0.36, 1e-9);
  EXPECT_NEAR(Row(made, "fresh").number("Effect"), 0.36, 1e-9);
}

TEST(Diff, ATinyOperatorThatDoublesFailsOnlyWithoutAMinimumShare) {
  const Times before{{"large", 1000}, {"tiny", 0.01}}, after{{"large", 1000}, {"tiny", 0.02}};
  const Report made = fail_above_3_percent(before, after);
  EXPECT_EQ(Row(made, "tiny").verdict(), "regression");
  EXPECT_EQ(Row(made, "tiny").number("Decides"), 0);
  EXPECT_EQ(configured(made, "Fails"), "0");
  EXPECT_EQ(verdict_of(made), "same");
  opd_diff_options options = defaults();
  options.fail_above = 0.03, options.min_share = 0;
  EXPECT_EQ(configured(diff(program(before), program(after), &options), "Fails"), "1");
}

TEST(Diff, ARenamedOperatorIsNoChange) {
  const Report made = fail_above_3_percent({{"f", 100}, {"old", 300}}, {{"f", 100}, {"new", 300}});
  EXPECT_EQ(Row(made, "(replaced)").verdict(), "same");
  EXPECT_EQ(verdict_of(made), "same");
  EXPECT_EQ(configured(made, "Fails"), "0");
}

TEST(Diff, ASlowerOperatorFailsEvenIfTheTotalIsTheSame) {
  const Report made = fail_above_3_percent({{"f", 100}, {"g", 200}}, {{"f", 150}, {"g", 150}});
  EXPECT_EQ(Row(made, "(total)").verdict(), "same");
  EXPECT_EQ(Row(made, "f").number("Fails"), 1);
}

TEST(Diff, OrdersRowsByTheirChangeAfterTheTotal) {
  const Report made = fail_above_3_percent({{"small", 10}, {"same", 5000}, {"large", 1000}, {"gone", 100}},
                                           {{"small", 12}, {"same", 5000}, {"large", 1200}});
  EXPECT_EQ(Row(made, "(total)").place(), 0);
  EXPECT_EQ(Row(made, "large").place(), 1);
  EXPECT_EQ(Row(made, "gone").place(), 2);
  EXPECT_EQ(Row(made, "small").place(), 3);
  EXPECT_EQ(Row(made, "same").place(), 4);
}

TEST(Diff, TheTotalCountsNestedCallsOnce) {
  const auto nested = [](double us) {
    const auto self = [](double own) { return ",\"Self (us)\":{\"microseconds\":" + std::to_string(own) + "}"; };
    return list(report(call("outer", 10 + us, self(10)) + "," + call("inner", us, self(us))));
  };
  const Report made = diff(nested(30), nested(90));
  EXPECT_EQ(Row(made, "(total)").number("Before (us)"), 40);
  EXPECT_EQ(Row(made, "(total)").number("After (us)"), 100);
}

TEST(Diff, ARecursiveCallIsPartOfTheOutermostOne) {
  const auto recursive = [](double us) {
    const std::string mark = ",\"Depth\":{\"count\":1},\"Recursive Calls\":{\"count\":1}";
    return list(report(call("f", us, mark) + "," + call("f", 10 + us) + "," + call("g", 5)));
  };
  const Report made = diff(recursive(30), recursive(90));
  EXPECT_EQ(Row(made, "f").number("Before (us)"), 40);
  EXPECT_EQ(Row(made, "f").number("After (us)"), 100);
  EXPECT_EQ(Row(made, "f").number("Calls Before"), 2);
  EXPECT_EQ(Row(made, "(total)").number("Before (us)"), 45) << "without self times the depth tells what is nested";
}

TEST(Diff, ARunWithoutCallsIsARun) {
  auto before = runs(100, 3);
  before.push_back(report(""));
  const Report made = diff(before, runs(100, 3));
  EXPECT_EQ(configured(made, "Runs before"), "4");
  EXPECT_EQ(Row(made).number("Runs Before"), 3);
}

TEST(Diff, UnequalCallCountsAreComparedPerRun) {
  const auto count = [](int calls) { return ",\"Count\":{\"count\":" + std::to_string(calls) + "}"; };
  const Report made =
      diff(list(report(call("f", 10, count(2)) + "," + call("f", 5))), list(report(call("f", 30, count(6)))));
  EXPECT_EQ(Row(made).number("Calls Before"), 3) << "a row without a count is one call";
  EXPECT_EQ(Row(made).number("Calls After"), 6);
  EXPECT_NEAR(Row(made).number("Change"), 1, 1e-9);
}

// Runs in turns.

std::vector<Report> turns(double factor, int count, bool by_column = false) {
  std::vector<Report> reports;
  for (int i = 0; i < count; ++i) {  // the machine slows down by far more than the change that is to be found
    const double us = 100 * (1 + 0.2 * i) * (factor == 1 ? 1 : factor + 0.001 * (i * 7 % count));
    const std::string turn = "{\"count\":" + std::to_string(i) + "}";
    reports.push_back(by_column
                          ? report(call("f", us, ",\"Turn\":" + turn))
                          : Report("{\"calls\":[" + call("f", us) + "],\"configuration\":{\"Turn\":" + turn + "}}"));
  }
  return reports;
}

TEST(Diff, RunsMadeInTurnsAreComparedAsPairs) {
  for (const bool by_column : {false, true}) {
    const Report made = diff(turns(1, 8, by_column), turns(1.05, 8, by_column));
    EXPECT_EQ(configured(made, "Paired"), "1");
    EXPECT_EQ(Row(made).verdict(), "regression");
    EXPECT_DOUBLE_EQ(Row(made).number("P Value"), 2 / 256.0) << "all of 8 pairs have the same sign";
    EXPECT_NEAR(Row(made).number("Change"), 0.0535, 0.001);
  }
  opd_diff_options options = defaults();
  options.is_paired = 1;
  const auto untold = [](double factor) {
    std::vector<Report> reports;
    for (int i = 0; i < 8; ++i)
      reports.push_back(report(call("f", 100 * (1 + 0.2 * i) * (factor + 0.001 * (i * 7 % 8)))));
    return reports;
  };
  EXPECT_EQ(Row(diff(untold(1), untold(1.05))).verdict(), "undecided") << "they drift";
  EXPECT_EQ(Row(diff(untold(1), untold(1.05), &options)).verdict(), "regression");
}

TEST(Diff, TurnsThatDoNotMatchAreNotPaired) {
  auto twice = turns(1, 4), more = turns(1, 4);
  for (Report &one : more) twice.push_back(std::move(one));
  EXPECT_EQ(configured(diff(twice, turns(1, 4)), "Paired"), "0");
  EXPECT_NE(configured(diff(twice, turns(1, 4)), "Note").find("turn 3 occurs twice before"), std::string::npos);
  EXPECT_EQ(diff(runs(100, 4), runs(100, 4)).json().find("Note"), std::string::npos);
  EXPECT_EQ(configured(diff(turns(1, 4), runs(100, 4)), "Paired"), "0");
  opd_diff_options options = defaults();
  options.is_paired = 1;
  Report out;
  expect_error(try_diff(runs(100, 4), runs(100, 5), out, &options), OPD_INVALID_ARGUMENT, "4 before and 5 after");
  EXPECT_EQ(configured(diff(turns(1, 4), turns(1, 5), &options), "Paired"), "1") << "the turns tell the pairs";
}

TEST(Diff, SaysWhyTurnsAreNoPairs) {
  const std::string begin = "The runs are not compared as pairs, though they have turns: ";
  std::vector<Report> some = turns(1, 3);
  some.push_back(report(call("f", 100)));
  EXPECT_EQ(configured(diff(some, turns(1, 4)), "Note"), begin + "run 3 before has no turn.");
  EXPECT_EQ(configured(diff(turns(1, 4), some), "Note"), begin + "run 3 after has no turn.");
  const auto turn = [](const char *cell) { return list(report(call("f", 100, std::string(",\"Turn\":") + cell))); };
  EXPECT_EQ(configured(diff(turn("{\"count\":4}"), turn("{\"count\":5}")), "Note"),
            begin + "no turn occurs both before and after.");
  EXPECT_EQ(configured(diff(turn("{\"count\":0}"), turn("{\"count\":0}")), "Paired"), "1");
  for (const char *no_turn : {"{\"count\":-1}", "{\"ratio\":4}", "{\"string\":\"4\"}"})
    EXPECT_EQ(configured(diff(turn(no_turn), turn(no_turn)), "Paired"), "0") << no_turn;
  auto three = turns(1, 3);
  EXPECT_EQ(Row(diff(three, turns(1, 5))).number("Runs After"), 5) << "those without a partner count elsewhere";
}

TEST(Diff, NamesTheReportThatItCannotUse) {
  Report out;
  const auto bad = [](const char *cell) {
    return report("{\"Name\":{\"string\":\"g\"}}," + call("f", 1).substr(0, 23) + "\"Duration (us)\":" + cell + "}");
  };
  for (const char *cell : {"{\"microseconds\":-0.5}", "{\"string\":\"long\"}"})
    expect_error(try_diff(list(report(call("f", 1)), bad(cell)), runs(1, 2), out), OPD_INVALID_ARGUMENT,
                 "row 1 of report 1 of those before has a \"Duration (us)\" that is not a number from 0");
  expect_error(try_diff(runs(1, 2), list(report(call("f", 1)), report("{\"Name\":{\"string\":\"f\"}}")), out),
               OPD_NOT_FOUND, "report 1 of those after has no column \"Duration (us)\"");
  EXPECT_EQ(Row(diff(list(bad("{\"microseconds\":0}")), list(bad("{\"microseconds\":0}")))).number("Before (us)"), 0);
}

// Numbers at the end of their range: a diff of these never ended.
TEST(Diff, ValuesWithoutAFiniteSumAreCompared) {
  const auto huge = [](int rows) {
    std::vector<Report> reports;
    for (int run = 0; run < 5; ++run) {
      std::string calls;
      for (int i = 0; i < rows; ++i)
        calls +=
            (i ? "," : "") + std::string(R"json({"Name":{"string":"f"},"Duration (us)":{"microseconds":1e308}})json");
      reports.push_back(report(calls + "," + call("g", 1)));
    }
    return reports;
  };
  const Report made = diff(huge(1), huge(3));
  EXPECT_EQ(Row(made).verdict(), "regression");
  EXPECT_NEAR(Row(made).number("Change"), 1.7976931348623157 - 1, 1e-9) << "the largest number there is";
  const double seconds[] = {1e308, 1e308}, few[] = {1, 1};
  Handle<opd_benchmark> a, b;
  check(opd_benchmark_create(seconds, 2, a.out()));
  check(opd_benchmark_create(few, 2, b.out()));
  Report of_benchmarks;
  check(opd_benchmark_diff(a.get(), b.get(), nullptr, of_benchmarks.out()));
}

TEST(Diff, RefusesBadReportsAndOptions) {
  Report out;
  expect_error(try_diff({}, runs(1, 2), out), OPD_INVALID_ARGUMENT, "at least one report is expected before");
  expect_error(try_diff(runs(1, 2), list(report(call("f", -1))), out), OPD_INVALID_ARGUMENT,
               "row 0 of report 0 of those after has a \"Duration (us)\" that is not a number from 0");
  expect_error(try_diff(runs(1, 2), list(Report("{\"calls\":[{\"Name\":{\"string\":\"f\"}}]}")), out), OPD_NOT_FOUND,
               "no column \"Duration (us)\"");
  const auto refuses = [&](const char *what, auto set) {
    opd_diff_options options = defaults();
    set(options);
    expect_error(try_diff(runs(1, 2), runs(1, 2), out, &options), OPD_INVALID_ARGUMENT, what);
  };
  refuses("option level is 2", [](auto &options) { options.level = 2; });
  refuses("option min_share is -1", [](auto &options) { options.min_share = -1; });
  refuses("option fail_above is", [](auto &options) { options.fail_above = NAN; });
  refuses("option is_paired is 2", [](auto &options) { options.is_paired = 2; });
}
