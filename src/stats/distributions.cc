#include "stats/distributions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace opd {
namespace {

// Two-sided P(X <= x), computed from the number of ways to reach each x up to the middle.
std::vector<double> both_tails(std::vector<double> ways, double all) {
  double sum = 0;
  for (double &way : ways) way = std::min(1.0, 2 * (sum += way) / all);
  return ways;
}

// The distribution of U for n and m values without ties: coefficients of the Gaussian binomial (n+m over n).
std::vector<double> tails_of_u(size_t n, size_t m) {
  if (n > m) std::swap(n, m);
  const size_t half = n * m / 2;
  std::vector<double> ways(half + 1);
  ways[0] = 1;
  double all = 1;
  for (size_t i = 1; i <= n; ++i) {
    for (size_t u = half + 1; u-- > m + i;) ways[u] -= ways[u - m - i];
    for (size_t u = i; u <= half; ++u) ways[u] += ways[u - i];
    all *= static_cast<double>(m + i) / static_cast<double>(i);
  }
  return both_tails(std::move(ways), all);
}

// The distribution of W for n pairs without ties: each of the ranks 1 to n is either in the sum or not.
std::vector<double> tails_of_w(size_t n) {
  const size_t half = n * (n + 1) / 4;
  std::vector<double> ways(half + 1);
  ways[0] = 1;
  for (size_t rank = 1; rank <= n; ++rank)
    for (size_t w = half + 1; w-- > rank;) ways[w] += ways[w - rank];
  return both_tails(std::move(ways), std::exp2(static_cast<double>(n)));
}

// Twice the smaller of P(X <= x) and P(X >= x).
double smaller_tail(const std::vector<double> &ways, size_t x) {
  const auto at = ways.begin() + static_cast<ptrdiff_t>(x);
  const double below = std::accumulate(ways.begin(), at, 0.0), above = std::accumulate(at + 1, ways.end(), 0.0);
  return std::min(1.0, 2 * (std::min(below, above) + *at) / (below + *at + above));
}

}  // namespace

double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

// Newton's method on the logarithm of the tail, which is nearly a parabola. It starts from the usual rational
// approximation.
double normal_quantile(double tail) {
  if (tail > 0.5) return -normal_quantile(1 - tail);
  const double t = std::sqrt(-2 * std::log(tail));
  double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int i = 0; i < 4; ++i) {
    const double reached = normal_tail(z), density = std::exp(-z * z / 2) * 0.3989422804014327;
    if (!(density > 0)) break;
    z += std::log(reached / tail) * reached / density;
  }
  return z;
}

double student_tails(double t, double freedom) {
  const double z = std::sqrt(freedom * std::log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3);
  return 2 * normal_tail(z);
}

std::vector<size_t> doubled_ranks(std::span<const double> values, double *ties) {
  std::vector<size_t> order(values.size()), ranks(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    for (end = begin + 1; end < order.size() && values[order[end]] == values[order[begin]];) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = begin + end + 1;
    const auto tied = static_cast<double>(end - begin);
    if (ties) *ties += tied * tied * tied - tied;
  }
  return ranks;
}

double least_p_value(size_t n, size_t m) {
  double ways = 1;
  for (size_t i = 1; i <= n && ways < 1e300; ++i) ways *= static_cast<double>(m + i) / static_cast<double>(i);
  return std::min(1.0, 2 / ways);
}

double least_p_value_of_pairs(size_t n) { return std::min(1.0, std::exp2(1 - static_cast<double>(n))); }

ExactTails::ExactTails(size_t num_tests)
    : most_tied_steps_(std::min<size_t>(2'000'000, 100'000'000 / std::max<size_t>(1, num_tests))) {}

ExactTails::Tails ExactTails::of(size_t n, size_t m) {
  Tails &tails = known_[{std::min(n, m), std::max(n, m)}];
  if (!tails) tails = std::make_shared<const std::vector<double>>(m ? tails_of_u(n, m) : tails_of_w(n));
  return tails;
}

double exact_tied_p(std::span<const size_t> ranks, size_t chosen, size_t sum, size_t most) {
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1));
  ways[0][0] = 1;
  for (const size_t rank : ranks)
    for (size_t k = chosen; k > 0; --k)
      for (size_t s = most + 1; s-- > rank;) ways[k][s] += ways[k - 1][s - rank];
  return smaller_tail(ways[chosen], sum);
}

double exact_signed_p(std::span<const size_t> ranks, size_t sum) {
  std::vector<double> ways(std::accumulate(ranks.begin(), ranks.end(), size_t{0}) + 1);
  ways[0] = 1;
  for (const size_t rank : ranks)
    for (size_t s = ways.size(); s-- > rank;) ways[s] += ways[s - rank];
  return smaller_tail(ways, sum);
}

// ---- autocorrelation

