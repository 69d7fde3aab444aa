// The changes between two sets of runs: in total, and operator by operator.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "report/report.h"

namespace opd {

enum class Verdict {
  same,         // the interval of the change is within the minimum effect
  regression,   // slower by the minimum effect or more; the difference is significant
  improvement,  // faster by the minimum effect or more; the difference is significant
  undecided,    // the data do not suffice
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
  // The change for which runs_needed() is computed.
  double effect_of_interest() const { return fail_above > 0 ? fail_above : min_effect; }
};

// The values and numbers of calls of an operator, for each run that has it, in the order of the runs.
struct RunValues {
  std::vector<double> values, calls;
  std::vector<uint32_t> runs;
  void add(uint32_t run, double value, double num_calls);
};

// The subject of a row of a diff.
enum class DiffRow {
  kOperator,
  kTotal,     // all operators together
  kReplaced,  // all new operators against all vanished ones: a fused operator that was split, a new name
};

struct DiffOperator {
  DiffRow kind = DiffRow::kOperator;
  std::string name, shapes, device;
  RunValues before, after;
  Verdict verdict = Verdict::same;
  double before_median, after_median, shift, low, high;  // shift, low and high are logarithms
  double before_calls, after_calls;                      // per run, medians
  double p_value = 1, adjusted_p = 1, autocorrelation = 0;
  double weight = 1;  // weight of its p-value: its part of the allowed errors; 1 on average
  double share = 0;   // share of the total, before or after, whichever is larger
  double effect = 0;  // its change relative to the total before
  bool decides = false, fails = false;
  bool is_tested() const { return !before.values.empty() && !after.values.empty(); }
};

struct Diff : Object {
  static int32_t type() { return registered_type<"opdyno.Diff">(); }

  static Ref<Diff> of_reports(std::span<const Report *const> before, std::span<const Report *const> after,
                              DiffOptions options);
  // The diff of one call; `before` and `after` are its times in seconds.
  static Ref<Diff> of_times(std::span<const double> before, std::span<const double> after, DiffOptions options);
  explicit Diff(DiffOptions how) : options(std::move(how)) {}

  Verdict verdict() const;
  std::string condition() const;  // a condition of the verdicts; "" if there is none
  int64_t runs_needed(const DiffOperator &, double effect) const;
  Ref<Report> to_report() const;

  const DiffOptions options;
  std::vector<DiffOperator> operators;  // operators of the reports, then the computed rows
  DiffOperator total;                   // used while reports are read; then it becomes the last row
  // For each run, a number shared with its partner on the other side; -1: it has no partner.
  std::vector<int64_t> turns_before, turns_after;
  // The number of program calls in each run; 0: unknown.
  std::vector<double> program_calls_before, program_calls_after;
  size_t num_before() const { return turns_before.size(); }
  size_t num_after() const { return turns_after.size(); }
  bool is_paired() const { return is_paired_; }
  const std::string &pairing_note() const { return pairing_note_; }  // why turns gave no pairs; "" if they did
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
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;  // indices of the runs before and after
  std::string pairing_note_;
  size_t num_tested_ = 0;
};

std::string_view verdict_name(Verdict verdict);

}  // namespace opd
