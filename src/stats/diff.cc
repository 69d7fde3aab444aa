// The comparison: a rank test for each row, autocorrelation estimated from all operators together, and a correction for
// the number of tests. docs/diff.md gives the reasons.
#include "stats/diff.h"

#include <cfloat>
#include <cmath>
#include <numeric>

#include "stats/mann_whitney.h"

namespace opd {
namespace {

constexpr double kLeastValue = 1e-4;  // µs; a clock may read 0 for shorter times
constexpr double kEqualShare = 0.1;   // this share of the allowed errors is divided equally, the rest by time
constexpr double kPower = 0.9;
// Chosen by simulation. autocorrelation_bound_test.cc shows that no test needs fewer than eight.
constexpr size_t kLeastThatShowDrift = 15;

double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 ? *middle : std::midpoint(*middle, *std::max_element(values.begin(), middle));
}

double logarithm(double value) { return std::log(std::clamp(value, kLeastValue, DBL_MAX)); }

std::vector<double> logarithms(const std::vector<double> &values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(logarithm(value));
  return logs;
}

// The pooled standard deviation within the samples; NaN if no sample has two values.
double pooled_deviation(std::initializer_list<std::vector<double>> samples) {
  double squares = 0, freedom = 0;
  for (const auto &sample : samples) {
    const double mean = std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
    for (const double value : sample) squares += (value - mean) * (value - mean);
    freedom += static_cast<double>(sample.size()) - 1;
  }
  return std::sqrt(squares / freedom);
}

// Operators of one machine drift together, so the prior of each is the mean of what all operators show (empirical
// Bayes). The computed rows are left out, because they would count the operators twice.
AutocorrelationGrid::Weights prior_of_operators(const std::vector<RankTest> &tests,
                                                const std::vector<DiffOperator *> &rows) {
  constexpr int kSteps = 3;
  AutocorrelationGrid::Weights prior = AutocorrelationGrid::kPrior;
  for (int step = 0; step < kSteps; ++step) {
    AutocorrelationGrid::Weights sum = AutocorrelationGrid::kPrior;
    double count = 1;
    for (size_t i = 0; i < tests.size(); ++i) {
      if (rows[i]->kind != DiffRow::kOperator) continue;
      const auto posterior = tests[i].posterior(prior);
      for (size_t k = 0; k < sum.size(); ++k) sum[k] += posterior[k];
      ++count;
    }
    if (count <= 2) break;  // a single operator would be counted twice
    for (size_t k = 0; k < sum.size(); ++k) prior[k] = sum[k] / count;
  }
  return prior;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"same", "regression", "improvement", "undecided", "new", "vanished"};
  return kNames[static_cast<size_t>(verdict)];
}

Ref<Diff> Diff::of_times(std::span<const double> before, std::span<const double> after, DiffOptions options) {
  auto diff = make_object<Diff>(std::move(options));
  DiffOperator &call = diff->operators.emplace_back();
  call.name = "call";
  const auto read = [](std::span<const double> times, RunValues &values, std::vector<int64_t> &turns) {
    for (const double seconds : times) {
      values.add(static_cast<uint32_t>(turns.size()), seconds * 1e6, 1);
      turns.push_back(-1);
    }
  };
  read(before, call.before, diff->turns_before);
  read(after, call.after, diff->turns_after);
  diff->compare();
  return diff;
}

// The differences of all pairs in which both runs have the operator.
std::vector<double> Diff::differences(const DiffOperator &one) const {
  const auto value_in = [](const RunValues &side, uint32_t run) {
    const auto found = std::lower_bound(side.runs.begin(), side.runs.end(), run);
    return found == side.runs.end() || *found != run ? NAN
                                                     : side.values[static_cast<size_t>(found - side.runs.begin())];
  };
  std::vector<double> differences;
  for (const auto &[old_run, new_run] : pairs_) {
    const double old_value = value_in(one.before, old_run), new_value = value_in(one.after, new_run);
    if (!std::isnan(old_value) && !std::isnan(new_value))
      differences.push_back(logarithm(new_value) - logarithm(old_value));
  }
  return differences;
}

void Diff::compare() {
  find_pairs();
  num_tested_ = static_cast<size_t>(
      std::count_if(operators.begin(), operators.end(), [](const DiffOperator &one) { return one.is_tested(); }));
  ExactTails tails(num_tested_);
  std::vector<RankTest> tests;
  std::vector<DiffOperator *> tested;
  tests.reserve(num_tested_);
  for (DiffOperator &one : operators) {
    one.before_median = median(one.before.values), one.after_median = median(one.after.values);
    one.before_calls = median(one.before.calls), one.after_calls = median(one.after.calls);
    one.shift = one.low = one.high = NAN;
    if (!one.is_tested()) {
      one.verdict = one.before.values.empty() ? Verdict::is_new : Verdict::vanished;
      continue;
    }
    const std::vector<double> pairs = differences(one);
    if (is_paired_ && !pairs.empty()) tests.push_back(RankTest::of_pairs(pairs, tails));
    else tests.emplace_back(logarithms(one.before.values), logarithms(one.after.values), tails);
    tested.push_back(&one);
  }
  const auto prior = prior_of_operators(tests, tested);
  for (size_t i = 0; i < tests.size(); ++i) {
    DiffOperator &one = *tested[i];
    tests[i].weigh(tests[i].posterior(one.kind == DiffRow::kOperator ? prior : AutocorrelationGrid::kPrior));
    const RankTest::Interval interval = tests[i].interval(options.confidence);
    one.autocorrelation = mean_phi(tests[i].weights());
    one.p_value = tests[i].p_value();
    one.shift = tests[i].shift();
    one.low = interval.low, one.high = interval.high;
  }
  adjust();
  for (DiffOperator *one : tested) judge(*one);
  judge_importance();
}

