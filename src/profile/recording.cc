#include "profile/recording.h"

namespace opd {

Recording recording_of(std::vector<Lane> lanes, const RecordingPlan &plan) {
  const ClockLine line = ClockLine::measure(tick_clock());
  std::vector<std::string> names = plan.names();
  Recording recording;
  recording.report = report_of_run({lanes, line, names, plan.devices, plan.num_threads, plan.note, plan.options});
  recording.trace = Trace::of_lanes(std::move(lanes), line, std::move(names));
  return recording;
}

Recording record_calls(const RecordingPlan &plan, const std::function<void(RecordBuffer *, uint64_t)> &call) {
  Lane lane = Lane::of_this_thread(RecordBuffer(plan.options.max_records, plan.options.all_calls));
  RecordBuffer &buffer = lane.buffer;
  for (int32_t i = 0; i < plan.warmup; ++i) {
    buffer.restart(0);
    call(&buffer, 0);
  }
  const auto repeat = static_cast<uint64_t>(plan.repeat);
  buffer.restart(repeat);
  for (uint64_t i = 0; i < repeat; ++i) {
    const uint64_t begin = buffer.now();
    call(&buffer, i);
    lane.runs.push_back({i, begin, buffer.now(), plan.function});
  }
  std::vector<Lane> lanes;
  lanes.push_back(std::move(lane));
  return recording_of(std::move(lanes), plan);
}

}  // namespace opd
