#include "profile/recording.h"

#include "profile/run_report.h"

namespace opd {

Recording record_calls(RecordingPlan plan, const std::function<void(RecordBuffer *, uint64_t)> &call) {
  RecordBuffer buffer(plan.max_records);
  for (int32_t i = 0; i < plan.warmup; ++i) {
    buffer.restart(0);
    call(&buffer, 0);
  }
  buffer.restart(static_cast<uint64_t>(plan.repeat));
  std::vector<uint64_t> totals;
  for (int32_t i = 0; i < plan.repeat; ++i) {
    const uint64_t begin = buffer.now();
    call(&buffer, static_cast<uint64_t>(i));
    totals.push_back(buffer.now() - begin);
  }
  const ClockLine line = buffer.line();
  std::vector<std::string> names = plan.names();
  Recording recording;
  recording.report = report_of_run({buffer, line, names, totals, plan.devices, plan.num_threads, plan.note});
  recording.trace = Trace::of_thread(std::move(buffer), line, std::move(names));
  return recording;
}

}  // namespace opd
