// Two samples of positive numbers, each in the order in time, compared by ranks: by how much do they differ, and could
// it be chance? Mann-Whitney's test and the Hodges-Lehmann shift of the logarithms with the interval that belongs to
// it.
#pragma once
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace opd {

double normal_tail(double z);                          // P(Z > z)
double normal_quantile(double tail);                   // z with P(Z > z) = tail, for 0 < tail < 1
double student_tails(double t, double freedom);        // P(|T| > |t|)
double lag1_autocorrelation(std::span<const double>);  // of the ranks; 0 where all are equal

// The least tail that n and m values can reach in both directions: all of one sample below all of the other.
double least_p_value(size_t n, size_t m);

// Of neighbours in time, from one sample or two.
struct Autocorrelation {
  double phi = 0;       // corrected for the bias of short samples
  double variance = 0;  // of that estimate if there is none; 0: there was nothing to estimate from
};
Autocorrelation autocorrelation_of(std::span<const double> before, std::span<const double> after = {});
// What is gone by: an estimate with a margin for its error, or 0 if it is small and within that.
double believed_autocorrelation(double phi, double error);
double believed_autocorrelation(const Autocorrelation &estimate);
// How much wider the mean of `count` values of an AR(1) process scatters than that of independent ones, as variance.
double inflation_by(double phi, double count);

// How much wider the mean of values of which each `size` in a row belong together scatters than that of independent
// ones, as variance: the design effect, by the analysis of variance of their ranks. 1 or more.
double inflation_by_groups(std::span<const double> values, size_t size);

// Distributions of U, each made once: P(U <= u) in both directions for u up to n m / 2, without ties.
class ExactTails {
 public:
  // Each distribution with ties is its own, so that as many tests share the time for these.
  explicit ExactTails(size_t num_tests = 1);
  size_t most_tied_steps() const { return most_tied_steps_; }
  std::shared_ptr<const std::vector<double>> of(size_t n, size_t m);

 private:
  std::map<std::pair<size_t, size_t>, std::shared_ptr<const std::vector<double>>> known_;
  size_t most_tied_steps_;
};

class RankTest {
 public:
  // All numbers are logarithms of durations or whatever else may be shifted.
  RankTest(std::span<const double> before, std::span<const double> after, ExactTails &&tails = ExactTails())
      : RankTest(before, after, tails) {}
  RankTest(std::span<const double> before, std::span<const double> after, ExactTails &tails);

  const Autocorrelation &autocorrelation() const { return autocorrelation_; }
  void believe(double phi);  // 0 or more; 0 unless called

  double p_value() const;  // in both directions
  double shift() const;    // median of the differences after - before
  struct Interval {
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  };
  Interval interval(double confidence) const;  // infinite where the samples are too small for one

 private:
  bool is_far_apart() const;
  double p_of(size_t doubled_u, bool with_ties) const;
  double p_of_independent(size_t doubled_u, bool with_ties) const;
  double difference(size_t rank) const;  // the one with so many below it

  std::vector<double> before_, after_;  // sorted
  Autocorrelation autocorrelation_;
  size_t u_ = 0;                                      // twice the smaller U: ties count half
  double ties_ = 0;                                   // sum of t^3 - t
  double tied_p_ = -1;                                // of samples with ties; negative for large ones
  double inflation_ = 1;                              // of the variance, by autocorrelation
  std::shared_ptr<const std::vector<double>> exact_;  // NULL for large samples
};

}  // namespace opd
