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
  if (!tails) tails = std::make_shared<const std::vector<double>>(tails_of_u(n, m));
  return tails;
}

ExactTails::Tails ExactTails::of_pairs(size_t n) {
  Tails &tails = known_[{n, 0}];
  if (!tails) tails = std::make_shared<const std::vector<double>>(tails_of_w(n));
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

}  // namespace opd
