// Reads reports as runs: for each operator one sum per run.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "stats/diff.h"

namespace opd {

class RunReader {
 public:
  struct Side {
    RunValues DiffOperator::*values;
    std::vector<int64_t> Diff::*turns;
    std::vector<double> Diff::*program_calls;
    std::string_view name;
  };
  RunReader(Diff &diff, const Side &side)
      : diff_(diff),
        side_(side.values),
        turns_(diff.*side.turns),
        program_calls_(diff.*side.program_calls),
        side_name_(side.name) {}

  void add(const Report &report);  // its runs follow those of earlier reports

 private:
  struct Row;
  uint32_t run_of(const Report &report, const Row &row);

  Diff &diff_;
  RunValues DiffOperator::*side_;
  std::vector<int64_t> &turns_;         // one per run
  std::vector<double> &program_calls_;  // one per run
  std::string_view side_name_;
  size_t num_reports_ = 0;
  std::unordered_map<std::string, size_t> operators_;  // key to index in the diff
  std::unordered_map<uint64_t, uint32_t> runs_;        // runs of the current report
};

}  // namespace opd
