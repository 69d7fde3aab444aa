// include/opdyno/diff.h
#include "profile/diff.h"

#include <cmath>

#include "capi/handles.h"

using namespace opd;

namespace {

constexpr const char *kDefaultMetric = "Duration (us)";

DiffPlan plan_of(const opd_diff_options *options) {
  const auto how = read_sized(options, opd_diff_options_init);
  const auto expect_between = [](const char *name, double value, double least, double most) {
    if (!(value >= least && value <= most))
      fail(OPD_INVALID_ARGUMENT, "option ", name, " is ", value, "; it must lie between ", least, " and ", most);
  };
  expect_between("min_effect", how.min_effect, 0, 1000);
  expect_between("level", how.level, 1e-12, 0.5);
  expect_between("confidence", how.confidence, 0.5, 1 - 1e-12);
  return {how.min_effect, how.level, how.confidence, how.metric ? how.metric : kDefaultMetric};
}

std::vector<const Report *> reports_of(const opd_report *const *reports, size_t num, const char *name) {
  require(reports && num > 0, "at least one report is expected ", name);
  std::vector<const Report *> out;
  for (size_t i = 0; i < num; ++i) {
    require(reports[i], "report ", i, " of those ", name, " is NULL");
    out.push_back(unwrap<Report>(reports[i]));
  }
  return out;
}

void fill(opd_diff_operator &out, const Diff &diff, const DiffOperator &one) {
  out.verdict = one.verdict;
  out.name = one.name.c_str(), out.shapes = one.shapes.c_str(), out.device = one.device.c_str();
  out.before_runs = static_cast<int64_t>(one.before.values.size());
  out.after_runs = static_cast<int64_t>(one.after.values.size());
  out.before = one.before_median, out.after = one.after_median;
  out.change = std::expm1(one.shift), out.low = std::expm1(one.low), out.high = std::expm1(one.high);
  out.p_value = one.is_tested() ? one.p_value : NAN;
  out.adjusted_p = one.is_tested() ? one.adjusted_p : NAN;
  out.autocorrelation = one.is_tested() ? one.autocorrelation : NAN;
  out.runs_needed = diff.runs_needed(one, diff.plan.min_effect);
}

}  // namespace

const char *opd_verdict_name(int32_t verdict) { return verdict_name(verdict).data(); }

void opd_diff_options_init(opd_diff_options *options) {
  if (options) *options = {sizeof *options, 0, 0.01, 0.05, 0.95, nullptr};
}

opd_error *opd_report_diff(const opd_report *const *before, size_t num_before, const opd_report *const *after,
                           size_t num_after, const opd_diff_options *options, opd_diff **out_diff) {
  return guard([&] {
    require(out_diff, "out_diff must not be NULL");
    *out_diff = wrap<opd_diff>(Diff::of_reports(reports_of(before, num_before, "before"),
                                                reports_of(after, num_after, "after"), plan_of(options)));
  });
}

opd_error *opd_benchmark_diff(const opd_benchmark *before, const opd_benchmark *after, const opd_diff_options *options,
                              opd_diff **out_diff) {
  return guard([&] {
    require(before && after && out_diff, "before, after and out_diff must not be NULL");
    *out_diff =
        wrap<opd_diff>(Diff::of_benchmarks(*unwrap<Benchmark>(before), *unwrap<Benchmark>(after), plan_of(options)));
  });
}

size_t opd_diff_operator_count(const opd_diff *diff) { return diff ? unwrap<Diff>(diff)->operators.size() : 0; }

opd_error *opd_diff_get_operator(const opd_diff *diff, size_t index, opd_diff_operator *out_operator) {
  return guard([&] {
    require(diff && out_operator, "diff and out_operator must not be NULL");
    const Diff &its = *unwrap<Diff>(diff);
    if (index >= its.operators.size())
      fail(OPD_OUT_OF_RANGE, "operator ", index, " of a diff of ", its.operators.size(), " was asked for");
    opd_diff_operator filled{};
    fill(filled, its, its.operators[index]);
    give_sized(filled, out_operator);
  });
}

opd_verdict opd_diff_verdict(const opd_diff *diff) {
  return diff ? unwrap<Diff>(diff)->verdict() : OPD_VERDICT_UNDECIDED;
}

int64_t opd_diff_runs_needed(const opd_diff *diff, size_t index, double effect) {
  if (!diff || index >= unwrap<Diff>(diff)->operators.size()) return -1;
  return unwrap<Diff>(diff)->runs_needed(unwrap<Diff>(diff)->operators[index], effect);
}

opd_error *opd_diff_to_report(const opd_diff *diff, opd_report **out_report) {
  return guard([&] {
    require(diff && out_report, "diff and out_report must not be NULL");
    *out_report = wrap<opd_report>(unwrap<Diff>(diff)->to_report());
  });
}

void opd_diff_release(opd_diff *diff) { release_handle(diff); }
