// Reads the CSV form of a report, which has its rows, but neither the totals of devices nor the configuration.
#pragma once
#include <string_view>

#include "cli/support/face.h"

namespace opd::cli {

bool is_report_csv(std::string_view text);  // whether its first line names the columns of a report
// Fails with the name of the file and the line, if a line has another number of cells or is not CSV.
Report report_of_csv(std::string_view text, std::string_view file);

}  // namespace opd::cli
