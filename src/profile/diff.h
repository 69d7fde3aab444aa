// What changed between two sets of runs: in total, and operator by operator.
#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "profile/benchmark.h"
#include "profile/report.h"

namespace opd {

enum class Verdict {
  same,         // the interval of the change lies within the minimum effect
  regression,   // slower by the minimum effect or more, and not by chance
  improvement,  // faster, likewise
  undecided,    // the data cannot tell
  is_new,       // in no run before
  vanished      // in no run after
};

struct DiffOptions {
  double min_effect = 0.01, level = 0.05, confidence = 0.95;
  std::string metric = "Duration (us)";
  double min_share = 0.01;
  double fail_above = -1;  // negative: nothing fails
  bool is_paired = false;  // the i-th run before belongs to the i-th run after

  bool is_time() const { return metric == "Duration (us)"; }
  // The change that runs_needed() is about.
  double effect_of_interest() const { return fail_above > 0 ? fail_above : min_effect; }
};

// The value and the number of calls of an operator in each run that has it, in the order of the runs.
struct RunValues {
  std::vector<double> values, calls;
  std::vector<uint32_t> runs;
  void add(uint32_t run, double value, double num_calls);
};

// What a row of a diff is about.
enum class DiffRow {
  kOperator,
  kTotal,     // all operators together
  kReplaced,  // those that are new, against those that vanished: a fused operator that became two, a new name
};

struct DiffOperator {
  DiffRow kind = DiffRow::kOperator;
  std::string name, shapes, device;
  RunValues before, after;
  Verdict verdict = Verdict::same;
  double before_median, after_median, shift, low, high;  // these three of the logarithms
  double before_calls, after_calls;                      // per run, medians
  double p_value = 1, adjusted_p = 1, autocorrelation = 0;
  double weight = 1;  // of its p-value: how much of the allowed false verdicts; 1 on average
  double share = 0;   // of the total, before or after, whichever is larger
  double effect = 0;  // how much it changes the total, relative to the total before
  bool decides = false, fails = false;
  bool is_tested() const { return !before.values.empty() && !after.values.empty(); }
  bool is_slower_by_more_than(double limit) const;
};

struct Diff : Object {
  static int32_t type();  // "opdyno.Diff"

  static Ref<Diff> of_reports(std::span<const Report *const> before, std::span<const Report *const> after,
                              DiffOptions options);
  static Ref<Diff> of_benchmarks(const Benchmark &before, const Benchmark &after, DiffOptions options);
  explicit Diff(DiffOptions how) : options(std::move(how)) {}

  Verdict verdict() const;
  std::string condition() const;  // on which the verdicts depend; "" if on none
  int64_t runs_needed(const DiffOperator &, double effect) const;
  Ref<Report> to_report() const;

  const DiffOptions options;
  std::vector<DiffOperator> operators;  // those of the reports, then the rows that are computed
  DiffOperator total;                   // while reports are read; becomes the last row then
  // A number for each run that says which run of the other side it belongs to; -1: to none.
  std::vector<int64_t> turns_before, turns_after;
  // How often each run called the program; 0: it does not tell.
  std::vector<double> program_calls_before, program_calls_after;
  size_t num_before() const { return turns_before.size(); }
  size_t num_after() const { return turns_after.size(); }
  bool is_paired() const { return is_paired_; }
  bool is_per_call() const { return is_per_call_; }

 private:
  void compare();
  void add_computed_rows();
  void divide_by_program_calls();
  void find_pairs();
  std::vector<double> differences(const DiffOperator &) const;
  void adjust();
  void judge(DiffOperator &) const;
  void judge_importance();

  bool is_paired_ = false, is_per_call_ = false;
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;  // runs, before and after
  size_t num_tested_ = 0;
};

std::string_view verdict_name(Verdict verdict);

}  // namespace opd
