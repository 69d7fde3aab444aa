// Decides when a warm-up may end: when the times of consecutive calls no longer change.
//
// Times are compared in windows of ten, each with the window before it. They are steady if two neighbouring windows do
// not differ: by Mann-Whitney's test (5 %), or by at most 1 % by the Hodges-Lehmann estimate. Ranks are used, so that a
// few disturbed calls do not decide. Noise can hide a slow fall, and no rule can foresee a later step.
//
// Sources. Windows of calls that must agree: Georges, Buytaert, Eeckhout, Statistically Rigorous Java Performance
// Evaluation, OOPSLA 2007, 3.3; they use the coefficient of variation, which one outlier spoils and which never settles
// if the noise is larger. Some programs never get steady, so the wait needs a bound: Barrett et al., Virtual Machine
// Warmup Blows Hot and Cold, OOPSLA 2017.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/mann_whitney.h"

namespace opd {

class SteadyRule {
 public:
  static constexpr size_t kWindow = 10;
  static constexpr double kLevel = 0.05, kTolerance = 0.01;

  // Returns whether this completes a window that does not differ from the one before.
  bool add(double seconds) {
    logarithms_.push_back(std::log(std::max(seconds, 1e-12)));  // a clock may read 0
    if (logarithms_.size() < 2 * kWindow) return false;
    const std::span<const double> all(logarithms_);
    const RankTest test(all.first(kWindow), all.last(kWindow), tails_);
    const bool is_steady = std::abs(test.shift()) <= std::log1p(kTolerance) || test.p_value() > kLevel;
    logarithms_.erase(logarithms_.begin(), logarithms_.begin() + kWindow);
    return is_steady;
  }
  void restart() { logarithms_.clear(); }

 private:
  std::vector<double> logarithms_;  // logarithms of the times of up to two windows
  ExactTails tails_;
};

}  // namespace opd
