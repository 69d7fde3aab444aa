#include "stats/steady_rule.h"

#include <algorithm>
#include <cmath>

namespace opd {

bool SteadyRule::add(double seconds) {
  logarithms_.push_back(std::log(std::max(seconds, 1e-12)));  // a clock may read 0
  if (logarithms_.size() < 2 * kWindow) return false;
  const std::span<const double> all(logarithms_);
  const RankTest test(all.first(kWindow), all.last(kWindow), tails_);
  const bool is_steady = std::abs(test.shift()) <= std::log1p(kTolerance) || test.p_value() > kLevel;
  logarithms_.erase(logarithms_.begin(), logarithms_.begin() + kWindow);
  return is_steady;
}

}  // namespace opd
