// Runs two programs on the same input, one after the other, and compares them call by call.
//
// The runs need not alternate. A's values are kept as they are written, within a limit of memory, and B's run is
// compared with them. Calls of A and B can only be aligned once both runs are known, so two alternating threads would
// have to keep the values until then, too.
#pragma once
#include <memory>

#include "compare/recorded_runs.h"
#include "report/report.h"

namespace opd {

struct CompareOptions {
  Tolerances tolerances;
  uint64_t keep_bytes = uint64_t{2} << 30;  // limit of memory for copies of values
  std::string save_directory;               // "": nothing is saved
  int32_t repeat = 0;                       // number of measured runs of each program
  int64_t timeout_ns = 0;                   // limit for all runs and comparisons together; 0: no limit
  CancelToken *cancel = nullptr;
  Ref<Array> b_args;  // null: those of A, matched by parameter name if their order differs
};

// Copies the arguments for a program, because it may write them. A floating point tensor gets the dtype that the
// function checks. A tensor on the first device of `origin`, the VM that the arguments were made for, moves to the
// first device of `vm`.
std::vector<Value> arguments_for(const Vm &vm, std::string_view function, Args args, const Vm &origin);

class Comparison {
 public:
  // Throws errors of arguments, and OPD_CANCELLED and OPD_DEADLINE_EXCEEDED. The failure of an operator is part of the
  // result.
  Comparison(Vm &a, Vm &b, std::string function, Args args, CompareOptions options);

  Ref<Report> to_report() const;      // this and save(): in comparison_report.cc
  Ref<Report> measure_times() const;  // a diff as by opd_report_diff(); null if nothing is to be measured
  void save() const;

  std::string verdict() const;
  bool has_failure() const { return a_.failure || b_.failure; }
  // True if nothing differs, fails or is undecided.
  bool is_equal() const { return !first_.is_found && !has_failure() && result_problem_.empty() && undecided_.empty(); }

 private:
  friend class ComparisonReport;

  void choose_b_arguments();
  std::vector<Value> own_arguments(const Vm &vm, Args args) const {
    return arguments_for(vm, function_, args, options_.b_args ? vm : a_vm_);
  }

  RecordedRun record(Vm &vm, const char *side, Args args);
  void separate_states();
  Args b_args() const { return b_args_; }
  CallSettings settings() const;  // settings of the next run
  void check_stop() const;
  void count_agreements();
  std::string failure_text() const;
  std::string agreement_text() const;

  Vm &a_vm_, &b_vm_;
  const std::string function_;
  const Args args_;
  std::vector<View> b_args_;
  std::string order_note_;          // how B's parameters were assigned to A's, if not by position
  std::vector<Value> states_of_b_;  // copies of states that both programs would share
  const CompareOptions options_;
  const int64_t deadline_ns_;
  ValueStore store_;
  RecordedRun a_, b_;
  std::unique_ptr<ValueComparer> comparer_;
  CallMatching matching_;
  FirstDifference first_;
  std::string result_problem_;              // difference between the results other than in tensors' elements
  size_t num_matched_ = 0, num_equal_ = 0;  // numbers of operators; equal: bit for bit
  size_t num_unknown_ = 0;                  // number of matched operators whose values were not kept
  std::string undecided_;                   // reason why the verdict is unknown; "" if it is known
};

}  // namespace opd
