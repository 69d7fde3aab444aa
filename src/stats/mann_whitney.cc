#include "stats/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace opd {
namespace {

// From this estimate on, the test for a strong autocorrelation must reject, too, because estimates from up to thirty
// runs are far too low. Chosen by simulation (diff_calibration_test.cc). With a lower limit, tests of five to eight
// independent runs find less. With a higher one, tests of fifteen runs err more often.
constexpr double kResembling = 0.45;
constexpr size_t kStrong = 11;
static_assert(AutocorrelationGrid::kPhi[kStrong] == 0.94);

constexpr size_t kMostExactDifferences = 10'000;  // if there are more, the normal approximation is as good

// Ranks limit the effect of an outlier, but the models of autocorrelation use variances. So values further than three
// standard deviations from the median are moved to that limit. The deviation is estimated by the median distance (MAD).
std::vector<double> without_outliers(std::span<const double> values) {
  constexpr double kMost = 3 * 1.4826;
  std::vector<double> moved(values.begin(), values.end()), sorted(moved);
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double centre = *middle;
  for (double &value : sorted) value = std::abs(value - centre);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (const double most = kMost * *middle; most > 0)
    for (double &value : moved) value = std::clamp(value, centre - most, centre + most);
  return moved;
}

double two_tails(double distance, double variance) {
  if (!(variance > 0)) return 1;
  return std::min(1.0, 2 * normal_tail(std::max(0.0, distance - 0.5) / std::sqrt(variance)));
}

}  // namespace

RankTest::RankTest(std::span<const double> before, std::span<const double> after, ExactTails &tails)
    : before_(before.begin(), before.end()),
      after_(after.begin(), after.end()),
      fit_(without_outliers(before), without_outliers(after)) {
  std::vector<double> all(before_);
  all.insert(all.end(), after_.begin(), after_.end());
  double ties = 0;
  const std::vector<size_t> ranks = doubled_ranks(all, &ties);
  const size_t n = before_.size(), m = after_.size();
  if (num_differences() <= kMostExactDifferences) exact_ = tails.of(n, m);
  const size_t own = std::accumulate(ranks.begin() + static_cast<ptrdiff_t>(n), ranks.end(), size_t{0});
  const double u = static_cast<double>(own - m * (m + 1)) / 2;
  const size_t chosen = std::min(n, m), most = chosen * 2 * (n + m);
  if (ties == 0) {
    p_ = rank_p(u);
  } else if (chosen * most * (n + m) <= tails.most_tied_steps()) {
    const auto side = n <= m ? std::span(ranks).first(n) : std::span(ranks).last(m);
    p_ = exact_tied_p(ranks, chosen, std::accumulate(side.begin(), side.end(), size_t{0}), most);
  } else {
    p_ = two_tails(std::abs(u - static_cast<double>(num_differences()) / 2), variance(ties));
  }
  std::sort(before_.begin(), before_.end());
  std::sort(after_.begin(), after_.end());
}

// Pairs without a difference have no sign, so the ranks leave them out, as in Wilcoxon's test.
RankTest RankTest::of_pairs(std::span<const double> differences, ExactTails &tails) {
  RankTest test{SerialFit(without_outliers(differences))};
  test.after_.assign(differences.begin(), differences.end());
  std::vector<double> sizes;
  for (const double one : differences)
    if (one != 0) sizes.push_back(std::abs(one));
  double ties = 0, positive = 0;
  const std::vector<size_t> ranks = doubled_ranks(sizes, &ties);
  size_t at = 0;
  for (const double one : differences)
    if (one != 0) positive += one > 0 ? static_cast<double>(ranks[at++]) / 2 : (++at, 0);
  if (test.num_differences() <= kMostExactDifferences) test.exact_ = tails.of_pairs(differences.size());
  const auto n = static_cast<double>(sizes.size());
  if (ties == 0 && sizes.size() == differences.size()) test.p_ = test.rank_p(positive);
  else if (sizes.size() * sizes.size() * sizes.size() <= tails.most_tied_steps())
    test.p_ = exact_signed_p(ranks, static_cast<size_t>(2 * positive));
  else test.p_ = two_tails(std::abs(positive - n * (n + 1) / 4), n * (n + 1) * (2 * n + 1) / 24 - ties / 48);
  std::sort(test.after_.begin(), test.after_.end());
  return test;
}

size_t RankTest::num_differences() const {
  return is_paired() ? after_.size() * (after_.size() + 1) / 2 : before_.size() * after_.size();
}

