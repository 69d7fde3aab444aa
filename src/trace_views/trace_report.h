// Makes reports of a trace: of its spans, one by one or joined by name, stack or part, of the tasks of parallel loops,
// and of the calls of a recording. opd_trace_to_report() documents their columns.
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

// ---- the report of a recording, for opd_vm_profile() or a session

struct RunReportOptions {
  std::vector<DLDevice> devices;  // each gets a row of totals, in this order
  int32_t num_threads = 0;
  std::string note;             // text about calls that the trace cannot show; "": none
  bool folds_builtins = false;  // joins all calls of vm.builtin.* in one row
  bool details = false;         // adds columns for start, run, thread and call path
  int32_t turn = 0;             // number that pairs this run with one of a later comparison; 0: none
  bool by_run = false;          // if there are several runs, rows have their numbers, and each run has computed rows
  // How long each run waited for a processor, and how long its thread ran, both perhaps with some time before and after
  // the run. Empty: unknown.
  struct Wait {
    double waited_us, ran_us;
  };
  std::vector<Wait> waits{};
};

// Makes one row per call, thread by thread in the order of their ends. The time of an empty interval is subtracted from
// durations. Percentages refer to all runs together. Two more rows complete the outermost rows to the total: the time
// of recording, "(profiler)", and the rest, "(dispatch)".
Ref<Report> report_of_run(const Trace &trace, const RunReportOptions &options);

}  // namespace opd
