// From what was recorded to its report.
#pragma once
#include <span>
#include <string>

#include "profile/collector_run.h"
#include "profile/report.h"
#include "trace/recording_session.h"

namespace opd {

struct RunRecord {
  std::span<const ThreadTrack> lanes;  // of one clock
  const ClockCalibration &line;        // of it, taken when recording ended
  std::span<const std::string> names;  // what CallEvent::name counts in
  std::span<const DLDevice> devices;   // each gets a row of totals, in this order
  int32_t num_threads = 0;
  std::string_view note = {};  // what the records cannot show
  RecordingOptions options = {};
  const CollectorSet *collected = nullptr;  // finished; it made the lanes' observers. Null: there were no collectors
};

// A row per record, in the order recorded: run 0, then run 1 …, thread by thread. Durations are less what an empty
// interval reads; percentages are of all runs together. Two rows more make the outermost ones add up to the total: what
// recording took, "(profiler)", and the rest, "(dispatch)".
Ref<Report> report_of_run(const RunRecord &run);

std::string report_device_name(DLDevice device);  // "cpu0"

}  // namespace opd
