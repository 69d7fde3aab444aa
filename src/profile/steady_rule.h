// Tells when the times of calls in a row have stopped changing, which is when a warm-up may end.
//
// The times are looked at in windows of ten, each beside the one before it. They are steady once two neighbours do not
// differ: by Mann-Whitney's test (5 %), or by no more than 1 % as Hodges and Lehmann estimate it. Ranks, so that a few
// calls that were disturbed do not decide. Noise can hide a slow fall, and no rule sees a step that is yet to come.
//
// Windows of calls that must agree: Georges, Buytaert, Eeckhout, Statistically Rigorous Java Performance Evaluation,
// OOPSLA 2007, 3.3, by the coefficient of variation there, which one outlier spoils and noise above it never meets.
// That some programs never get steady, so that the wait needs a bound: Barrett et al., Virtual Machine Warmup Blows Hot
// and Cold, OOPSLA 2017.
#pragma once
#include <vector>

#include "profile/rank_test.h"

namespace opd {

class SteadyRule {
 public:
  static constexpr size_t kWindow = 10;
  static constexpr double kLevel = 0.05, kTolerance = 0.01;

  bool add(double seconds);  // true if the window that this one completes is like the one before
  void restart() { logarithms_.clear(); }

 private:
  std::vector<double> logarithms_;  // of up to two windows
  ExactTails tails_;
};

}  // namespace opd
