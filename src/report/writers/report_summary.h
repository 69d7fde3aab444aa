// A report for a terminal: the slowest operators in lines that fit its width, and a conclusion.
#pragma once
#include <string>

#include "report/report_rows.h"

namespace opd {

struct SummaryOptions {
  size_t width = 80;     // of a line, in characters
  size_t most_rows = 0;  // 0: all
  bool sorted = true;    // the longest self time first
  bool colored = false;  // by escape sequences of ECMA-48
};
std::string summary_of(const ReportRows &rows, const SummaryOptions &options);

// One sentence: the operator that takes most of the time, how near it is to the machine's peak if that is known, and
// what to do. "" if there is no such operator.
std::string conclusion_of(const ReportRows &rows);

// Lines that a reader must see before the numbers: failed collectors, missing calls.
std::vector<std::string> warnings_of(const Report &report);

}  // namespace opd
