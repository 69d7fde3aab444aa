// The statistics of a diff against SciPy 1.17.1's: what each number is there stands beside it.
#include "stats/mann_whitney.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(RankTest, FindsNoDifferenceInEqualValues) {
  const std::vector<double> same(20, 3.5);
  const RankTest test(same, same);
  EXPECT_EQ(test.p_value(), 1);
  EXPECT_EQ(test.shift(), 0);
  EXPECT_EQ(test.interval(0.95).low, 0);
  EXPECT_EQ(test.interval(0.95).high, 0);
}

TEST(RankTest, HasTheTailsOfTheNormalAndStudentDistributions) {
  EXPECT_NEAR(normal_tail(0.5), 0.3085375387259869, 1e-15);  // norm.sf
  EXPECT_NEAR(normal_tail(8) / 6.22096057427174e-16, 1, 1e-12);
  for (const auto &[tail, z] : {std::pair{0.3, 0.5244005127080409},
                                {0.025, 1.9599639845400545},  // norm.isf
                                {1e-3, 3.090232306167813},
                                {1e-12, 7.034483825301131},
                                {1e-200, 30.20559417957964},
                                {0.9, -1.2815515655446004}})
    EXPECT_NEAR(normal_quantile(tail), z, 1e-12 * std::abs(z)) << tail;
  const auto error = [](double t, double freedom, double p) { return std::abs(student_tails(t, freedom) / p - 1); };
  EXPECT_LT(error(1, 3, 0.3910022189557705), 0.01);  // 2 t.sf
  EXPECT_LT(error(2.5, 4.5, 0.059905686502200545), 0.02);
  EXPECT_LT(error(2.1, 12, 0.05752975968325416), 0.01);
  EXPECT_LT(error(6, 30, 1.3942768767204764e-06), 0.03);
  EXPECT_LT(error(0.1, 100, 0.9205445310958512), 0.001);
}

// REML and generalised least squares in closed form for three values of an AR(1) process with phi = 0.5: the mean is
// (0.75 y0 + 0.5 (y1 - y0 / 2) + 0.5 (y2 - y1 / 2)) / (0.75 + 2 * 0.25), the t-test has two degrees of freedom.
TEST(RankTest, TestsRunsThatResembleTheirNeighboursByTheirModel) {
  const std::vector<double> differences{1, 4, 2};
  const double mean = (0.75 * 1 + 0.5 * 3.5 + 0.5 * 0) / 1.25;
  const double a = 1 - mean, b = 4 - mean - a / 2, c = 2 - mean - (4 - mean) / 2;
  const double squares = 0.75 * a * a + b * b + c * c;
  const SerialFit fit(differences);
  EXPECT_EQ(AutocorrelationGrid::kPhi[5], 0.5);
  EXPECT_NEAR(fit.p_value(5, 0), student_tails(mean / std::sqrt(squares / 2 / 1.25), 2), 1e-12);
  EXPECT_NEAR(fit.p_value(5, mean), 1, 1e-12);
}

TEST(RankTest, IsLessSignificantIfRunsAreAutocorrelated) {
  std::vector<double> low, high;  // each side drifts as far as the two differ
  for (int i = 0; i < 20; ++i) low.push_back(0.1 * i), high.push_back(0.1 * i + 1);
  RankTest drifting(low, high);
  const double alone = drifting.p_value();
  EXPECT_LT(alone, 0.01);
  drifting.weigh(drifting.posterior(AutocorrelationGrid::kPrior));
  EXPECT_GT(mean_phi(drifting.weights()), 0.8);
  EXPECT_GT(drifting.p_value(), 0.05);
  EXPECT_LT(drifting.interval(0.95).low, 0);
  RankTest mixed(scattered(20, 7, 0, 23, 0), scattered(20, 7, 3, 23, 9.5));
  const double before = mixed.p_value();
  mixed.weigh(mixed.posterior(AutocorrelationGrid::kPrior));
  EXPECT_LT(mean_phi(mixed.weights()), 0.05);
  EXPECT_GE(mixed.p_value(), before);
  EXPECT_NEAR(mixed.p_value(), before, 0.002);
}

TEST(RankTest, TheIntervalHoldsTheShiftsThatAreNotRejected) {
  std::vector<double> low = scattered(9, 5, 0, 11, 0), high = scattered(8, 5, 3, 11, 4.25);
  RankTest test(low, high);
  test.weigh(test.posterior(AutocorrelationGrid::kPrior));
  const RankTest::Interval all = test.interval(0.95);
  const auto p_of_shift = [&](double shift) {
    std::vector<double> moved;
    for (const double value : high) moved.push_back(value - shift);
    RankTest other(low, moved);
    other.weigh(other.posterior(AutocorrelationGrid::kPrior));
    return other.p_value();
  };
  EXPECT_GT(p_of_shift(all.low + 0.01), 0.05);
  EXPECT_LE(p_of_shift(all.low - 0.01), 0.05);
  EXPECT_GT(p_of_shift(all.high - 0.01), 0.05);
  EXPECT_LE(p_of_shift(all.high + 0.01), 0.05);
}

// wilcoxon(d, method="exact") of SciPy: 2 * 7 of 2^8 choices of signs give a sum of negative ranks of 4 or less.
TEST(RankTest, ComparesPairsBySignedRanks) {
  const std::vector<double> differences{3, -1, 4, 1.5, 5, 9, 2.6, -2};
  const RankTest test = RankTest::of_pairs(differences);
  EXPECT_DOUBLE_EQ(test.p_value(), 2 * 7 / 256.0);
  std::vector<double> means;  // of each two, also of each with itself
  for (size_t i = 0; i < differences.size(); ++i)
    for (size_t j = i; j < differences.size(); ++j) means.push_back((differences[i] + differences[j]) / 2);
  std::sort(means.begin(), means.end());
  EXPECT_NEAR(test.shift(), (means[17] + means[18]) / 2, 1e-12);
  // 3 or less: 2 * 5 / 256 = 3.9 %, 4 or less: 5.5 %. So four of the 36 are rejected at each end.
  EXPECT_NEAR(test.interval(0.95).low, means[3], 1e-12);
  EXPECT_NEAR(test.interval(0.95).high, means[32], 1e-12);
}

TEST(RankTest, PairsWithTiesAndZerosAreExact) {  // all 2^5 signs of the ranks 1.5 1.5 3 4.5 4.5; the zero is left out
  const RankTest test = RankTest::of_pairs(std::vector<double>{1, -1, 2, 0, 3, 3});
  EXPECT_DOUBLE_EQ(test.p_value(), 2 * 3 / 32.0) << "negative ranks 1.5 or less: none, or one of the two smallest";
  EXPECT_EQ(RankTest::of_pairs(std::vector<double>(9, 0.0)).p_value(), 1);
  EXPECT_EQ(RankTest::of_pairs(std::vector<double>(5, 1.0)).p_value(), 2 / 32.0);
}

TEST(RankTest, ManyPairsAreApproximated) {
  std::vector<double> differences;
  for (int i = 1; i <= 150; ++i) differences.push_back(i % 3 ? i : -i);
  const double n = 150, positive = n * (n + 1) / 2 - 3 * 50 * 51 / 2.0;
  const double z = (positive - n * (n + 1) / 4 - 0.5) / std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
  EXPECT_NEAR(RankTest::of_pairs(differences).p_value() / (2 * normal_tail(z)), 1, 1e-9);
}

}  // namespace
}  // namespace opd

TEST(RankTest, ValuesOfOneGroupCountLess) {
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
