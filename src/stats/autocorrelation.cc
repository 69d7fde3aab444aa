#include "stats/autocorrelation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/distributions.h"

namespace opd {
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

SerialFit::SerialFit(std::span<const double> before, std::span<const double> after)
    : freedom_(static_cast<double>(before.size() + after.size()) - 2) {
  for (size_t i = 0; i < Grid::kSize && is_informative(); ++i) {
    const double phi = Grid::kPhi[i];
    const Mean a(before, phi), b(after, phi);
    set(i, b.value - a.value, 1 / a.information + 1 / b.information, a.squares + b.squares,
        std::log(1 - phi * phi) - std::log(a.information * b.information) / 2);
  }
  finish();
}

SerialFit::SerialFit(std::span<const double> differences) : freedom_(static_cast<double>(differences.size()) - 1) {
  for (size_t i = 0; i < Grid::kSize && is_informative(); ++i) {
    const double phi = Grid::kPhi[i];
    const Mean mean(differences, phi);
    set(i, mean.value, 1 / mean.information, mean.squares, (std::log(1 - phi * phi) - std::log(mean.information)) / 2);
  }
  finish();
}

// If all values are equal, there is no scale: rounding errors in their squares are not noise.
void SerialFit::finish() {
  if (!is_informative()) return;
  for (size_t i = 0; i < Grid::kSize; ++i)
    if (!std::isfinite(log_likelihood_[i]) || !(standard_error_[i] > 1e-13 * std::abs(difference_[i]))) freedom_ = 0;
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
