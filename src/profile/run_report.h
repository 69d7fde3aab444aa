// From what a run recorded to its report.
#pragma once
#include <span>
#include <string>

#include "profile/collector_run.h"
#include "profile/report.h"
#include "trace/record_buffer.h"

namespace opd {

struct RunRecord {
  const RecordBuffer &buffer;
  const ClockLine &line;                  // of the buffer, taken when recording ended
  std::span<const std::string> names;     // what Record::name counts in
  std::span<const uint64_t> total_ticks;  // per measured run
  std::span<const DLDevice> devices;      // each gets a row of totals, in this order
  int32_t num_threads = 0;
  std::string_view note = {};         // what the records cannot show
  CollectorRun *collected = nullptr;  // null: there were no collectors
};

// A row per record, in the order recorded: run 0, then run 1 … Durations are less what an empty interval
// reads; percentages are of all runs together.
Ref<Report> report_of_run(const RunRecord &run);

std::string report_device_name(DLDevice device);  // "cpu0"

}  // namespace opd
