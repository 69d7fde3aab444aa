// Makes the report of a recording.
#pragma once
#include <span>
#include <string>

#include "profiler/collector_run.h"
#include "report/report.h"
#include "trace/recording_session.h"

namespace opd {

struct RunRecord {
  std::span<const ThreadTrack> lanes;  // all on one clock
  const ClockCalibration &line;        // of that clock, measured when recording ended
  std::span<const DLDevice> devices;   // each gets a row of totals, in this order
  int32_t num_threads = 0;
  std::string_view note = {};  // calls that the records cannot show
  RecordingOptions options = {};
  const CollectorSet *collected = nullptr;  // finished; it made the lanes' observers. Null: there are no collectors
};

// One row per record, in the order recorded: run 0, then run 1 …, thread by thread. The reading of an empty interval is
// subtracted from durations; percentages refer to all runs together. Two more rows complete the outermost rows to the
// total: the time of recording, "(profiler)", and the rest, "(dispatch)".
Ref<Report> report_of_run(const RunRecord &run);

std::string report_device_name(DLDevice device);  // "cpu0"

}  // namespace opd
