// Makes a report of a diff: the total first, then the operators with the largest effect on it.
#include <cmath>

#include "stats/diff.h"

namespace opd {
namespace {

bool is_changed(const DiffOperator &one) { return one.verdict != Verdict::same && one.verdict != Verdict::undecided; }

std::vector<const DiffOperator *> ordered(const std::vector<DiffOperator> &rows) {
  std::vector<const DiffOperator *> order;
  for (const DiffOperator &one : rows) order.push_back(&one);
  const auto rank = [](const DiffOperator &one) { return one.kind == DiffRow::kTotal ? 0 : is_changed(one) ? 1 : 2; };
  const auto size = [](const DiffOperator &one) {
    return is_changed(one) && std::isfinite(one.effect) ? std::abs(one.effect) : one.share;
  };
  std::stable_sort(order.begin(), order.end(), [&](const DiffOperator *a, const DiffOperator *b) {
    return rank(*a) != rank(*b) ? rank(*a) < rank(*b) : size(*a) > size(*b);
  });
  return order;
}

std::string_view kind_of(const DiffOperator &one) {
  constexpr std::string_view kNames[] = {"operator", "total", "replaced"};
  return kNames[static_cast<size_t>(one.kind)];
}

class DiffReport {
 public:
  explicit DiffReport(const Diff &diff) : diff_(diff), is_time_(diff.options.is_time()) {}

  Ref<Report> make() {
    for (const DiffOperator *one : ordered(diff_.operators)) add(*one);
    configure();
    return builder_.finish();
  }

 private:
  void set(std::string_view column, Metric metric) { builder_.set(builder_.column(column), metric); }
  void count(std::string_view column, size_t value) { set(column, Metric::of_count(static_cast<int64_t>(value))); }
  void number(std::string_view column, double value, MetricKind kind = MetricKind::kRatio) {
    if (!std::isnan(value)) set(column, Metric::of_number(kind, value));
  }

  void add(const DiffOperator &one) {
    const MetricKind kind = is_time_ ? MetricKind::kDuration : MetricKind::kRatio;
    builder_.begin_row();
    set("Name", builder_.text(one.name));
    if (!one.device.empty()) set("Device", builder_.text(one.device));
    if (!one.shapes.empty()) set("Argument Shapes", builder_.text(one.shapes));
    set("Kind", builder_.text(kind_of(one)));
    if (is_time_ && one.kind == DiffRow::kOperator)  // the total would double the column's sum
      number("Duration (us)", std::isnan(one.after_median) ? one.before_median : one.after_median, kind);
    number(is_time_ ? "Before (us)" : "Before", one.before_median, kind);
    number(is_time_ ? "After (us)" : "After", one.after_median, kind);
    number("Change", std::expm1(one.shift));
    if (std::isfinite(one.high - one.low)) {
      number("Change Low", std::expm1(one.low));
      number("Change High", std::expm1(one.high));
    }
    number("Effect", one.effect);
    number("Share", one.share);
    set("Verdict", builder_.text(verdict_name(one.verdict)));
    count("Runs Before", one.before.values.size());
    count("Runs After", one.after.values.size());
    number("Calls Before", one.before_calls);
    number("Calls After", one.after_calls);
    count("Decides", one.decides);
    count("Fails", one.fails);
    if (!one.is_tested()) return;
    number("P Value", one.p_value);
    number("Adjusted P", one.adjusted_p);
    number("Autocorrelation", one.autocorrelation);
    set("Runs Needed", Metric::of_count(diff_.runs_needed(one, diff_.options.effect_of_interest())));
  }

  void configure() {
    const DiffOptions &options = diff_.options;
    const auto ratio = [](double value) { return Metric::of_number(MetricKind::kRatio, value); };
    const auto count = [](size_t value) { return Metric::of_count(static_cast<int64_t>(value)); };
    size_t fails = 0;
    for (const DiffOperator &one : diff_.operators) fails += one.fails;
    builder_.configure("Verdict", builder_.text(verdict_name(diff_.verdict())));
    builder_.configure("Fails", count(fails));
    builder_.configure("Metric", builder_.text(options.metric));
    builder_.configure("Runs before", count(diff_.num_before()));
    builder_.configure("Runs after", count(diff_.num_after()));
    builder_.configure("Paired", count(diff_.is_paired()));
    if (!diff_.pairing_note().empty()) builder_.configure(kNoteEntry, builder_.text(diff_.pairing_note()));
    builder_.configure("Per call", count(diff_.is_per_call()));
    builder_.configure("Minimum effect", ratio(options.min_effect));
    builder_.configure("Minimum share", ratio(options.min_share));
    if (const std::string condition = diff_.condition(); !condition.empty())
      builder_.configure("Condition", builder_.text(condition));
    if (options.fail_above >= 0) builder_.configure("Fail above", ratio(options.fail_above));
    builder_.configure("Level", ratio(options.level));
    builder_.configure("Confidence", ratio(options.confidence));
  }

  const Diff &diff_;
  const bool is_time_;
  ReportBuilder builder_;
};

}  // namespace

Ref<Report> Diff::to_report() const { return DiffReport(*this).make(); }

}  // namespace opd
