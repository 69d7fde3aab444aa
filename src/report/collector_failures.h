// Makes the lines above a report's table that list failed collectors.
#pragma once
#include <string>
#include <vector>

#include "report/report.h"

namespace opd {

std::vector<std::string> collector_failures_of(const Report &report);

}  // namespace opd