// Benjamini-Hochberg with weights: a row's allowed errors are proportional to its time, so the total has as many as all
// operators together. The weights are computed from both sides together, so they do not depend on the p-values. If many
// rows changed, a row with much time could count as changed although its p-value is far above the level. So an adjusted
// p-value is at least the row's own p-value. Then a change's confidence interval, at 1 - level, does not contain 0.
void Diff::adjust() {
  std::vector<DiffOperator *> order;
  double largest = 0, total = 0;
  for (DiffOperator &one : operators) {
    if (!one.is_tested()) continue;
    std::vector<double> all(one.before.values);
    all.insert(all.end(), one.after.values.begin(), one.after.values.end());
    largest = std::max(largest, one.weight = median(std::move(all)));
    order.push_back(&one);
  }
  for (DiffOperator *one : order) total += one->weight = largest > 0 ? one->weight / largest : 1;  // avoids overflow
  const auto count = static_cast<double>(order.size());
  for (DiffOperator *one : order) one->weight = kEqualShare + (1 - kEqualShare) * count * (one->weight / total);
  std::stable_sort(order.begin(), order.end(), [](const DiffOperator *a, const DiffOperator *b) {
    return a->p_value / a->weight < b->p_value / b->weight;
  });
  double least = 1;
  for (size_t i = order.size(); i-- > 0;) {
    least = std::min(least, order[i]->p_value / order[i]->weight * count / static_cast<double>(i + 1));
    order[i]->adjusted_p = std::max(least, order[i]->p_value);
  }
}

void Diff::judge(DiffOperator &one) const {
  const double matters = std::log1p(options.min_effect);
  if (one.adjusted_p <= options.level && std::abs(one.shift) >= matters && one.shift != 0)
    one.verdict = one.shift > 0 ? Verdict::regression : Verdict::improvement;
  else one.verdict = one.low >= -matters && one.high <= matters ? Verdict::same : Verdict::undecided;
}

// The verdict of the diff depends on these rows: the total, and operators with a large enough share of either side's
// time.
void Diff::judge_importance() {
  double before = 0, after = 0;
  for (const DiffOperator &one : operators)
    if (one.kind == DiffRow::kTotal || operators.size() == 1) before = one.before_median, after = one.after_median;
  const auto share = [](double part, double all) { return part > 0 && all > 0 ? part / all : 0; };
  const auto or_0 = [](double value) { return std::isnan(value) ? 0 : value; };
  for (DiffOperator &one : operators) {
    one.share = std::max(share(one.before_median, before), share(one.after_median, after));
    one.effect = before > 0 ? (or_0(one.after_median) - or_0(one.before_median)) / before : NAN;
    one.decides =
        one.is_tested() && (one.share >= options.min_share || one.kind == DiffRow::kTotal || operators.size() == 1);
    one.fails = options.fail_above >= 0 && one.decides && one.verdict == Verdict::regression &&
                std::expm1(one.shift) > options.fail_above;
  }
}

Verdict Diff::verdict() const {
  bool is_open = false, is_better = false, is_known = false;
  for (const DiffOperator &one : operators) {
    if (!one.decides) continue;
    if (one.verdict == Verdict::regression) return Verdict::regression;
    is_known = true;
    if (one.verdict == Verdict::improvement) is_better = true;
    else if (one.verdict != Verdict::same) is_open = true;
  }
  if (is_open || (!is_known && !operators.empty())) return Verdict::undecided;
  return is_better ? Verdict::improvement : Verdict::same;
}

std::string Diff::condition() const {
  for (const DiffOperator &one : operators)
    if ((one.verdict == Verdict::regression || one.verdict == Verdict::improvement) &&
        std::min(one.before.values.size(), one.after.values.size()) < kLeastThatShowDrift)
      return concat("With fewer than ", kLeastThatShowDrift,
                    " runs on a side, these verdicts hold only if runs are independent of each other: so few do not "
                    "show how much they resemble their neighbours.");
  return "";
}

// Uses the normal approximation. The noise is estimated from the interval if there is one. The result is at least large
// enough that the least possible p-value is significant.
int64_t Diff::runs_needed(const DiffOperator &one, double effect) const {
  constexpr double kMost = 1e9, kRankEfficiency = 3 / 3.141592653589793;  // efficiency for normal noise
  if (!one.is_tested() || !(effect > 0)) return -1;
  const double tail = options.level * std::min(one.weight / static_cast<double>(num_tested_), 1.0);
  const std::vector<double> pairs = differences(one);
  const bool paired = is_paired_ && !pairs.empty();
  const auto n = static_cast<double>(paired ? pairs.size() : one.before.values.size());
  const double scale = paired ? 1 / n : 1 / n + 1 / static_cast<double>(one.after.values.size());
  double deviation;
  if (std::isfinite(one.high - one.low))
    deviation = (one.high - one.low) / 2 / (normal_quantile((1 - options.confidence) / 2) * std::sqrt(scale));
  else
    deviation = (paired ? pooled_deviation({pairs})
                        : pooled_deviation({logarithms(one.before.values), logarithms(one.after.values)})) /
                std::sqrt(kRankEfficiency);
  size_t least = 1;
  while (least < 1000 && (paired ? least_p_value_of_pairs(least) : least_p_value(least, least)) > tail) ++least;
  const double z = (normal_quantile(tail / 2) + normal_quantile(1 - kPower)) * deviation / std::log1p(effect);
  if (!std::isfinite(z)) return static_cast<int64_t>(least);
  return static_cast<int64_t>(std::clamp(std::ceil((paired ? 1 : 2) * z * z), static_cast<double>(least), kMost));
}

// ---- the report: the total first, then the operators with the largest effect on it

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
