// Runs something that records its calls, and makes the report and the trace of what was recorded.
#pragma once
#include <functional>

#include "profile/chrome_trace.h"
#include "profile/collector.h"
#include "profile/run_report.h"

namespace opd {

struct RunRecordingOptions {
  int32_t warmup = 1, repeat = 1;
  RecordingOptions options;
  uint32_t function = UINT32_MAX;                   // that is run, as CallEvent::name counts
  std::function<std::vector<std::string>()> names;  // what CallEvent::name counts in; asked for after the runs
  std::vector<DLDevice> devices;                    // get a row of totals each
  int32_t num_threads = 0;
  std::vector<Ref<Collector>> collectors;
  std::string note;  // what the records cannot show; "" if nothing
};

struct Recording {
  Ref<Report> report;
  Ref<Trace> trace;
};

// `call` runs once; it writes into the buffer, or records nothing if that is null. The second argument counts the
// measured runs.
Recording record_calls(const RunRecordingOptions &plan, const std::function<void(CallEventBuffer *, uint64_t)> &call);

// Of what threads recorded already, with the collectors that observed them; null: there were none.
Recording recording_of(std::vector<ThreadTrack> lanes, const RunRecordingOptions &plan,
                       CollectorSet *collected = nullptr);

}  // namespace opd