double RankTest::variance(double ties) const {
  const auto n = static_cast<double>(before_.size()), m = static_cast<double>(after_.size()), all = n + m;
  return is_paired() ? m * (m + 1) * (2 * m + 1) / 24 : n * m / 12 * (all + 1 - ties / (all * (all - 1)));
}

double RankTest::rank_p(double statistic) const {
  const auto all = static_cast<double>(num_differences());
  const double least = std::min(statistic, all - statistic);
  if (exact_) return (*exact_)[static_cast<size_t>(least)];
  return two_tails(all / 2 - least, variance(0));
}

void RankTest::weigh(const Weights &posterior) {
  weights_ = posterior;
  resembles_ = mean_phi(weights_) >= kResembling;
}

// The mean over all autocorrelations, but at least the p-value for independent runs, because only that test is exact.
double RankTest::mixed_p(double rank_p, double shift) const {
  constexpr double kNegligible = 1e-6;
  double p = weights_[0] * rank_p;
  for (size_t i = 1; i < weights_.size(); ++i)
    if (weights_[i] > kNegligible) p += weights_[i] * fit_.p_value(i, shift);
  if (resembles_) p = std::max(p, fit_.p_value(kStrong, shift));
  return std::max(p, rank_p);
}

double RankTest::p_value() const { return fit_.is_informative() ? mixed_p(p_, 0) : p_; }

double RankTest::p_of(double shift) const { return mixed_p(rank_p(static_cast<double>(count_up_to(shift))), shift); }

// Walks once along both sorted samples (for pairs, from both ends of one), so no list of all differences is needed.
size_t RankTest::count_up_to(double limit) const {
  size_t count = 0;
  if (is_paired()) {
    size_t end = after_.size();  // values from `end` on are too large as partners of the value at `i`
    for (size_t i = 0; i < after_.size(); ++i) {
      while (end > i && after_[i] + after_[end - 1] > 2 * limit) --end;
      if (end <= i) break;
      count += end - i;
    }
    return count;
  }
  size_t j = 0;
  for (const double b : before_) {
    while (j < after_.size() && after_[j] - b <= limit) ++j;
    count += j;
  }
  return count;
}

// Bisects the range of values. The condition also ends the loop if a value is NaN.
double RankTest::difference(size_t rank) const {
  double low = is_paired() ? after_.front() : after_.front() - before_.back();
  double high = is_paired() ? after_.back() : after_.back() - before_.front();
  if (count_up_to(low) > rank) return low;
  while (high - low >= 1e-13) {  // invariant: more than `rank` are up to `high`, at most `rank` are up to `low`
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (count_up_to(middle) > rank ? high : low) = middle;
  }
  return high;
}

double RankTest::shift() const {
  const size_t all = num_differences();
  return all % 2 ? difference(all / 2) : (difference(all / 2 - 1) + difference(all / 2)) / 2;
}

// The shifts that the test does not reject at this level. With ties the interval is a little too wide, never too
// narrow.
RankTest::Interval RankTest::interval(double confidence) const {
  const size_t all = num_differences();
  const double level = (1 - confidence) * (1 + 1e-9);  // 1 - 0.9 is less than 0.1
  size_t rejected = 0, end = all / 2 + 1;              // number of rejected values of the statistic, from 0 on
  while (rejected < end) {
    const size_t middle = (rejected + end) / 2;
    if (rank_p(static_cast<double>(middle)) <= level) rejected = middle + 1;
    else end = middle;
  }
  if (rejected == 0) return {};
  Interval made{difference(rejected - 1), difference(all - rejected)};
  if (!fit_.is_informative() || weights_[0] >= 1) return made;
  const double step = std::max(made.high - made.low, 1e-12);
  return {end_of_interval(made.low, -step, level), end_of_interval(made.high, step, level)};
}

// `start` is the end of the interval for independent runs. Autocorrelation can only move it outwards; this finds the
// distance.
double RankTest::end_of_interval(double start, double step, double level) const {
  constexpr int kMostDoublings = 40, kHalvings = 12;
  if (p_of(start + step * 1e-3) <= level) return start;  // at `start` itself the rank test still accepts
  double inside = start, outside = start + step;
  for (int i = 0; i < kMostDoublings && p_of(outside) > level; ++i) {
    inside = outside;
    outside += step *= 2;
  }
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (inside + outside) / 2;
    (p_of(middle) > level ? inside : outside) = middle;
  }
  return outside;
}

}  // namespace opd
