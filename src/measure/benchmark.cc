#include "measure/benchmark.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"

namespace opd {
namespace {

std::string centred(std::string text) {
  constexpr size_t kWidth = 12;
  if (text.size() >= kWidth) return text;
  const size_t room = kWidth - text.size();
  return std::string(room / 2, ' ') + text + std::string(room - room / 2, ' ');
}

}  // namespace

Benchmark::Benchmark(std::vector<double> results, Course how)
    : seconds(std::move(results)), course(how), sorted_(seconds) {
  std::sort(sorted_.begin(), sorted_.end());
}

std::vector<double> Benchmark::repeats() const {
  std::vector<double> means;
  for (auto begin = seconds.begin(); begin != seconds.end(); begin += static_cast<ptrdiff_t>(course.concurrency))
    means.push_back(std::accumulate(begin, begin + static_cast<ptrdiff_t>(course.concurrency), 0.0) /
                    static_cast<double>(course.concurrency));
  return means;
}

double Benchmark::mean() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
}

double Benchmark::std() const {
  const double centre = mean();
  double squares = 0;
  for (const double value : seconds) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(seconds.size()));
}

double Benchmark::percentile(double percent) const {
  const double place = std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(sorted_.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted_.size() - 1);
  return sorted_[below] + (sorted_[above] - sorted_[below]) * (place - static_cast<double>(below));
}

// The two-sided probability of a binomial variable at least as far out as `tail`. If repeats are independent, `tail` is
// the one-sided probability. The result is the mean over all autocorrelations, weighted by their probability.
double Benchmark::mixed_tails(double tail, double inflation, const AutocorrelationGrid::Weights &weights) const {
  const auto count = static_cast<double>(sorted_.size() / course.concurrency);
  const double z = normal_quantile(tail);
  double p = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    p += weights[i] * 2 * normal_tail(z / std::sqrt(inflation * inflation_by(AutocorrelationGrid::kPhi[i], count)));
  return p;
}

// The k-th smallest and the k-th largest value enclose the median unless fewer than k values lie on one side of it.
// Each value lies on either side with equal probability.
Benchmark::Reliability Benchmark::reliability() const {
  constexpr double kLevel = 0.05, kTooWide = 0.05;
  const size_t count = sorted_.size();
  const auto weights = SerialFit(repeats()).posterior(AutocorrelationGrid::kPrior);
  Reliability is{0, INFINITY, mean_phi(weights), 0, true};
  const double inflation = inflation_by_groups(seconds, course.concurrency);
  double term = std::exp2(-static_cast<double>(count)), tail = 0;  // terms of the binomial distribution
  for (size_t k = 0; k < count / 2; ++k) {
    if (count <= 1000) tail = std::min(0.5, tail + term);
    else tail = normal_tail((static_cast<double>(count) - 1 - 2.0 * k) / std::sqrt(static_cast<double>(count)));
    if (tail > 0 && tail < 0.5 && mixed_tails(tail, inflation, weights) > kLevel) break;
    is.low = sorted_[k], is.high = sorted_[count - 1 - k];
    term *= static_cast<double>(count - k) / static_cast<double>(k + 1);
  }
  is.is_noisy = !(is.high - is.low <= kTooWide * percentile(50));
  const double first = percentile(25), third = percentile(75), fence = 1.5 * (third - first);
  is.num_outliers = std::count_if(seconds.begin(), seconds.end(),
                                  [&](double value) { return value < first - fence || value > third + fence; });
  return is;
}

std::string Benchmark::to_text() const {
  std::string titles, values;
  const std::pair<const char *, double> columns[] = {{"mean (ms)", mean()},
                                                     {"median (ms)", percentile(50)},
                                                     {"max (ms)", max()},
                                                     {"min (ms)", min()},
                                                     {"std (ms)", std()}};
  for (const auto &[title, value] : columns) {
    const char *gap = titles.empty() ? "" : " ";
    std::string number;
    append_fixed(number, value * 1e3, 4);
    titles += concat(gap, centred(title));
    values += concat(gap, centred(std::move(number)));
  }
  return concat("Execution time summary:\n", titles, "\n", values);
}

}  // namespace opd
