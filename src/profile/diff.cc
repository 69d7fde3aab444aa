// The comparison itself: a rank test per operator, autocorrelation estimated over all of them, and a correction for
// their number. docs/diff.md gives the reasons.
#include "profile/diff.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "profile/diff_runs.h"
#include "profile/rank_test.h"

namespace opd {
namespace {

constexpr double kLeastValue = 1e-4;  // in µs; clocks read 0 for what is shorter
constexpr double kEqualShare = 0.1;   // of the false verdicts is shared out evenly, the rest by time
constexpr double kPower = 0.9;

double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::vector<double> logarithms(const std::vector<double> &values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(std::max(value, kLeastValue)));
  return logs;
}

// Standard deviation within the two samples; NaN where none of them has two values.
double pooled_deviation(const std::vector<double> &a, const std::vector<double> &b) {
  double squares = 0;
  for (const auto &sample : {a, b}) {
    const double mean = std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
    for (const double value : sample) squares += (value - mean) * (value - mean);
  }
  return std::sqrt(squares / (static_cast<double>(a.size() + b.size()) - 2));
}

// Operators of one machine drift together, so that each one's autocorrelation is drawn to the mean of all, by as much
// as they differ no more than chance would have it (empirical Bayes).
std::vector<double> believed_autocorrelations(const std::vector<RankTest> &tests) {
  double mean = 0, expected = 0, squares = 0, count = 0;
  for (const RankTest &test : tests)
    if (const auto &own = test.autocorrelation(); own.variance > 0)
      mean += own.phi, expected += own.variance, squares += own.phi * own.phi, ++count;
  std::vector<double> believed(tests.size());
  if (count == 0) return believed;
  mean /= count;
  expected *= std::max(0.05, 1 - mean * mean) / count;
  double between = INFINITY;  // variance of the true ones
  if (count > 1) {
    between = std::max(0.0, (squares - count * mean * mean) / (count - 1) - expected);
    if (between < 2 * expected * std::sqrt(2 / (count - 1))) between = 0;
  }
  const double own_weight = std::isinf(between) ? 1 : between / (between + expected);
  const double error = std::sqrt(expected * (own_weight + (1 - own_weight) / count));
  for (size_t i = 0; i < tests.size(); ++i) {
    const auto &own = tests[i].autocorrelation();
    const double phi = own.variance > 0 ? mean + own_weight * (own.phi - mean) : mean;
    believed[i] = believed_autocorrelation(phi, error);
  }
  return believed;
}

}  // namespace

std::string_view verdict_name(int32_t verdict) {
  constexpr std::string_view kNames[] = {"same", "regression", "improvement", "undecided", "new", "vanished"};
  return verdict >= 0 && static_cast<size_t>(verdict) < std::size(kNames) ? kNames[verdict] : "?";
}

int32_t Diff::type() {
  static const int32_t index = register_type("opdyno.Diff");
  return index;
}

Ref<Diff> Diff::of_reports(std::span<const Report *const> before, std::span<const Report *const> after, DiffPlan plan) {
  auto diff = make_object<Diff>(std::move(plan));
  RunReader old_runs(*diff, &DiffOperator::before, "before");
  for (const Report *report : before) old_runs.add(*report);
  RunReader new_runs(*diff, &DiffOperator::after, "after");
  for (const Report *report : after) new_runs.add(*report);
  diff->num_before = old_runs.num_runs(), diff->num_after = new_runs.num_runs();
  diff->compare();
  return diff;
}

Ref<Diff> Diff::of_benchmarks(const Benchmark &before, const Benchmark &after, DiffPlan plan) {
  auto diff = make_object<Diff>(std::move(plan));
  DiffOperator &call = diff->operators.emplace_back();
  call.name = "call";
  for (const double seconds : before.repeats()) call.before.values.push_back(seconds * 1e6);
  for (const double seconds : after.repeats()) call.after.values.push_back(seconds * 1e6);
  diff->num_before = call.before.values.size(), diff->num_after = call.after.values.size();
  diff->compare();
  return diff;
}

