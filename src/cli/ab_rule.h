// When `opdyno ab` compares what it has measured, and how sure it must be to stop.
//
// Whoever looks after every turn and stops at the first significant difference finds one sooner or later, also between
// equal programs. So there are few looks, after 10, 20, 40, 80 … turns, and look k may err half as often as look k - 1:
// with the probability level / 2^k. The sum over all looks is at most `level`, however many there are and whatever the
// data look like (Bonferroni's inequality). Twice as many turns make up for the stricter level. The intervals shrink
// their error in the same way, so they hold for the look that happens to be the last.
#pragma once
#include <vector>

#include "diff_view.h"

namespace opd::cli {

class AbRule {
 public:
  explicit AbRule(const opd_diff_options &options) : options_(options) {}

  // After how many turns to look next.
  int64_t next_look() const { return next_look_; }
  // How to compare at this look. The last look may come earlier than next_look(), when the budget is spent.
  opd_diff_options start_look();
  // No row could change the total by more than the minimum effect without a verdict on it.
  bool is_clear(const DiffView &diff) const;

 private:
  const opd_diff_options options_;
  double share_ = 1;  // of the allowed errors, for the look at hand
  int64_t next_look_ = 10;
};

// One sentence: which is faster and by how much, what changed it most, whether something got slower.
std::string ab_sentence(const DiffView &diff, const opd_diff_options &options);

}  // namespace opd::cli
