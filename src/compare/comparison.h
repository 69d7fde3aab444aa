// Two programs run on the same input, one after the other, and compared call by call.
//
// The runs need not wait for each other. A's values are kept as they are written, within a bound of memory, and B's run
// is compared with them. So one call of B's is known to correspond to one of A's only when both runs are known, as
// aligning needs; and two threads that take turns would have to keep the values until then all the same.
#pragma once
#include <memory>

#include "compare/first_difference.h"
#include "report/report.h"

namespace opd {

struct CompareOptions {
  Tolerances tolerances;
  uint64_t keep_bytes = uint64_t{2} << 30;  // of copies of values
  std::string save_directory;               // "": nothing is saved
  int32_t repeat = 0;                       // measured runs of each
  int64_t timeout_ns = 0;                   // for everything; 0: none
  CancelToken *cancel = nullptr;
  Ref<Array> b_args;  // null: those of A, by the names of the parameters if their order differs
};

class Comparison {
 public:
  // Throws errors of arguments, and OPD_CANCELLED and OPD_DEADLINE_EXCEEDED. An operator that fails is part of the
  // result.
  Comparison(Vm &a, Vm &b, std::string function, Args args, CompareOptions options);

  Ref<Report> to_report() const;      // comparison_report.cc
  Ref<Report> measure_times() const;  // as opd_report_diff() gives it; null if nothing is to be measured
  void save() const;                  // saved_tensors.cc

  std::string verdict() const;
  bool has_failure() const { return a_.failure || b_.failure; }
  bool is_equal() const;  // nothing differs, nothing fails, nothing is undecided

 private:
  friend class ComparisonReport;
  friend class TensorSaver;

  void choose_b_arguments();
  std::vector<Value> own_arguments(const Vm &vm, Args args) const;
  RecordedRun record(Vm &vm, const char *side, Args args);
  void separate_states();
  Args b_args() const { return b_args_; }
  CallSettings settings() const;  // of the next run
  void check_stop() const;
  void count_agreements();
  std::string failure_text() const;
  std::string agreement_text() const;

  Vm &a_vm_, &b_vm_;
  const std::string function_;
  const Args args_;
  std::vector<View> b_args_;
  std::string order_note_;          // how B's parameters correspond to A's, if not by their places
  std::vector<Value> states_of_b_;  // copies of states that both would share
  const CompareOptions options_;
  const int64_t deadline_ns_;
  ValueStore store_;
  RecordedRun a_, b_;
  std::unique_ptr<ValueComparer> comparer_;
  std::unique_ptr<CallMatching> matching_;
  FirstDifference first_;
  std::string result_problem_;              // results that differ in their structure, or in a value that is no tensor
  size_t num_matched_ = 0, num_equal_ = 0;  // operators; bit for bit
  size_t num_unknown_ = 0;                  // of those: their values were not kept
  std::string undecided_;                   // the reason why it is not known that all agrees; "" if it is
};

// The arguments of a program: copies of their own, because it may write them. A tensor of floating point gets the dtype
// that the function checks, if that is another one. A tensor on the first device of `origin`, the VM that the arguments
// were made for, comes to the first device of `vm`.
std::vector<Value> arguments_for(const Vm &vm, std::string_view function, Args args, const Vm &origin);

}  // namespace opd
