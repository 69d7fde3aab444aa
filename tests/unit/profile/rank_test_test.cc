// The statistics of a diff against SciPy 1.17.1's: what each number is there stands beside it.
#include "profile/rank_test.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace opd {
namespace {

const std::vector<double> kBefore{10.2, 11.5, 9.8, 10.9, 12.1, 10.4, 10.0}, kAfter{11.9, 12.8, 10.6, 13.1, 12.4, 11.2};

std::vector<double> scattered(size_t count, size_t factor, size_t start, size_t modulus, double shift) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<double>((i * factor + start) % modulus) + shift);
  return values;
}

TEST(RankTest, GivesTheExactProbabilityOfSmallSamples) {  // mannwhitneyu(after, before, method="exact")
  EXPECT_NEAR(RankTest(kBefore, kAfter).p_value(), 0.03496503496503496, 1e-15);
  EXPECT_NEAR(RankTest(kAfter, kBefore).p_value(), 0.03496503496503496, 1e-15);
  EXPECT_NEAR(
      RankTest(scattered(100, 37, 0, 1009, 0), scattered(100, 53, 7, 1013, 150.5)).p_value() / 9.503340840972273e-05, 1,
      1e-9);
}

TEST(RankTest, ApproximatesForLargeSamples) {  // method="asymptotic"
  EXPECT_NEAR(
      RankTest(scattered(120, 37, 0, 1009, 0), scattered(110, 53, 7, 1013, 150.5)).p_value() / 7.351224850157451e-05, 1,
      1e-10);
  EXPECT_NEAR(RankTest(scattered(120, 37, 0, 10, 0), scattered(110, 53, 7, 10, 1)).p_value(), 0.01248075836495046,
              1e-12)
      << "with ties";
}

// Twice the share of all ways to choose the second sample whose ranks have a sum as small as its own, or as large.
double by_all_ways(const std::vector<double> &before, const std::vector<double> &after) {
  std::vector<double> all(before);
  all.insert(all.end(), after.begin(), after.end());
  const auto place = [&](double value) {  // smaller ones, and half of the equal ones
    double sum = 0;
    for (const double other : all) sum += other < value ? 1 : other == value ? 0.5 : 0;
    return sum;
  };
  double own = 0;
  for (const double value : after) own += place(value);
  int ways = 0, below = 0, above = 0;
  for (uint32_t chosen = 0; chosen < 1u << all.size(); ++chosen) {
    if (static_cast<size_t>(std::popcount(chosen)) != after.size()) continue;
    double sum = 0;
    for (size_t i = 0; i < all.size(); ++i)
      if (chosen >> i & 1) sum += place(all[i]);
    ++ways, below += sum <= own, above += sum >= own;
  }
  return std::min(1.0, 2.0 * std::min(below, above) / ways);
}

TEST(RankTest, IsExactWithTies) {
  using Sample = std::vector<double>;
  const std::pair<Sample, Sample> cases[] = {{{1, 2, 2, 3, 4, 4, 5}, {3, 4, 4, 6, 7, 8}},
                                             {Sample(10, 1.0), {1, 2}},
                                             {{2}, Sample(15, 1.0)},
                                             {{1, 1, 1, 2, 2}, {1, 2, 2, 2, 2, 2, 2}},
                                             {Sample(4, 1.0), Sample(6, 1.0)}};
  for (const auto &[before, after] : cases) {
    EXPECT_NEAR(RankTest(before, after).p_value(), by_all_ways(before, after), 1e-12);
    EXPECT_NEAR(RankTest(after, before).p_value(), by_all_ways(after, before), 1e-12);
  }
  EXPECT_NEAR(RankTest(Sample(100, 1.0), Sample{2}).p_value(), 2 / 101.0, 1e-12) << "one of 101 is the odd one";
}

// The median of all 42 differences, and the 7th from each end: of the 1716 ways to rank 6 of 13 values, 2 * 37 give a U
// of 6 or less (4.3 %), 2 * 50 one of 7 or less (5.8 %); numpy.median and itertools.combinations.
TEST(RankTest, GivesShiftAndInterval) {
  const RankTest test(kBefore, kAfter);
  EXPECT_NEAR(test.shift(), 1.35, 1e-12);
  EXPECT_NEAR(test.interval(0.95).low, 0.2, 1e-12);
  EXPECT_NEAR(test.interval(0.95).high, 2.6, 1e-12);
}

TEST(RankTest, HasNoIntervalWhereThreeRunsMeetThree) {  // 2 of 20 orders are the most extreme: 10 %
  const std::vector<double> low{1, 2, 3}, high{11, 12, 13};
  const RankTest test(low, high);
  EXPECT_DOUBLE_EQ(test.p_value(), 0.1);
  EXPECT_DOUBLE_EQ(least_p_value(3, 3), 0.1);
  EXPECT_DOUBLE_EQ(least_p_value(1, 1), 1);
  EXPECT_DOUBLE_EQ(least_p_value(10, 10), 2 / 184756.0);
  EXPECT_TRUE(std::isinf(test.interval(0.95).low) && std::isinf(test.interval(0.95).high));
  EXPECT_DOUBLE_EQ(test.interval(0.9).low, 8) << "11 - 3";
  EXPECT_DOUBLE_EQ(test.interval(0.9).high, 12) << "13 - 1";
}

