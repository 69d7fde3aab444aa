// stats/steady_rule.h on series whose end of warm-up is known.
#include "stats/steady_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

using namespace opd;

namespace {

constexpr int kNever = -1;

// The number of values after which the rule holds the series for steady.
int steady_after(const std::function<double(int)> &value, int most = 1000) {
  SteadyRule rule;
  for (int i = 0; i < most; ++i)
    if (rule.add(value(i))) return i + 1;
  return kNever;
}

}  // namespace

TEST(SteadyRule, EqualTimesAreSteadyAfterTwoWindows) {
  EXPECT_EQ(steady_after([](int) { return 1e-3; }), 20);
  EXPECT_EQ(steady_after([](int) { return 0.0; }), 20) << "a clock that reads 0";
}

TEST(SteadyRule, AStepIsWaitedFor) {
  EXPECT_EQ(steady_after([](int i) { return i < 10 ? 3.0 : 1.0; }), 30);
  EXPECT_EQ(steady_after([](int i) { return i < 15 ? 3.0 : 1.0; }), 40)
      << "the second window is like neither neighbour";
  EXPECT_EQ(steady_after([](int i) { return i < 1 ? 100.0 : 1.0; }), 20) << "one slow call decides nothing";
}

TEST(SteadyRule, AFallIsWaitedForUntilItIsBelowOnePercent) {
  // 1 + exp(-i / 15) falls between the medians of windows from i on by about exp(-(i + 5) / 15) (1 - exp(-10 / 15)) =
  // 0.487 exp(-(i + 5) / 15): below 0.01 from i = 54 on, so the windows from 60 and 70 on are the first.
  EXPECT_EQ(steady_after([](int i) { return 1 + std::exp(-i / 15.0); }), 80);
}

TEST(SteadyRule, DriftThatNeverEndsIsNeverSteady) {
  EXPECT_EQ(steady_after([](int i) { return std::exp(-0.005 * i); }), kNever) << "5 % from window to window";
  EXPECT_EQ(steady_after([](int i) { return std::exp(0.005 * i); }), kNever) << "rising is not steady, either";
  EXPECT_EQ(steady_after([](int i) { return std::exp(-0.0005 * i); }), 20) << "0.5 % is within the tolerance";
}

TEST(SteadyRule, NoiseAloneIsSteadySoon) {
  // Two samples of ten are told apart in 4.3 % of cases: 2 P(U <= 23) of scipy.stats.mannwhitneyu's exact distribution.
  // So of 1000 series 957 are steady after two windows, with a standard deviation of 6.4.
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> noise(0, 0.3);
  int first = 0, late = 0;
  for (int series = 0; series < 1000; ++series) {
    const int after = steady_after([&](int) { return noise(random); }, 100);
    first += after == 20;
    late += after == kNever || after > 50;
  }
  EXPECT_GE(first, 930);
  EXPECT_LE(first, 985) << "a rule that always agrees tests nothing";
  EXPECT_LE(late, 5);
}

TEST(SteadyRule, TwoModesAndOutliersAreSteady) {
  EXPECT_EQ(steady_after([](int i) { return i % 2 ? 2.0 : 1.0; }), 20);
  EXPECT_EQ(steady_after([](int i) { return i % 7 == 3 ? 50.0 : 1.0; }), 20);
}

TEST(SteadyRule, AFallIsDetectedInNoise) {
  // From 2 to 1 within 50 values, 2 % noise: windows differ by 10 % or more until the fall has ended.
  std::mt19937_64 random(2);
  std::normal_distribution<double> noise(0, 0.02);
  for (int series = 0; series < 100; ++series)
    EXPECT_GE(steady_after([&](int i) { return (1 + std::max(0.0, 1 - i / 50.0)) * std::exp(noise(random)); }), 70);
}

TEST(SteadyRule, ARestartForgets) {
  SteadyRule rule;
  for (int i = 0; i < 19; ++i) EXPECT_FALSE(rule.add(1));
  rule.restart();
  for (int i = 0; i < 19; ++i) EXPECT_FALSE(rule.add(1));
  EXPECT_TRUE(rule.add(1));
}
