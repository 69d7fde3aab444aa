#include "profiler/recording.h"

#include <optional>

namespace opd {

Recording recording_of(std::vector<ThreadTrack> lanes, const RunRecordingOptions &plan, CollectorSet *collected) {
  if (collected) collected->finish();
  const ClockCalibration line = ClockCalibration::measure(tick_clock());
  Recording recording;
  recording.report = report_of_run({lanes, line, plan.devices, plan.num_threads, plan.note, plan.options, collected});
  for (ThreadTrack &lane : lanes) lane.buffer.set_observer(lane.observer = nullptr);
  recording.trace = Trace::of_lanes(std::move(lanes), line);
  return recording;
}

Recording record_calls(const RunRecordingOptions &plan, const std::function<void(CallEventBuffer *, uint64_t)> &call) {
  ThreadTrack lane = ThreadTrack::of_this_thread(CallEventBuffer(plan.options.max_records, plan.options.all_calls));
  CallEventBuffer &buffer = lane.buffer;
  for (int32_t i = 0; i < plan.warmup; ++i) {
    buffer.restart(0);
    call(&buffer, 0);
  }
  const auto repeat = static_cast<uint64_t>(plan.repeat);
  buffer.restart(repeat);
  std::optional<CollectorSet> collected;
  if (!plan.collectors.empty()) {
    collected.emplace(plan.collectors, plan.devices, plan.options.max_records);
    buffer.set_observer(lane.observer = &collected->of_thread());
  }
  for (uint64_t i = 0; i < repeat; ++i) {
    const size_t observed = lane.observer ? lane.observer->begin_run() : 0;
    const uint64_t begin = buffer.now();
    call(&buffer, i);
    lane.runs.push_back({i, begin, buffer.now(), plan.function});
    if (lane.observer) lane.observer->end_run(observed);
  }
  std::vector<ThreadTrack> lanes;
  lanes.push_back(std::move(lane));
  return recording_of(std::move(lanes), plan, collected ? &*collected : nullptr);
}

}  // namespace opd
