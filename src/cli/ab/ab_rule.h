// Decides when `opdyno ab` compares its measurements, and how sure it must be to stop.
//
// A test after every turn that stops at the first significant difference would sooner or later find one, even between
// equal programs. So there are few looks, after 10, 20, 40, 80 … turns. Look k may err with probability level / 2^k,
// half as often as the look before. The sum over all looks is at most `level`, for any number of looks and any data
// (Bonferroni's inequality). Twice as many turns make up for the stricter level. The error of the intervals shrinks in
// the same way, so they hold for the last look, whichever that is.
#pragma once

#include "cli/show/diff_view.h"

namespace opd::cli {

class AbRule {
 public:
  explicit AbRule(const opd_diff_options &options) : options_(options) {}

  // The number of turns before the next look.
  int64_t next_look() const { return next_look_; }
  // The options for this look. The last look may come earlier than next_look(), if the budget is spent.
  opd_diff_options start_look();
  // Returns true if every row without a verdict could change the total by no more than the minimum effect.
  bool is_clear(const DiffView &diff) const;

 private:
  const opd_diff_options options_;
  double share_ = 1;  // share of the allowed errors for the current look
  int64_t next_look_ = 10;
};

// Returns one sentence: which program is faster and by how much, the main cause, and whether something got slower.
std::string ab_sentence(const DiffView &diff, const opd_diff_options &options);

}  // namespace opd::cli
