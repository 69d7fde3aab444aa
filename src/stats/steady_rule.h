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
#include <vector>

#include "stats/mann_whitney.h"

namespace opd {

class SteadyRule {
 public:
  static constexpr size_t kWindow = 10;
  static constexpr double kLevel = 0.05, kTolerance = 0.01;

  bool add(double seconds);  // true if this completes a window that does not differ from the one before
  void restart() { logarithms_.clear(); }

 private:
  std::vector<double> logarithms_;  // times of up to two windows
  ExactTails tails_;
};

}  // namespace opd
