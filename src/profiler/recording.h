// Runs something that records its calls, and makes a report and a trace of the recording.
#pragma once
#include <functional>

#include "profiler/collector.h"
#include "profiler/run_report.h"
#include "trace/trace.h"

namespace opd {

struct RunRecordingOptions {
  int32_t warmup = 1, repeat = 1;
  RecordingOptions options;
  NameId function = kNoName;      // the function that is run
  std::vector<DLDevice> devices;  // each gets a row of totals
  int32_t num_threads = 0;
  std::vector<Ref<Collector>> collectors;
  std::string note;  // calls that the records cannot show; "" if none
};

struct Recording {
  Ref<Report> report;
  Ref<Trace> trace;
};

// `call` makes one run. It records into the buffer, or nothing if the buffer is null. The second argument counts the
// measured runs.
Recording record_calls(const RunRecordingOptions &plan, const std::function<void(CallEventBuffer *, uint64_t)> &call);

// For calls that threads have recorded already. `collected` are the collectors that observed them; null: there were
// none.
Recording recording_of(std::vector<ThreadTrack> lanes, const RunRecordingOptions &plan,
                       CollectorSet *collected = nullptr);

}  // namespace opd
