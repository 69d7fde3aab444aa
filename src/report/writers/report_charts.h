// Draws a report's charts for its HTML page. The page's style sets the colours.
#pragma once
#include <optional>

#include "report/report_rows.h"

namespace opd {

void append_bars(std::string &out, const ReportRows &rows);      // the longest rows, and the sum of the others
void append_roofline(std::string &out, const ReportRows &rows);  // draws nothing if the report lacks the numbers

// ---- used by the page and the charts

void append_html(std::string &out, std::string_view text);                // escaped; control characters become spaces
void append_time(std::string &out, double us);                            // "1.06 ms"
void append_label(std::string &out, const ReportRows &rows, size_t row);  // everything that identifies an operator
// Shortens to at most `most` code points. The middle is dropped, because names of operators differ at their ends.
std::string shortened(std::string_view text, size_t most);
// The same for names in one column; different names stay different.
std::vector<std::string> shortened_apart(const std::vector<std::string> &names, size_t most);

std::optional<double> number_of(Metric metric);  // none if it is not a finite number
// Times of a row. If the report is of several runs, these are medians per run.
double duration_of(const ReportRows &rows, size_t row);
double self_time_of(const ReportRows &rows, size_t row);  // without nested calls, if the report has this time
double total_time_of(
    const ReportRows &rows);  // the base of percentages: the longest of the devices' totals, else the sum of all rows
std::vector<size_t> by_self_time(const ReportRows &rows);  // rows of calls, longest first

// Appends markup. Numbers are coordinates.
inline void put_part(std::string &out, std::string_view text) { out += text; }
inline void put_part(std::string &out, double coordinate) { append_fixed(out, coordinate, 1); }
template <class... Parts>
void put(std::string &out, const Parts &...parts) {
  (put_part(out, parts), ...);
}

}  // namespace opd
