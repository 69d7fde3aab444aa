// Makes reports of a trace's spans, one by one or joined by name or by stack. opd_trace_to_report() documents their
// columns.
#pragma once
#include "report/report.h"
#include "trace_views/key_averages.h"

namespace opd {

std::string_view kind_text(EventKind kind);  // "call"; "" for memory

Ref<Report> report_of_events(const Trace &trace);
Ref<Report> report_of_averages(const Trace &trace, const KeyAverageOptions &options);
// These divide the trace into parts (path_report.cc). A diff treats the rows of a part as a run.
Ref<Report> report_of_averages_by_part(const Trace &trace);
Ref<Report> report_of_paths(const Trace &trace, bool by_part);
Ref<Report> report_of_tasks(const Trace &trace);  // tasks of parallel loops

}  // namespace opd
