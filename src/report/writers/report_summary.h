// Formats a report for a terminal: the slowest operators in lines that fit its width, and a conclusion.
#pragma once
#include <string>

#include "report/report_rows.h"

namespace opd {

struct SummaryOptions {
  size_t width = 80;     // characters per line
  size_t most_rows = 0;  // 0: all
  bool sorted = true;    // longest self time first
  bool colored = false;  // uses ECMA-48 escape sequences
};
std::string summary_of(const ReportRows &rows, const SummaryOptions &options);

// Returns one sentence: the operator that takes most of the time, its share of the machine's peak if known, and a
// recommendation. "" if there is no such operator.
std::string conclusion_of(const ReportRows &rows);

// Returns how long the program waited for a processor, if that distorts its times; else "".
std::string wait_text_of(const ReportRows &rows);

// Lines that list failed collectors.
std::vector<std::string> collector_failures_of(const Report &report);
// Lines that a reader must see before the numbers: failed collectors, missing calls.
std::vector<std::string> warnings_of(const Report &report);

}  // namespace opd
