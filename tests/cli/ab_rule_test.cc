// How often `opdyno ab` errs although it may stop at every look, by simulation without a clock. Seeds are fixed.
#include "cli/ab/ab_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "diff_report.h"
#include "support/noise.h"

namespace opd::cli {
namespace {

#if defined(OPDYNO_ADDRESS_SANITIZER) || defined(OPDYNO_THREAD_SANITIZER) || !defined(NDEBUG)
constexpr int kContests = 40;
#else
constexpr int kContests = 400;
#endif

struct Setting {
  double noise = 0.02, autocorrelation = 0, drift = 0;  // drift: of both sides alike, per turn
  double slower = 0;                                    // B
  int64_t most_turns = 160;
};

// The turns of a contest: two operators, of which one takes three quarters of the time.
class Turns {
 public:
  Turns(const Setting &setting, Noise &noise) : setting_(setting), noise_(noise) {
    for (double &state : states_) state = noise_.normal();
  }
  std::vector<Report> report(int side, int64_t turns) {
    while (static_cast<int64_t>(values_[0].size()) < turns) step();
    const opdyno::ReportBuilder builder;
    for (int64_t turn = 0; turn < turns; ++turn)
      for (int which = 0; which < 2; ++which) {
        builder.add_call();
        builder.set_call("Name", OPD_METRIC_STRING, opdyno::arg(which ? "small" : "large"));
        builder.set_call("Duration (us)", OPD_METRIC_DURATION,
                         opdyno::arg(values_[side * 2 + which][static_cast<size_t>(turn)]));
        builder.set_call("Run", OPD_METRIC_COUNT, opdyno::arg(turn));
        builder.set_call("Turn", OPD_METRIC_COUNT, opdyno::arg(turn));
      }
    std::vector<Report> all;
    all.push_back(builder.finish());
    return all;
  }

