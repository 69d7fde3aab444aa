// Why few runs must be independent: the most that any test can find of a change if it may not take runs that resemble
// their neighbours for one. By the lemma of Neyman and Pearson no test finds more, at the same rate of errors, than the
// ratio of the two densities does. Both are those of the data up to an offset and a scale, which no test may depend on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "support/noise.h"

namespace opd {
namespace {

using Runs = std::vector<double>;
constexpr int kSimulated = 8000;  // the standard error of a rate of 50 % is 0.6 %

Runs series(Noise &noise, size_t count, double phi) {  // AR(1), of unit variance
  Runs runs(count);
  double last = noise.normal();
  for (double &run : runs) run = last, last = phi * last + std::sqrt(1 - phi * phi) * noise.normal();
  return runs;
}

// Logarithms of densities, up to a constant that depends on the number of runs alone.

// Two AR(1) series of one mean: integrated over that mean and, with the prior 1 / s, over the scale s.
double density_of_resembling(const Runs &before, const Runs &after, double phi) {
  const double first = 1 - phi * phi, step = 1 - phi;
  double information = 0, sum = 0, squares = 0;
  for (const Runs *runs : {&before, &after}) {
    information += first + static_cast<double>(runs->size() - 1) * step * step;
    sum += first * runs->front();
    for (size_t i = 1; i < runs->size(); ++i) sum += step * ((*runs)[i] - phi * (*runs)[i - 1]);
  }
  const double mean = sum / information;
  for (const Runs *runs : {&before, &after}) {
    squares += first * (runs->front() - mean) * (runs->front() - mean);
    for (size_t i = 1; i < runs->size(); ++i) {
      const double noise = (*runs)[i] - mean - phi * ((*runs)[i - 1] - mean);
      squares += noise * noise;
    }
  }
  const double freedom = static_cast<double>(before.size() + after.size()) - 1;
  return -std::log(information) / 2 - freedom / 2 * std::log(squares);
}

// Independent runs, those after shifted by `shift` standard deviations: the integral over the scale is done by sums.
double density_of_change(const Runs &before, const Runs &after, double shift) {
  constexpr int kSteps = 200;
  const auto count = static_cast<double>(before.size() + after.size());
  double mean = 0, squares = 0, product = 0;
  for (const Runs *runs : {&before, &after})
    for (const double run : *runs) mean += run / count;
  for (const Runs *runs : {&before, &after})
    for (const double run : *runs) {
      squares += (run - mean) * (run - mean);
      product += (runs == &after ? 0.5 : -0.5) * (run - mean);
    }
  const double linear = shift * product, power = count - 2;
  const double peak = (linear + std::sqrt(linear * linear + 4 * squares * power)) / (2 * squares);  // of 1 / scale
  const auto exponent = [&](double inverse) {
    return power * std::log(inverse) -
           (squares * inverse * inverse - 2 * linear * inverse + shift * shift * count / 4) / 2;
  };
  const double step = 4 * peak / kSteps, highest = exponent(peak);
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) sum += std::exp(exponent((i + 0.5) * step) - highest) * step;
  return highest + std::log(sum);
}

// The share of changes by `shift` standard deviations, in either direction, that the best test finds if it errs in 5 %
// of the pairs of series without a change.
double most_found(size_t runs, double shift, double phi) {
  Noise noise(1);
  const auto ratio = [&](const Runs &before, const Runs &after) {
    const double up = density_of_change(before, after, shift), down = density_of_change(before, after, -shift);
    const double both = std::max(up, down) + std::log1p(std::exp(-std::abs(up - down)));
    return both - density_of_resembling(before, after, phi);
  };
  Runs ratios(kSimulated);
  for (double &each : ratios) {
    const Runs before = series(noise, runs, phi);
    each = ratio(before, series(noise, runs, phi));
  }
  std::sort(ratios.begin(), ratios.end());
  const double limit = ratios[static_cast<size_t>(kSimulated * 0.95)];
  int found = 0;
  for (int i = 0; i < kSimulated; ++i) {
    const Runs before = series(noise, runs, 0);
    Runs after = series(noise, runs, 0);
    for (double &run : after) run += shift;
    found += ratio(before, after) > limit;
  }
  const double rate = static_cast<double>(found) / kSimulated;
  std::printf("  %2zu runs, autocorrelation %.1f: at most %.3f found\n", runs, phi, rate);
  return rate;
}

// 10 % slower at 2 % noise are 5 standard deviations. docs/diff.md has the figures.
TEST(AutocorrelationBound, LimitsThePowerOfFewRuns) {
  constexpr double kShift = 5;
  for (const auto &[runs, found] : {std::pair{4, 0.36}, {5, 0.55}, {6, 0.71}, {8, 0.90}, {10, 0.98}})
    EXPECT_NEAR(most_found(static_cast<size_t>(runs), kShift, 0.9), found, 0.03) << runs;
  EXPECT_GE(most_found(15, kShift, 0.9), 0.99) << "so many runs suffice";
}

}  // namespace
}  // namespace opd
