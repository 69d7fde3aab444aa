// Reports of all spans of a trace, one by one or joined by name.
#pragma once
#include "analysis/key_averages.h"
#include "report/report.h"

namespace opd {

// The columns are those that opd_trace_to_report() names.
Ref<Report> report_of_trace(const Trace &trace, const KeyAverageOptions &options);

}  // namespace opd