size_t Diff::num_tested() const {
  return static_cast<size_t>(
      std::count_if(operators.begin(), operators.end(), [](const DiffOperator &one) { return one.is_tested(); }));
}

void Diff::compare() {
  ExactTails tails(num_tested());
  std::vector<RankTest> tests;
  std::vector<DiffOperator *> tested;
  tests.reserve(operators.size());
  for (DiffOperator &one : operators) {
    one.before_median = median(one.before.values);
    one.after_median = median(one.after.values);
    one.shift = one.low = one.high = NAN;
    if (one.is_tested()) {
      tests.emplace_back(logarithms(one.before.values), logarithms(one.after.values), tails);
      tested.push_back(&one);
    } else {
      one.verdict = one.before.values.empty() ? OPD_VERDICT_NEW : OPD_VERDICT_VANISHED;
    }
  }
  const std::vector<double> believed = believed_autocorrelations(tests);
  for (size_t i = 0; i < tests.size(); ++i) {
    tests[i].believe(believed[i]);
    const RankTest::Interval interval = tests[i].interval(plan.confidence);
    tested[i]->autocorrelation = believed[i];
    tested[i]->p_value = tests[i].p_value();
    tested[i]->shift = tests[i].shift();
    tested[i]->low = interval.low, tested[i]->high = interval.high;
  }
  adjust();
  for (DiffOperator *one : tested) judge(*one);
}

// Benjamini-Hochberg with weights: an operator may err as often as it takes time. The weights do not know which run
// belongs to which side, so that they say nothing of the p-values.
void Diff::adjust() {
  std::vector<DiffOperator *> order;
  double total = 0;
  for (DiffOperator &one : operators) {
    if (!one.is_tested()) continue;
    std::vector<double> all(one.before.values);
    all.insert(all.end(), one.after.values.begin(), one.after.values.end());
    total += one.share = median(std::move(all));
    order.push_back(&one);
  }
  const auto count = static_cast<double>(order.size());
  for (DiffOperator *one : order)
    one->share = total > 0 ? kEqualShare + (1 - kEqualShare) * count * (one->share / total) : 1;
  std::stable_sort(order.begin(), order.end(), [](const DiffOperator *a, const DiffOperator *b) {
    return a->p_value / a->share < b->p_value / b->share;
  });
  double least = 1;
  for (size_t i = order.size(); i-- > 0;) {
    least = std::min(least, order[i]->p_value / order[i]->share * count / static_cast<double>(i + 1));
    order[i]->adjusted_p = least;
  }
}

void Diff::judge(DiffOperator &one) const {
  const double matters = std::log1p(plan.min_effect);
  if (one.adjusted_p <= plan.level && std::abs(one.shift) >= matters && one.shift != 0)
    one.verdict = one.shift > 0 ? OPD_VERDICT_REGRESSION : OPD_VERDICT_IMPROVEMENT;
  else one.verdict = one.low >= -matters && one.high <= matters ? OPD_VERDICT_SAME : OPD_VERDICT_UNDECIDED;
}

opd_verdict Diff::verdict() const {
  bool is_open = false, is_better = false;
  for (const DiffOperator &one : operators) {
    if (one.verdict == OPD_VERDICT_REGRESSION) return OPD_VERDICT_REGRESSION;
    if (one.verdict == OPD_VERDICT_IMPROVEMENT) is_better = true;
    else if (one.verdict != OPD_VERDICT_SAME) is_open = true;
  }
  return is_open ? OPD_VERDICT_UNDECIDED : is_better ? OPD_VERDICT_IMPROVEMENT : OPD_VERDICT_SAME;
}

