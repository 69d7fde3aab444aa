#include "profile/recording.h"

#include <optional>

#include "profile/run_report.h"

namespace opd {

Recording record_calls(RecordingPlan plan, const std::function<void(RecordBuffer *, uint64_t)> &call) {
  RecordBuffer buffer(plan.max_records);
  for (int32_t i = 0; i < plan.warmup; ++i) {
    buffer.restart(0);
    call(&buffer, 0);
  }
  buffer.restart(static_cast<uint64_t>(plan.repeat));
  std::optional<CollectorRun> collected;
  if (!plan.collectors.empty())
    buffer.set_observer(&collected.emplace(plan.collectors, plan.devices, plan.max_records));
  std::vector<uint64_t> totals;
  for (int32_t i = 0; i < plan.repeat; ++i) {
    if (collected) collected->begin_total();
    const uint64_t begin = buffer.now();
    call(&buffer, static_cast<uint64_t>(i));
    totals.push_back(buffer.now() - begin);
    if (collected) collected->end_total();
  }
  buffer.set_observer(nullptr);
  if (collected) collected->finish();
  const ClockLine line = buffer.line();
  std::vector<std::string> names = plan.names();
  Recording recording;
  recording.report = report_of_run(
      {buffer, line, names, totals, plan.devices, plan.num_threads, plan.note, collected ? &*collected : nullptr});
  recording.trace = Trace::of_thread(std::move(buffer), line, std::move(names));
  return recording;
}

}  // namespace opd
