// Reports of all spans of a trace, one by one or joined by name. Their columns are those that opd_trace_to_report()
// names.
#pragma once
#include "report/report.h"
#include "trace/trace.h"

namespace opd {

Ref<Report> report_of_events(const Trace &trace);
Ref<Report> report_of_averages(const Trace &trace, bool by_shape);

}  // namespace opd