TEST(RankTest, TakesEqualValuesForNoDifference) {
  const std::vector<double> same(20, 3.5);
  const RankTest test(same, same);
  EXPECT_EQ(test.p_value(), 1);
  EXPECT_EQ(test.shift(), 0);
  EXPECT_EQ(test.interval(0.95).low, 0);
  EXPECT_EQ(test.interval(0.95).high, 0);
}

TEST(RankTest, KnowsTheTailsOfTheNormalAndStudentDistributions) {
  EXPECT_NEAR(normal_tail(0.5), 0.3085375387259869, 1e-15);  // norm.sf
  EXPECT_NEAR(normal_tail(8) / 6.22096057427174e-16, 1, 1e-12);
  for (const auto &[tail, z] : {std::pair{0.3, 0.5244005127080409},
                                {0.025, 1.9599639845400545},  // norm.isf
                                {1e-3, 3.090232306167813},
                                {1e-12, 7.034483825301131},
                                {1e-200, 30.20559417957964},
                                {0.9, -1.2815515655446004}})
    EXPECT_NEAR(normal_quantile(tail), z, 1e-12 * std::abs(z)) << tail;
  EXPECT_NEAR(student_tails(1, 3), 0.3910022189557705, 1e-14);  // 2 t.sf
  EXPECT_NEAR(student_tails(2.5, 4.5), 0.059905686502200545, 1e-14);
  EXPECT_NEAR(student_tails(6, 30) / 1.3942768767204764e-06, 1, 1e-11);
  EXPECT_NEAR(student_tails(0.1, 100), 0.9205445310958512, 1e-13);
  EXPECT_NEAR(student_tails(40, 12) / 3.851229580772032e-14, 1, 1e-10);
}

// Ranks 1 3 2 5 4 6 8 7 less 4.5: products of neighbours 5.25 3.75 -1.25 -0.25 -0.75 5.25 8.75, squares 42.
TEST(RankTest, SeesThatNeighboursInTimeResembleEachOther) {
  EXPECT_NEAR(lag1_autocorrelation(std::vector<double>{1, 30, 2.5, 50, 49, 60, 900, 70}), 20.75 / 42, 1e-15);
  EXPECT_EQ(lag1_autocorrelation(std::vector<double>{2, 2, 2}), 0);
}

// 10 + 10 runs at 0.5: (1.5 / 0.5) - (2 * 0.5 * (1 - 2^-10)) / (10 * 0.25) = 2.6004 times the variance.
TEST(RankTest, BelievesLessWhereRunsResembleTheirNeighbours) {
  RankTest test(scattered(10, 7, 0, 11, 0), scattered(10, 7, 3, 11, 4.5));
  const double alone = test.p_value();
  test.believe(0.5);
  const double inflation = 3 - (1 - 1.0 / 1024) / 2.5;
  EXPECT_NEAR(test.p_value(), student_tails(normal_quantile(alone / 2) / std::sqrt(inflation), 20 / inflation - 2),
              1e-12);
  test.believe(0.9);
  EXPECT_EQ(test.p_value(), 1) << "less than three degrees of freedom are left";
}

// 2 of 184756 orders are as extreme, however much the samples drift: each keeps within 0.1, and 0.8 lies between them.
TEST(RankTest, SeesADistanceThatNoDriftExplains) {
  std::vector<double> low, near, far;
  for (int i = 0; i < 10; ++i)
    low.push_back(1 + 0.01 * i), near.push_back(1.1 + 0.01 * i), far.push_back(1.9 + 0.01 * i);
  RankTest apart(low, far), close(low, near);
  apart.believe(0.9), close.believe(0.9);
  EXPECT_DOUBLE_EQ(apart.p_value(), 2 / 184756.0);
  EXPECT_EQ(close.p_value(), 1);
}

}  // namespace
}  // namespace opd

TEST(RankTest, ValuesThatBelongTogetherCountLess) {
  // Ranks (1, 2), (4, 3), (8, 5), (6, 7), of means 1.5, 3.5, 6.5, 6.5 around 4.5: between the groups 2 (9 + 1 + 4 + 4)
  // / 3 = 12, within (0.5 + 0.5 + 4.5 + 0.5) / 4 = 1.5, so 2 * 12 / (12 + 1.5).
  EXPECT_NEAR(opd::inflation_by_groups(std::vector<double>{10, 20, 40, 30, 800, 50, 60, 70}, 2), 24 / 13.5, 1e-12);
  EXPECT_NEAR(opd::inflation_by_groups(std::vector<double>{1, 1, 1, 2, 2, 2, 9, 9, 9}, 3), 3, 1e-12)
      << "as good as one each";
  EXPECT_EQ(opd::inflation_by_groups(std::vector<double>{1, 9, 2, 8, 3, 7, 4, 6}, 2), 1) << "no group is like its own";
  EXPECT_EQ(opd::inflation_by_groups(std::vector<double>{1, 2, 3}, 1), 1);
  EXPECT_EQ(opd::inflation_by_groups(std::vector<double>{1, 2, 3}, 3), 1);
  EXPECT_EQ(opd::inflation_by_groups(std::vector<double>{5, 5, 5, 5}, 2), 1);
}
