// The statistics behind the rank tests: tails of distributions, and a model of the autocorrelation of runs.
#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace opd {

double normal_tail(double z);         // P(Z > z)
double normal_quantile(double tail);  // z with P(Z > z) = tail, for 0 < tail < 1
// P(|T| > |t|) of Student's distribution, by Wallace's approximation: within 1 % of p for 8 degrees of freedom or more
// and p above 1e-6. It costs 20 ns instead of 500, and intervals need many of them.
double student_tails(double t, double freedom);

// Returns twice the mid-ranks, from 2. Sets `ties` to the sum of t^3 - t over the ties.
std::vector<size_t> doubled_ranks(std::span<const double> values, double *ties = nullptr);

// The least two-sided p-value of the tests: all values of one sample are below all of the other, or all pairs have the
// same sign.
double least_p_value(size_t n, size_t m);
double least_p_value_of_pairs(size_t n);

// Null distributions of U (n and m values) and of W (n pairs) without ties: two-sided P(U <= u), for u up to half of
// the largest value. Each is computed once.
class ExactTails {
 public:
  // A distribution with ties serves one test only. The time for these is divided among `num_tests` tests.
  explicit ExactTails(size_t num_tests = 1);
  size_t most_tied_steps() const { return most_tied_steps_; }
  using Tails = std::shared_ptr<const std::vector<double>>;
  Tails of(size_t n, size_t m);
  Tails of_pairs(size_t n) { return of(n, 0); }

 private:
  std::map<std::pair<size_t, size_t>, Tails> known_;  // pairs with m = 0
  size_t most_tied_steps_;
};

// With ties: the two-sided probability that the sum of `chosen` random ranks is as extreme as `sum`. `most`: the
// largest possible sum.
double exact_tied_p(std::span<const size_t> ranks, size_t chosen, size_t sum, size_t most);
// The same for a random choice of any number of the ranks, which is the null distribution of signed ranks.
double exact_signed_p(std::span<const size_t> ranks, size_t sum);

// ---- autocorrelation
//
// Consecutive runs are often similar (the machine drifts, another tenant is busy). They then carry less information
// than independent runs.
//
// The model is a first-order autoregressive process, AR(1): each run differs from the mean by `phi` times the
// difference of the run before, plus noise. `phi` is unknown, and short samples say little about it, so no single
// estimate is used. For each phi of a grid, SerialFit computes the likelihood of the data (restricted, REML: the means
// are unknown, too) and the t-test that is exact for this phi. The p-value is the mean of these tests, weighted by the
// probability of each phi. Most of the prior probability belongs to phi = 0. An estimate plus a margin was used before:
// its margin grew so much with six to fifteen runs that they found less than five did.
struct AutocorrelationGrid {
  static constexpr std::array kPhi{0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97};
  static constexpr size_t kSize = kPhi.size();
  // A probability for each phi.
  using Weights = std::array<double, kSize>;
  static const Weights kIndependent;  // phi is 0
  static const Weights kPrior;        // weights before any run is known
};

double mean_phi(const AutocorrelationGrid::Weights &weights);

class SerialFit {
 public:
  using Weights = AutocorrelationGrid::Weights;
  // Two samples, each with its own mean, or one sample whose mean is the difference. Values are in the order of time.
  SerialFit(std::span<const double> before, std::span<const double> after);
  explicit SerialFit(std::span<const double> differences);

  // False if there are too few values, or if all are equal; all phi are then equally likely.
  bool is_informative() const { return freedom_ >= 1; }
  Weights posterior(const Weights &prior) const;
  // The two-sided p-value of the hypothesis that the samples differ by `shift`, from the t-test for the i-th phi.
  double p_value(size_t i, double shift) const;

 private:
  void set(size_t i, double difference, double information, double squares, double log_determinant);
  template <class Fit>
  void for_each_phi(const Fit &fit);

  double freedom_ = 0;  // degrees of freedom of the t-tests
  std::array<double, AutocorrelationGrid::kSize> log_likelihood_{}, difference_{}, standard_error_{};
};

// The variance of the mean of `count` values of an AR(1) process, divided by that of independent values.
double inflation_by(double phi, double count);
// The same for values in groups of `size` consecutive ones (design effect): Kish's 1 + (size - 1) rho. rho is the
// correlation within groups, estimated by the analysis of variance of the ranks. At least 1.
double inflation_by_groups(std::span<const double> values, size_t size);

}  // namespace opd
