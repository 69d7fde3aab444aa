#include "cli/ab/ab_rule.h"

#include <algorithm>
#include <cmath>

#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr size_t kMostNames = 3;

// The largest change, up or down, that the interval allows; infinite without an interval.
double largest_change(const DiffRow &row) {
  return std::isnan(row.high) ? INFINITY : std::max(std::abs(row.low), std::abs(row.high));
}

std::string short_percent(double share) {
  const double percent = share * 100;
  return cat(percent < 0 ? "-" : "+", fixed(std::abs(percent), std::abs(percent) < 9.95 ? 1 : 0), " %");
}

std::string total_text(const DiffRow &total) {
  const double change = total.change * 100, width = (total.high - total.low) / 2 * 100;
  if (total.verdict == "improvement" || total.verdict == "regression") {
    const char *const way = change < 0 ? "faster" : "slower";
    // A skewed interval can be wider than twice the change without containing 0. Then the sentence gives its ends.
    if (std::isfinite(width) && width >= std::abs(change)) {
      const auto [least, most] = std::minmax({std::abs(total.low), std::abs(total.high)});
      return cat("B is ", fixed(least * 100, 1), " % to ", fixed(most * 100, 1), " % ", way);
    }
    return cat("B is ", fixed(std::abs(change), 1), " % ± ", fixed(width, 1), " % ", way);
  }
  if (total.verdict == "same") return cat("B takes as long as A (", fixed(change, 1), " % ± ", fixed(width, 1), " %)");
  if (std::isnan(total.high)) return "too few runs to tell which is faster";
  const auto bound = [](double change) {
    return cat(fixed(std::abs(change) * 100, 1), " % ", change < 0 ? "less" : "more");
  };
  return cat("undecided: B takes ", bound(total.low), " to ", bound(total.high), " time than A");
}

}  // namespace

opd_diff_options AbRule::start_look() {
  share_ /= 2;
  next_look_ *= 2;
  opd_diff_options options = options_;
  options.level *= share_;
  options.confidence = 1 - (1 - options_.confidence) * share_;
  return options;
}

bool AbRule::is_clear(const DiffView &diff) const {
  return std::all_of(diff.rows().begin(), diff.rows().end(), [&](const DiffRow &row) {
    return !row.decides || row.verdict != "undecided" || row.share * largest_change(row) <= options_.min_effect;
  });
}

std::string ab_sentence(const DiffView &diff, const opd_diff_options &options) {
  if (std::string why = diff.obstacle(); !why.empty()) return why;
  const double limit = options.fail_above >= 0 ? options.fail_above : options.min_effect;
  std::vector<std::string> parts = {total_text(diff.total())};
  size_t changed = 0, slower = 0, open = 0;
  for (const DiffRow &row : diff.rows()) {
    if (row.is_total() || &row == &diff.total() || row.share < options.min_share) continue;
    slower += row.verdict == "regression";
    open += row.verdict == "undecided" && !(row.high <= limit);
    if (!row.is_changed() || row.kind == "replaced" || ++changed > kMostNames) continue;
    const std::string name = printable(row.name);
    if (row.verdict == "new") parts.push_back(cat(name, " is new (", short_percent(row.effect), " of the total)"));
    else if (row.verdict == "vanished") parts.push_back(cat(name, " is gone (", short_percent(row.effect), ")"));
    else parts.push_back(cat(name, " ", short_percent(row.change)));
  }
  if (changed > kMostNames) parts.push_back(cat(changed - kMostNames, " more changed"));
  if (open > 0) parts.push_back(counted(static_cast<int64_t>(open), "operator") + " undecided");
  else if (slower == 0 && diff.total().verdict != "regression" && diff.total().verdict != "undecided")
    parts.push_back("nothing got slower");
  return join(parts, "; ");
}

}  // namespace opd::cli