 private:
  void step() {
    const double phi = setting_.autocorrelation;
    const double drift = std::exp(setting_.drift * static_cast<double>(values_[0].size()));
    for (int i = 0; i < 4; ++i) {
      states_[i] = phi * states_[i] + std::sqrt(1 - phi * phi) * noise_.normal();
      values_[i].push_back((i % 2 ? 25 : 75) * (i < 2 ? 1 : 1 + setting_.slower) * drift *
                           std::exp(setting_.noise * states_[i]));
    }
  }
  const Setting &setting_;
  Noise &noise_;
  double states_[4];
  std::vector<double> values_[4];  // A's large and small one, B's
};

struct Rates {
  double wrong = 0, faster = 0, slower = 0, turns = 0;  // contests with a change in any row; mean number of turns
};

Rates simulate(const char *name, const Setting &setting) {
  Noise noise(20261122);
  opd_diff_options options;
  opd_diff_options_init(&options);
  options.min_effect = 0.001;
  Rates rates;
  for (int i = 0; i < kContests; ++i) {
    Turns turns(setting, noise);
    AbRule rule(options);
    bool is_changed = false;
    for (bool is_last = false; !is_last;) {
      const int64_t count = std::min(rule.next_look(), setting.most_turns);
      const opd_diff_options look = rule.start_look();
      const DiffView diff(Report::diff(turns.report(0, count), turns.report(1, count), &look), look);
      // Who stops at the first change of any row errs most.
      for (const DiffRow &row : diff.rows()) is_changed |= row.is_changed();
      is_last = is_changed || rule.is_clear(diff) || count == setting.most_turns;
      if (!is_last) continue;
      rates.turns += static_cast<double>(count);
      rates.slower += diff.total().verdict == "regression";
      rates.faster += diff.total().verdict == "improvement";
    }
    rates.wrong += is_changed;
  }
  for (double *rate : {&rates.wrong, &rates.faster, &rates.slower, &rates.turns}) *rate /= kContests;
  std::printf("  %-20s any change %.3f, faster %.3f, slower %.3f, %.0f turns\n", name, rates.wrong, rates.faster,
              rates.slower, rates.turns);
  return rates;
}

const double kMargin = 2 * std::sqrt(0.05 * 0.95 / kContests);  // two standard errors of 5 % seen in so many contests

TEST(AbRule, RarelyFindsEqualProgramsDifferent) {
  EXPECT_LE(simulate("independent", {}).wrong, 0.05 + kMargin);
  EXPECT_LE(simulate("autocorrelation 0.5", {.autocorrelation = 0.5}).wrong, 0.05 + kMargin);
  EXPECT_LE(simulate("drift", {.drift = 0.01}).wrong, 0.05 + kMargin) << "pairs do not see what both have in common";
}

TEST(AbRule, ADifferenceIsFoundAndALargeOneSoon) {
  const Rates large = simulate("10 % slower", {.slower = 0.1}), small = simulate("2 % slower", {.slower = 0.02});
  EXPECT_GE(large.slower, 0.97);
  EXPECT_LE(large.turns, 25);
  EXPECT_GE(small.slower, 0.9);
  EXPECT_GT(small.turns, large.turns);
}

TEST(AbRule, LooksDoubleTheTurnsAndShareTheLevel) {
  opd_diff_options options;
  opd_diff_options_init(&options);
  AbRule rule(options);
  double spent = 0;
  for (const int64_t turns : {10, 20, 40, 80, 160}) {
    EXPECT_EQ(rule.next_look(), turns);
    const opd_diff_options look = rule.start_look();
    EXPECT_NEAR(1 - look.confidence, look.level, 1e-12);
    spent += look.level;
  }
  EXPECT_NEAR(spent, 0.05 * (1 - 1.0 / 32), 1e-12);
}

// Reports of 40 turns with these operators and their times, which vary by one part in a thousand.
std::vector<Report> measured(const std::vector<std::pair<const char *, double>> &operators, int64_t turns = 40) {
  const opdyno::ReportBuilder builder;
  for (int64_t turn = 0; turn < turns; ++turn)
    for (size_t i = 0; i < operators.size(); ++i) {
      const double noise = static_cast<double>((turn * 7 + static_cast<int64_t>(i) * 3) % 11 - 5) / 10'000;
      builder.add_call();
      builder.set_call("Name", OPD_METRIC_STRING, opdyno::arg(operators[i].first));
      builder.set_call("Duration (us)", OPD_METRIC_DURATION, opdyno::arg(operators[i].second * (1 + noise)));
      builder.set_call("Run", OPD_METRIC_COUNT, opdyno::arg(turn));
      builder.set_call("Turn", OPD_METRIC_COUNT, opdyno::arg(turn));
    }
  std::vector<Report> all;
  all.push_back(builder.finish());
  return all;
}
std::string sentence(const std::vector<Report> &before, const std::vector<Report> &after, double fail_above = -1) {
  opd_diff_options options;
  opd_diff_options_init(&options);
  options.min_effect = 0.001;
  options.fail_above = fail_above;
  return ab_sentence(DiffView(Report::diff(before, after, &options), options), options);
}

TEST(AbSentence, SaysThatNothingGotSlowerOnlyIfNothingDid) {
  const auto same = measured({{"a", 60}, {"b", 40}});
  EXPECT_EQ(sentence(same, same), "B takes as long as A (0.0 % ± 0.0 %); nothing got slower");
  EXPECT_EQ(sentence(same, measured({{"a", 30}, {"b", 40}})),
            "B is 30.0 % ± 0.0 % faster; a -50 %; nothing got slower");
  EXPECT_EQ(sentence(same, measured({{"a", 60}, {"b", 50}})), "B is 10.0 % ± 0.0 % slower; b +25 %");
  EXPECT_EQ(sentence(same, measured({{"a", 45}, {"b", 50}})), "B is 5.0 % ± 0.0 % faster; a -25 %; b +25 %");
}

TEST(AbSentence, NamesTheThreeLargestChangesAndCountsTheOthers) {
  const auto before = measured({{"a", 50}, {"b", 20}, {"c", 15}, {"d", 10}, {"e", 5}});
  EXPECT_EQ(sentence(before, measured({{"a", 100}, {"b", 30}, {"c", 19}, {"d", 11}, {"e", 4.5}})),
            "B is 64.5 % ± 0.0 % slower; a +100 %; b +50 %; c +27 %; 2 more changed");
  EXPECT_EQ(sentence(before, measured({{"a", 100}, {"b", 30}, {"c", 19}, {"d", 10}, {"e", 5}})),
            "B is 64.0 % ± 0.0 % slower; a +100 %; b +50 %; c +27 %");
  EXPECT_EQ(sentence(before, measured({{"a", 50}, {"b", 20}, {"c", 15}, {"d", 10}})),
            "B is 5.0 % ± 0.0 % faster; e is gone (-5.0 %); nothing got slower");
  EXPECT_EQ(sentence(measured({{"a", 95}}), measured({{"a", 95}, {"e", 19}})),
            "B is 20.0 % ± 0.0 % slower; e is new (+20 % of the total)");
}

TEST(AbSentence, StatesThatAResultIsUndecided) {
  const auto one = measured({{"a", 60}, {"b", 40}}, 1);
  EXPECT_EQ(sentence(one, measured({{"a", 61}, {"b", 40}}, 1)),
            "too few runs to tell which is faster; 2 operators undecided");
  // Of ten pairs, five are 10 % slower and five 10 % faster, so the interval lies on both sides of 0.
  const opdyno::ReportBuilder builder;
  for (int64_t turn = 0; turn < 10; ++turn) {
    builder.add_call();
    builder.set_call("Name", OPD_METRIC_STRING, opdyno::arg("a"));
    builder.set_call("Duration (us)", OPD_METRIC_DURATION, opdyno::arg(turn % 2 ? 110.0 : 100 / 1.1));
    builder.set_call("Run", OPD_METRIC_COUNT, opdyno::arg(turn));
    builder.set_call("Turn", OPD_METRIC_COUNT, opdyno::arg(turn));
  }
  std::vector<Report> wavers, steady;
  wavers.push_back(builder.finish());
  const opdyno::ReportBuilder even;
  for (int64_t turn = 0; turn < 10; ++turn) {
    even.add_call();
    even.set_call("Name", OPD_METRIC_STRING, opdyno::arg("a"));
    even.set_call("Duration (us)", OPD_METRIC_DURATION, opdyno::arg(100.0));
    even.set_call("Run", OPD_METRIC_COUNT, opdyno::arg(turn));
    even.set_call("Turn", OPD_METRIC_COUNT, opdyno::arg(turn));
  }
  steady.push_back(even.finish());
  EXPECT_EQ(sentence(steady, wavers), "undecided: B takes 9.1 % less to 10.0 % more time than A");
  const std::vector<Report> none = measured({}), some = measured({{"f", 10}});
  EXPECT_EQ(sentence(none, none), "nothing to compare: both sides have no runs in which an operator ran");
  EXPECT_EQ(sentence(none, some), "nothing to compare: the first side has no runs in which an operator ran");
  EXPECT_EQ(sentence(some, none), "nothing to compare: the second side has no runs in which an operator ran");
}

// min_effect is 2 %.
TEST(AbRule, IsClearOnceNoOpenRowCanChangeTheTotalByMoreThanTheEffect) {
  opd_diff_options options;
  opd_diff_options_init(&options);
  options.min_effect = 0.02;
  const AbRule rule(options);
  const auto is_clear = [&](const char *verdict, bool decides, double low, double high, double share) {
    DiffReport report;
    report.row("f", "operator", verdict,
               {{"Decides", decides}, {"Change Low", low}, {"Change High", high}, {"Share", share}});
    return rule.is_clear(report.view());
  };
  EXPECT_TRUE(is_clear("undecided", true, -0.0625, 0.03125, 0.25)) << "1/64 is less than 2 %";
  EXPECT_FALSE(is_clear("undecided", true, -0.0625, 0.125, 0.25));
  EXPECT_FALSE(is_clear("undecided", true, -0.125, 0.0625, 0.25)) << "it may be faster by that much, too";
  EXPECT_TRUE(is_clear("undecided", true, -0.01, 0.02, 1)) << "exactly the effect";
  EXPECT_FALSE(is_clear("undecided", true, NAN, NAN, 0.001)) << "without an interval all is possible";
  EXPECT_TRUE(is_clear("undecided", false, NAN, NAN, 1)) << "a row that decides nothing";
  EXPECT_TRUE(is_clear("regression", true, 1, 2, 1));
}

TEST(AbSentence, LeavesOutSmallChangesAndNestedFunctions) {
  opd_diff_options options;
  opd_diff_options_init(&options);
  options.min_effect = 0.02;
  options.min_share = 0.125;
  DiffReport report;
  const auto row = [&](const char *name, const char *kind, const char *verdict, double change, double share,
                       double high = 0) {
    report.row(
        name, kind, verdict,
        {{"Change", change}, {"Effect", change}, {"Share", share}, {"Change Low", -0.25}, {"Change High", high}});
  };
  row("(total)", "total", "same", 0.004, 1, 0.5);
  row("small", "operator", "regression", 9, 0.1249);
  row("at_the_share", "operator", "improvement", -0.0994, 0.125);
  row("(replaced)", "replaced", "improvement", -0.5, 0.5);
  row("rounded", "operator", "improvement", -0.0996, 0.5);
  row("may_be_slower", "operator", "undecided", 0.01, 0.5, 0.0201);
  row("no_slower_than_the_limit", "operator", "undecided", 0.01, 0.5, 0.02);
  EXPECT_EQ(ab_sentence(report.view(), options),
            "B takes as long as A (0.4 % ± 37.5 %); at_the_share -9.9 %; rounded -10 %; 1 operator undecided");
  options.fail_above = 0.0201;
  EXPECT_EQ(ab_sentence(report.view(), options),
            "B takes as long as A (0.4 % ± 37.5 %); at_the_share -9.9 %; rounded -10 %; nothing got slower");
}

TEST(AbSentence, SpeaksOfTheProgramIfThereIsOnlyOneRow) {
  opd_diff_options options;
  opd_diff_options_init(&options);
  const auto sentence_of = [&](const char *verdict, double change, double low, double high) {
    DiffReport report;
    report.row("f", "operator", verdict,
               {{"Change", change}, {"Change Low", low}, {"Change High", high}, {"Share", 1}});
    return ab_sentence(report.view(), options);
  };
  EXPECT_EQ(sentence_of("regression", 0.125, 0.0625, 0.1875), "B is 12.5 % ± 6.2 % slower");
  EXPECT_EQ(sentence_of("improvement", -0.125, -0.1875, -0.0625), "B is 12.5 % ± 6.2 % faster; nothing got slower");
  // An interval that is wider than twice the change, but does not hold 0.
  EXPECT_EQ(sentence_of("regression", 0.125, 0.0625, 0.375), "B is 6.2 % to 37.5 % slower");
  EXPECT_EQ(sentence_of("improvement", -0.125, -0.375, -0.0625), "B is 6.2 % to 37.5 % faster; nothing got slower");
  EXPECT_EQ(sentence_of("undecided", 0, -0.125, 0.25), "undecided: B takes 12.5 % less to 25.0 % more time than A");
  EXPECT_EQ(sentence_of("undecided", 0, 0, 0.25), "undecided: B takes 0.0 % more to 25.0 % more time than A");
}

}  // namespace
}  // namespace opd::cli
