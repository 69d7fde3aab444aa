// What changed between two sets of runs, operator by operator.
#pragma once
#include <opdyno/diff.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "profile/benchmark.h"
#include "profile/report.h"

namespace opd {

struct DiffPlan {
  double min_effect, level, confidence;
  std::string metric;
};

// A value for each run that has the operator, in the order of the runs.
struct RunValues {
  std::vector<double> values;
  std::vector<uint32_t> runs;
  void add(uint32_t run, double value) {
    auto place = runs.end();
    if (!runs.empty() && runs.back() >= run) place = std::lower_bound(runs.begin(), runs.end(), run);
    const auto index = place - runs.begin();
    if (place == runs.end() || *place != run) {
      runs.insert(place, run);
      values.insert(values.begin() + index, 0);
    }
    values[static_cast<size_t>(index)] += value;
  }
};

struct DiffOperator {
  std::string name, shapes, device;
  RunValues before, after;
  opd_verdict verdict = OPD_VERDICT_SAME;
  double before_median, after_median, shift, low, high;  // these three of the logarithms
  double p_value = 1, adjusted_p = 1, autocorrelation = 0;
  double share = 1;  // of the false verdicts that are allowed; 1 on average
  bool is_tested() const { return !before.values.empty() && !after.values.empty(); }
};

struct Diff : Object {
  static int32_t type();  // "opdyno.Diff"

  static Ref<Diff> of_reports(std::span<const Report *const> before, std::span<const Report *const> after,
                              DiffPlan plan);
  static Ref<Diff> of_benchmarks(const Benchmark &before, const Benchmark &after, DiffPlan plan);
  explicit Diff(DiffPlan how) : plan(std::move(how)) {}

  opd_verdict verdict() const;
  int64_t runs_needed(const DiffOperator &, double effect) const;
  Ref<Report> to_report() const;

  const DiffPlan plan;
  std::vector<DiffOperator> operators;
  size_t num_before = 0, num_after = 0;  // runs

 private:
  void compare();
  void adjust();
  void judge(DiffOperator &) const;
  size_t num_tested() const;
};

std::string_view verdict_name(int32_t verdict);

}  // namespace opd
