// The typical run in a report of several calls of a program: the median of each operator's time per run.
//
// Other programs lengthen some runs, so runs that waited for a processor do not count while enough others exist. If
// they do not exist, the measured waits are subtracted.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "report/report.h"

namespace opd {

struct RunMedians {
  // Of each group of rows: its time per run, and its time without nested calls. These are medians over the runs. If a
  // group is not in each run, they are means over all runs, also those without it.
  std::vector<double> us, self_us;
  std::vector<double> mean_us;  // mean over the runs in which the group has rows, including those that waited
  double total_us = 0;          // median time of a run
  double sum_self_us = 0;       // sum of self_us: shares of it add up to 1
  size_t num_runs = 0, num_shown = 0;
  double waited_share = 0;  // part of the time of all runs in which they waited for a processor
  bool subtracts = false;   // waits are subtracted
  bool is_settled = false;  // more runs would hardly change which operator takes longest, and its share

  std::string wait_text() const;
};

// None if the rows are not numbered by "Repeat", if all are of one run, or if calls are missing.
std::optional<RunMedians> run_medians(const Report &report, std::span<const uint32_t> group_of_row, size_t num_groups);

// The part of the time of the program's calls in which it waited for a processor.
double waited_share(const Report &report);
std::string wait_text(double share);  // "": too small to mention

}  // namespace opd