// As many as the normal approximation asks for, of a noise that is read off the interval where there is one, and no
// fewer than make the least possible p-value small enough.
int64_t Diff::runs_needed(const DiffOperator &one, double effect) const {
  constexpr double kMost = 1e9, kRankEfficiency = 3 / 3.141592653589793;  // of the test, for normal noise
  if (!one.is_tested() || !(effect > 0)) return -1;
  const double tail = plan.level * std::min(one.share / static_cast<double>(num_tested()), 1.0);
  const auto n = static_cast<double>(one.before.values.size()), m = static_cast<double>(one.after.values.size());
  double deviation;
  if (std::isfinite(one.high - one.low)) {
    const double width = normal_quantile((1 - plan.confidence) / 2) * std::sqrt(1 / n + 1 / m);
    deviation = (one.high - one.low) / 2 / width;
  } else {
    deviation =
        pooled_deviation(logarithms(one.before.values), logarithms(one.after.values)) / std::sqrt(kRankEfficiency);
  }
  size_t least = 1;
  while (least < 1000 && least_p_value(least, least) > tail) ++least;
  const double z = (normal_quantile(tail / 2) + normal_quantile(1 - kPower)) * deviation / std::log1p(effect);
  if (!std::isfinite(z)) return static_cast<int64_t>(least);
  return static_cast<int64_t>(std::clamp(std::ceil(2 * z * z), static_cast<double>(least), kMost));
}

Ref<Report> Diff::to_report() const {
  ReportBuilder builder;
  const auto set = [&](std::string_view column, Metric metric) { builder.set(builder.column(column), metric); };
  const auto number = [&](std::string_view column, MetricKind kind, double value) {
    if (!std::isnan(value)) set(column, Metric::of_number(kind, value));
  };
  const bool is_time = plan.metric == "Duration (us)";
  const MetricKind kind = is_time ? MetricKind::kDuration : MetricKind::kRatio;
  for (const DiffOperator &one : operators) {
    builder.begin_row();
    set("Name", builder.text(one.name));
    if (!one.device.empty()) set("Device", builder.text(one.device));
    if (!one.shapes.empty()) set("Argument Shapes", builder.text(one.shapes));
    if (is_time) number("Duration (us)", kind, std::isnan(one.after_median) ? one.before_median : one.after_median);
    number(is_time ? "Before (us)" : "Before", kind, one.before_median);
    number(is_time ? "After (us)" : "After", kind, one.after_median);
    number("Change", MetricKind::kRatio, std::expm1(one.shift));
    if (std::isfinite(one.high - one.low)) {
      number("Change Low", MetricKind::kRatio, std::expm1(one.low));
      number("Change High", MetricKind::kRatio, std::expm1(one.high));
    }
    set("Verdict", builder.text(verdict_name(one.verdict)));
    set("Runs Before", Metric::of_count(static_cast<int64_t>(one.before.values.size())));
    set("Runs After", Metric::of_count(static_cast<int64_t>(one.after.values.size())));
    if (!one.is_tested()) continue;
    number("P Value", MetricKind::kRatio, one.p_value);
    number("Adjusted P", MetricKind::kRatio, one.adjusted_p);
    number("Autocorrelation", MetricKind::kRatio, one.autocorrelation);
    set("Runs Needed", Metric::of_count(runs_needed(one, plan.min_effect)));
  }
  builder.configure("Verdict", builder.text(verdict_name(verdict())));
  builder.configure("Metric", builder.text(plan.metric));
  builder.configure("Runs before", Metric::of_count(static_cast<int64_t>(num_before)));
  builder.configure("Runs after", Metric::of_count(static_cast<int64_t>(num_after)));
  builder.configure("Minimum effect", Metric::of_number(MetricKind::kRatio, plan.min_effect));
  builder.configure("Level", Metric::of_number(MetricKind::kRatio, plan.level));
  builder.configure("Confidence", Metric::of_number(MetricKind::kRatio, plan.confidence));
  return builder.finish();
}

}  // namespace opd
