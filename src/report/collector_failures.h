// The lines above a report's table that name collectors which failed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace opd {

std::vector<std::string> collector_failures_of(const Report &report);
bool is_collector_failure(std::string_view line);  // whether a line of a text table is one of these

}  // namespace opd
