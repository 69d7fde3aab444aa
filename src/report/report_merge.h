// Merges several reports into one.
#pragma once
#include <span>

#include "report/report.h"

namespace opd {

Ref<Report> merge_reports(std::span<const Report *const> reports);

}  // namespace opd
