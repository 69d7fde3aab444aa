// Reports as runs: for each operator one sum per run.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "profile/diff.h"

namespace opd {

class RunReader {
 public:
  RunReader(Diff &diff, RunValues DiffOperator::*side, std::string_view side_name)
      : diff_(diff), side_(side), side_name_(side_name) {}

  void add(const Report &report);  // its runs follow those before
  size_t num_runs() const { return num_runs_; }

 private:
  Diff &diff_;
  RunValues DiffOperator::*side_;
  std::string_view side_name_;
  size_t num_reports_ = 0;
  uint32_t num_runs_ = 0;
  std::unordered_map<std::string, size_t> operators_;  // those of the diff by their keys
};

}  // namespace opd
