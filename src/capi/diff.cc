// Implements include/opdyno/diff.h.
#include "stats/diff.h"

#include "capi/handles.h"
#include "measure/benchmark.h"

using namespace opd;

namespace {

constexpr const char *kDefaultMetric = "Duration (us)";

DiffOptions options_of(const opd_diff_options *options) {
  const auto how = read_options(options, opd_diff_options_init);
  const auto expect_between = [](const char *name, double value, double least, double most) {
    if (!(value >= least && value <= most))
      fail(OPD_INVALID_ARGUMENT, "option ", name, " is ", value, "; it must lie between ", least, " and ", most);
  };
  expect_between("min_effect", how.min_effect, 0, 1000);
  expect_between("level", how.level, 1e-12, 0.5);
  expect_between("confidence", how.confidence, 0.5, 1 - 1e-12);
  expect_between("min_share", how.min_share, 0, 1);
  require(how.fail_above <= 1000, "option fail_above is ", how.fail_above, "; it must be at most 1000");  // NaN fails
  require(how.is_paired == 0 || how.is_paired == 1, "option is_paired is ", how.is_paired, "; it must be 0 or 1");
  return {how.min_effect, how.level,      how.confidence,    how.metric ? how.metric : kDefaultMetric,
          how.min_share,  how.fail_above, how.is_paired != 0};
}

std::vector<const Report *> reports_of(const opd_report *const *reports, int32_t num, const char *name) {
  require(reports && num > 0, "at least one report is expected ", name);
  return objects_of<const Report *>(std::span(reports, static_cast<size_t>(num)), name);
}

}  // namespace

opd_error *opd_report_diff(const opd_report *const *before, int32_t num_before, const opd_report *const *after,
                           int32_t num_after, const opd_diff_options *options, opd_report **out_report) {
  return guard([&] {
    OPD_REQUIRE(out_report);
    const auto diff = Diff::of_reports(reports_of(before, num_before, "before"), reports_of(after, num_after, "after"),
                                       options_of(options));
    *out_report = wrap<opd_report>(diff->to_report());
  });
}

opd_error *opd_benchmark_diff(const opd_benchmark *before, const opd_benchmark *after, const opd_diff_options *options,
                              opd_report **out_report) {
  return guard([&] {
    OPD_REQUIRE(before, after, out_report);
    const auto diff =
        Diff::of_times(unwrap<Benchmark>(before)->repeats(), unwrap<Benchmark>(after)->repeats(), options_of(options));
    *out_report = wrap<opd_report>(diff->to_report());
  });
}
