// A report's charts as SVG, to be placed into its page, whose style gives their colours.
#pragma once
#include "profile/report_rows.h"

namespace opd {

void append_html(std::string &out, std::string_view text);        // escaped; controls become spaces
void append_time(std::string &out, double us);                    // "1.06 ms"
void append_bars(std::string &out, const ReportRows &rows);       // the longest rows, and the rest as one
void append_roofline(std::string &out, const ReportRows &rows);   // nothing if the report has no numbers for it

}  // namespace opd
