// Reports of the spans of a trace, one by one or joined by name or by stack. Their columns are those that
// opd_trace_to_report() names.
#pragma once
#include "report/report.h"
#include "trace_views/key_averages.h"

namespace opd {

std::string_view kind_text(EventKind kind);  // "call"; "" for memory

Ref<Report> report_of_events(const Trace &trace);
Ref<Report> report_of_averages(const Trace &trace, const KeyAverageOptions &options);
// By part: see trace_division.h. A report of a part's rows is a run for a diff.
Ref<Report> report_of_averages_by_part(const Trace &trace);
Ref<Report> report_of_paths(const Trace &trace, bool by_part);
Ref<Report> report_of_tasks(const Trace &trace);  // of parallel loops

}  // namespace opd
