// Tests whether two samples of positive numbers differ, and estimates by how much. It uses ranks: Mann-Whitney's test
// for two independent samples, Wilcoxon's signed ranks for pairs; for both, the Hodges-Lehmann estimate of the shift
// and its interval. Runs that are similar to their neighbours count less (distributions.h).
#pragma once
#include <limits>
#include <span>
#include <vector>

#include "stats/distributions.h"

namespace opd {

class RankTest {
 public:
  using Weights = AutocorrelationGrid::Weights;
  // All numbers must be finite and in the order of time: logarithms of durations, or other values that may be shifted.
  RankTest(std::span<const double> before, std::span<const double> after, ExactTails &&tails = ExactTails())
      : RankTest(before, after, tails) {}
  RankTest(std::span<const double> before, std::span<const double> after, ExactTails &tails);
  // For pairs: `differences` are after - before.
  static RankTest of_pairs(std::span<const double> differences, ExactTails &tails);
  static RankTest of_pairs(std::span<const double> differences, ExactTails &&tails = ExactTails()) {
    return of_pairs(differences, tails);
  }

  // The probability of each autocorrelation, given the samples. Runs count as independent until weigh() is called.
  Weights posterior(const Weights &prior) const { return fit_.posterior(prior); }
  void weigh(const Weights &posterior);
  const Weights &weights() const { return weights_; }

  double p_value() const;  // two-sided
  double shift() const;    // median of the differences after - before; for pairs: of the means of each two differences
  struct Interval {
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  };
  Interval interval(double confidence) const;  // infinite if there are too few values

 private:
  explicit RankTest(SerialFit fit) : fit_(fit) {}
  bool is_paired() const { return before_.empty(); }
  // The test counts differences: between each value after and each value before (pairs: the mean of each two
  // differences). The shift is their median. The statistic is the number of differences below the tested shift.
  size_t num_differences() const;
  size_t count_up_to(double limit) const;
  double difference(size_t rank) const;   // the difference that exceeds `rank` others
  double variance(double ties) const;     // variance of the statistic
  double rank_p(double statistic) const;  // used if there are no ties
  double p_of(double shift) const;        // p-value of the hypothesis that this is the true shift
  double mixed_p(double rank_p, double shift) const;
  double end_of_interval(double start, double step, double level) const;

  std::vector<double> before_, after_;  // sorted; for pairs, `after_` has the differences
  SerialFit fit_;
  Weights weights_ = AutocorrelationGrid::kIndependent;
  bool resembles_ = false;   // runs are clearly similar to their neighbours
  double p_ = 1;             // p-value by ranks, for no shift, with ties
  ExactTails::Tails exact_;  // null for large samples
};

}  // namespace opd