namespace {

using Grid = AutocorrelationGrid;

// Chosen by simulation (diff_calibration_test.cc). With a lower value, tests of five to ten runs find less. With a
// higher one, more verdicts on autocorrelated runs are wrong.
constexpr double kPriorOfIndependence = 0.7;

// All other phi are equally probable. Each point of the grid represents the phi nearest to it.
constexpr Grid::Weights prior() {
  Grid::Weights weights{kPriorOfIndependence};
  const double least = Grid::kPhi[1] / 2;
  for (size_t i = 1; i < Grid::kSize; ++i) {
    const double low = (Grid::kPhi[i - 1] + Grid::kPhi[i]) / 2;
    const double high = i + 1 < Grid::kSize ? (Grid::kPhi[i] + Grid::kPhi[i + 1]) / 2 : 1;
    weights[i] = (1 - kPriorOfIndependence) * (high - low) / (1 - least);
  }
  return weights;
}

// A sample of an AR(1) process with known phi: the best estimate of its mean, the information about the mean (the
// reciprocal of the estimate's variance, in units of the noise's variance), and the residual sum of squares. The noise
// is the new part of each value: the first value is scaled to the noise's variance; each later one has phi times its
// predecessor subtracted.
struct Mean {
  double value = 0, information = 0, squares = 0;
  Mean(std::span<const double> values, double phi) {
    const double first = 1 - phi * phi, step = 1 - phi;
    information = first + static_cast<double>(values.size() - 1) * step * step;
    double sum = first * values[0];
    for (size_t i = 1; i < values.size(); ++i) sum += step * (values[i] - phi * values[i - 1]);
    value = sum / information;
    squares = first * (values[0] - value) * (values[0] - value);
    for (size_t i = 1; i < values.size(); ++i) {
      const double noise = values[i] - value - phi * (values[i - 1] - value);
      squares += noise * noise;
    }
  }
};

}  // namespace

const Grid::Weights Grid::kIndependent{1};
const Grid::Weights Grid::kPrior = prior();

double mean_phi(const Grid::Weights &weights) {
  return std::inner_product(weights.begin(), weights.end(), Grid::kPhi.begin(), 0.0);
}

void SerialFit::set(size_t i, double difference, double variance, double squares, double log_determinant) {
  difference_[i] = difference;
  standard_error_[i] = std::sqrt(squares / freedom_ * variance);
  log_likelihood_[i] = log_determinant - freedom_ / 2 * std::log(squares);
}

// If all values are equal, there is no scale: rounding errors in their squares are not noise.
template <class Fit>
void SerialFit::for_each_phi(const Fit &fit) {
  if (!is_informative()) return;
  for (size_t i = 0; i < Grid::kSize; ++i) fit(i, Grid::kPhi[i]);
  for (size_t i = 0; i < Grid::kSize; ++i)
    if (!std::isfinite(log_likelihood_[i]) || !(standard_error_[i] > 1e-13 * std::abs(difference_[i]))) freedom_ = 0;
}

SerialFit::SerialFit(std::span<const double> before, std::span<const double> after)
    : freedom_(static_cast<double>(before.size() + after.size()) - 2) {
  for_each_phi([&](size_t i, double phi) {
    const Mean a(before, phi), b(after, phi);
    set(i, b.value - a.value, 1 / a.information + 1 / b.information, a.squares + b.squares,
        std::log(1 - phi * phi) - std::log(a.information * b.information) / 2);
  });
}

SerialFit::SerialFit(std::span<const double> differences) : freedom_(static_cast<double>(differences.size()) - 1) {
  for_each_phi([&](size_t i, double phi) {
    const Mean mean(differences, phi);
    set(i, mean.value, 1 / mean.information, mean.squares, (std::log(1 - phi * phi) - std::log(mean.information)) / 2);
  });
}

Grid::Weights SerialFit::posterior(const Weights &prior) const {
  if (!is_informative()) return prior;
  const double best = *std::max_element(log_likelihood_.begin(), log_likelihood_.end());
  Weights weights;
  double sum = 0;
  for (size_t i = 0; i < Grid::kSize; ++i) sum += weights[i] = prior[i] * std::exp(log_likelihood_[i] - best);
  for (double &weight : weights) weight /= sum;
  return weights;
}

double SerialFit::p_value(size_t i, double shift) const {
  return student_tails((difference_[i] - shift) / standard_error_[i], freedom_);
}

double inflation_by(double phi, double count) {
  return (1 + phi) / (1 - phi) - 2 * phi * (1 - std::pow(phi, count)) / (count * (1 - phi) * (1 - phi));
}

double inflation_by_groups(std::span<const double> values, size_t size) {
  const size_t count = size ? values.size() / size : 0;
  if (size < 2 || count < 2) return 1;
  const std::vector<size_t> ranks = doubled_ranks(values);
  const auto n = static_cast<double>(size), centre = static_cast<double>(values.size()) + 1;
  double between = 0, within = 0;
  for (size_t group = 0; group < count; ++group) {
    const std::span<const size_t> own(&ranks[group * size], size);
    const double mean = static_cast<double>(std::accumulate(own.begin(), own.end(), size_t{0})) / n;
    between += n * (mean - centre) * (mean - centre);
    for (const size_t rank : own) within += (static_cast<double>(rank) - mean) * (static_cast<double>(rank) - mean);
  }
  between /= static_cast<double>(count - 1);
  within /= static_cast<double>(count) * (n - 1);
  const double all = between + (n - 1) * within;
  return all > 0 ? std::max(1.0, n * between / all) : 1;
}

}  // namespace opd
