#include "profile/rank_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace opd {
namespace {

constexpr size_t kMostExactPairs = 10'000;  // beyond, the normal approximation is as good
constexpr size_t kLeastForAutocorrelation = 6;
constexpr double kLeastFreedom = 3;  // fewer independent runs than that say nothing

// Twice the mid-ranks, from 2; sum of t^3 - t over the ties.
std::vector<size_t> doubled_ranks(std::span<const double> values, double *ties = nullptr) {
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

// The distribution of U for n and m values without ties: coefficients of the Gaussian binomial (n+m over n), summed up.
std::vector<double> exact_tails(size_t n, size_t m) {
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
  double sum = 0;
  for (double &way : ways) way = std::min(1.0, 2 * (sum += way) / all);
  return ways;
}

// The probability, in both directions, that `chosen` of the ranks have a sum that is as far out as this one: all ways
// to choose them are counted by their sum.
double exact_tied_p(std::span<const size_t> ranks, size_t chosen, size_t sum, size_t most) {
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1));
  ways[0][0] = 1;
  for (const size_t rank : ranks)
    for (size_t k = chosen; k > 0; --k)
      for (size_t s = most + 1; s-- > rank;) ways[k][s] += ways[k - 1][s - rank];
  const std::vector<double> &all = ways[chosen];
  const auto at = all.begin() + static_cast<ptrdiff_t>(sum);
  const double below = std::accumulate(all.begin(), at, 0.0), above = std::accumulate(at + 1, all.end(), 0.0);
  return std::min(1.0, 2 * (std::min(below, above) + *at) / (below + *at + above));
}

// Continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  const auto apart = [](double value) { return std::abs(value) < 1e-300 ? 1e-300 : value; };
  double c = 1, d = 1 / apart(1 - (a + b) * x / (a + 1)), result = d;
  for (int i = 1; i < 500; ++i) {
    const double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
    const double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
    for (const double term : {even, odd}) {
      d = 1 / apart(1 + term * d);
      c = apart(1 + term / c);
      result *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return result;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

// Newton's steps on the logarithm of the tail, which is nearly a parabola, from the usual rational approximation.
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
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double lag1_autocorrelation(std::span<const double> values) {
  const std::vector<size_t> ranks = doubled_ranks(values);
  const double centre = static_cast<double>(values.size()) + 1;  // of doubled ranks
  double products = 0, squares = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const double here = static_cast<double>(ranks[i]) - centre;
    squares += here * here;
    if (i > 0) products += here * (static_cast<double>(ranks[i - 1]) - centre);
  }
  return squares > 0 ? products / squares : 0;
}

double inflation_by(double phi, double count) {
  return (1 + phi) / (1 - phi) - 2 * phi * (1 - std::pow(phi, count)) / (count * (1 - phi) * (1 - phi));
}

// Kish's 1 + (size - 1) rho with the analysis of variance's estimate of the correlation rho within groups.
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

// Short samples show too little autocorrelation: the expected value is phi - (1 + 3 phi) / n.
Autocorrelation autocorrelation_of(std::span<const double> before, std::span<const double> after) {
  Autocorrelation both;
  double weight = 0, squares = 0;
  for (const auto sample : {before, after}) {
    if (sample.size() < kLeastForAutocorrelation) continue;
    const auto n = static_cast<double>(sample.size());
    both.phi += n * (n * lag1_autocorrelation(sample) + 1) / (n - 3);
    squares += n * n * n / ((n - 3) * (n - 3));
    weight += n;
  }
  if (weight > 0) both.phi /= weight, both.variance = squares / (weight * weight);
  return both;
}

double believed_autocorrelation(double phi, double error) {
  constexpr double kSmall = 0.15, kMargin = 0.75, kMost = 0.97;  // the margin in standard errors; all by simulation
  return phi > std::min(kSmall, error) ? std::min(kMost, phi + kMargin * error) : 0;
}

double believed_autocorrelation(const Autocorrelation &estimate) {
  const double spread = std::max(0.05, 1 - estimate.phi * estimate.phi);
  return believed_autocorrelation(estimate.phi, std::sqrt(estimate.variance * spread));
}

double least_p_value(size_t n, size_t m) {
  double ways = 1;
  for (size_t i = 1; i <= n && ways < 1e300; ++i) ways *= static_cast<double>(m + i) / static_cast<double>(i);
  return std::min(1.0, 2 / ways);
}

ExactTails::ExactTails(size_t num_tests)
    : most_tied_steps_(std::min<size_t>(2'000'000, 100'000'000 / std::max<size_t>(1, num_tests))) {}

std::shared_ptr<const std::vector<double>> ExactTails::of(size_t n, size_t m) {
  auto &tails = known_[{std::min(n, m), std::max(n, m)}];
  if (!tails) tails = std::make_shared<const std::vector<double>>(exact_tails(n, m));
  return tails;
}

RankTest::RankTest(std::span<const double> before, std::span<const double> after, ExactTails &tails)
    : before_(before.begin(), before.end()),
      after_(after.begin(), after.end()),
      autocorrelation_(autocorrelation_of(before, after)) {
  std::vector<double> all(before_);
  all.insert(all.end(), after_.begin(), after_.end());
  const std::vector<size_t> ranks = doubled_ranks(all, &ties_);
  const size_t n = before_.size(), m = after_.size();
  u_ = std::accumulate(ranks.begin() + static_cast<ptrdiff_t>(n), ranks.end(), size_t{0}) - m * (m + 1);
  u_ = std::min(u_, 2 * n * m - u_);
  if (n * m <= kMostExactPairs) exact_ = tails.of(n, m);
  if (const size_t chosen = std::min(n, m), most = chosen * 2 * (n + m);
      ties_ > 0 && chosen * most * (n + m) <= tails.most_tied_steps()) {
    const auto side = n <= m ? std::span(ranks).first(n) : std::span(ranks).last(m);
    tied_p_ = exact_tied_p(ranks, chosen, std::accumulate(side.begin(), side.end(), size_t{0}), most);
  }
  std::sort(before_.begin(), before_.end());
  std::sort(after_.begin(), after_.end());
}

void RankTest::believe(double phi) {
  inflation_ = phi > 0 ? inflation_by(phi, static_cast<double>(std::min(before_.size(), after_.size()))) : 1;
}

double RankTest::p_of_independent(size_t doubled_u, bool with_ties) const {
  if (with_ties && tied_p_ >= 0) return tied_p_;
  if (exact_ && (ties_ == 0 || !with_ties)) return (*exact_)[doubled_u / 2];
  const auto n = static_cast<double>(before_.size()), m = static_cast<double>(after_.size()), all = n + m;
  const double variance = n * m / 12 * (all + 1 - (with_ties ? ties_ / (all * (all - 1)) : 0));
  if (!(variance > 0)) return 1;
  const double distance = n * m / 2 - static_cast<double>(doubled_u) / 2 - 0.5;
  return std::min(1.0, 2 * normal_tail(std::max(0.0, distance) / std::sqrt(variance)));
}

double RankTest::p_value() const { return is_far_apart() ? p_of_independent(u_, true) : p_of(u_, true); }

// Ranks see order only. Samples that keep so far from each other, compared with how far each wanders, are not two parts
// of one slow drift.
bool RankTest::is_far_apart() const {
  constexpr double kRanges = 2;
  const double gap = std::max(after_.front() - before_.back(), before_.front() - after_.back());
  const double range = std::max(before_.back() - before_.front(), after_.back() - after_.front());
  return gap > 0 && gap >= kRanges * range;
}

// Under autocorrelation the distance from the middle, in standard deviations, is worth less, and is uncertain itself.
double RankTest::p_of(size_t doubled_u, bool with_ties) const {
  const double p = p_of_independent(doubled_u, with_ties);
  if (inflation_ <= 1 || p >= 1) return p;
  const double freedom = static_cast<double>(before_.size() + after_.size()) / inflation_ - 2;
  if (freedom < kLeastFreedom) return 1;
  return std::max(p, student_tails(normal_quantile(p / 2) / std::sqrt(inflation_), freedom));
}

// Pairs are counted in one walk along both samples, and the value is found by halving: no list of n m differences.
double RankTest::difference(size_t rank) const {
  const auto count_up_to = [&](double limit) {
    size_t count = 0, j = 0;
    for (const double b : before_) {
      while (j < after_.size() && after_[j] - b <= limit) ++j;
      count += j;
    }
    return count;
  };
  double low = after_.front() - before_.back(), high = after_.back() - before_.front();
  if (count_up_to(low) > rank) return low;
  for (;;) {  // more than `rank` are up to `high`, no more than that up to `low`
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high || high - low < 1e-13) return high;
    (count_up_to(middle) > rank ? high : low) = middle;
  }
}

double RankTest::shift() const {
  const size_t pairs = before_.size() * after_.size();
  return pairs % 2 ? difference(pairs / 2) : (difference(pairs / 2 - 1) + difference(pairs / 2)) / 2;
}

// The shifts that the test would not refuse at that level; ties make it a little wider than it need be.
RankTest::Interval RankTest::interval(double confidence) const {
  const size_t pairs = before_.size() * after_.size();
  const double level = (1 - confidence) * (1 + 1e-9);  // 1 - 0.9 is less than 0.1
  size_t refused = 0, end = pairs / 2 + 1;             // how many values of U, from 0, are
  while (refused < end) {
    const size_t middle = (refused + end) / 2;
    if (p_of(2 * middle, false) <= level) refused = middle + 1;
    else end = middle;
  }
  if (refused == 0 && is_far_apart() && p_of_independent(0, false) <= level) refused = 1;  // as the test sees it
  if (refused == 0) return {};
  return {difference(refused - 1), difference(pairs - refused)};
}

}  // namespace opd
