// Tails of the distributions that the rank tests need.
#pragma once
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
  Tails of_pairs(size_t n);

 private:
  std::map<std::pair<size_t, size_t>, Tails> known_;  // pairs with m = 0
  size_t most_tied_steps_;
};

// With ties: the two-sided probability that the sum of `chosen` random ranks is as extreme as `sum`. `most`: the
// largest possible sum.
double exact_tied_p(std::span<const size_t> ranks, size_t chosen, size_t sum, size_t most);
// The same for a random choice of any number of the ranks, which is the null distribution of signed ranks.
double exact_signed_p(std::span<const size_t> ranks, size_t sum);

}  // namespace opd
