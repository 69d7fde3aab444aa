// The typical run in a report of several runs of a program: the median of each operator's time per run.
//
// Other programs lengthen some runs, so runs that waited for a processor do not count while enough others exist. If
// they do not exist, the waits are subtracted.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "report/report.h"

namespace opd {

struct RunMedians {
  // Of each group of rows: the median per run of its time, and of its time without nested calls.
  std::vector<double> us, self_us;
  std::vector<double> mean_us;  // mean over all runs in which the group has rows, also those that waited
  double total_us = 0;          // median time of a run
  double sum_self_us = 0;       // sum of self_us: shares of it add up to 1
  size_t num_runs = 0, num_shown = 0;
  double waited_share = 0;  // part of the time of all runs in which they waited for a processor
  bool subtracts = false;   // waits are subtracted, because too few runs did without
  bool is_settled = false;  // more runs would hardly change which operator takes longest, and its share

  std::string wait_text() const;
};

// The part of the time of the program's calls in which it waited for a processor.
double waited_share(const Report &report);
std::string wait_text(double share);  // "": the part is too small to be told

// None if the report's rows are not numbered by run, or all are of one run.
std::optional<RunMedians> run_medians(const Report &report, std::span<const uint32_t> group_of_row, size_t num_groups);

}  // namespace opd
