// Runs that follow each other often resemble each other (the machine drifts, another tenant is busy), and then carry
// less information than independent runs.
//
// The model is a first-order autoregressive process, AR(1), in which each run differs from the mean by `phi` times the
// difference of the run before, plus noise. `phi` is unknown and short samples tell little about it. So no single
// estimate is used: for each phi of a grid, SerialFit has the likelihood of the data (restricted, REML: the means are
// unknown, too) and the t-test that is exact for this phi. The p-value is the mean of these tests, weighted by how
// probable each phi is. Most of the prior probability belongs to phi = 0. An estimate plus a margin was used before:
// its margin grew so much with six to fifteen runs that they found less than five did.
#pragma once
#include <array>
#include <span>

namespace opd {

struct AutocorrelationGrid {
  static constexpr std::array kPhi{0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97};
  static constexpr size_t kSize = kPhi.size();
  // A probability for each phi.
  using Weights = std::array<double, kSize>;
  static const Weights kIndependent;  // phi is 0
  static const Weights kPrior;        // before any run was seen
};

double mean_phi(const AutocorrelationGrid::Weights &weights);

class SerialFit {
 public:
  using Weights = AutocorrelationGrid::Weights;
  // Two samples, each with its own mean; or one, whose mean is the difference. Values in the order in time.
  SerialFit(std::span<const double> before, std::span<const double> after);
  explicit SerialFit(std::span<const double> differences);

  // False if there are too few values, or no two that differ; all phi are equally likely then.
  bool is_informative() const { return freedom_ >= 1; }
  Weights posterior(const Weights &prior) const;
  // P in both directions that the samples differ by as much as they do if they truly differ by `shift`, by the t-test
  // for the i-th phi.
  double p_value(size_t i, double shift) const;

 private:
  struct Sample;
  void set(size_t i, double difference, double information, double squares, double log_determinant);
  void finish();

  double freedom_ = 0;  // of the t-tests
  std::array<double, AutocorrelationGrid::kSize> log_likelihood_{}, difference_{}, standard_error_{};
};

double lag1_autocorrelation(std::span<const double> values);  // of the ranks; 0 if all values are equal
// The variance of the mean of `count` values of an AR(1) process, divided by that of independent values.
double inflation_by(double phi, double count);
// The same for values of which each `size` in a row belong together (design effect): Kish's 1 + (size - 1) rho with the
// correlation rho within groups as the analysis of variance of their ranks estimates it. At least 1.
double inflation_by_groups(std::span<const double> values, size_t size);

}  // namespace opd
