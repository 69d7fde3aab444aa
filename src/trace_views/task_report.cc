#include <algorithm>
#include <map>

#include "trace_views/loop_names.h"
#include "trace_views/trace_report.h"
#include "trace_views/track_columns.h"

namespace opd {

Ref<Report> report_of_tasks(const Trace &trace) {
  struct Place {
    const Event *task;
    const TraceTrack *track;
  };
  using Loop = std::pair<uint32_t, uint64_t>;  // process, and number of the loop there
  std::vector<Place> tasks;
  std::map<Loop, uint64_t> loop_ends;  // ticks
  for (const TraceTrack &track : trace.parts.tracks)
    for (const Event *task : track.tasks) {
      tasks.push_back({task, &track});
      uint64_t &end = loop_ends[{track.process, loop_task(*task).loop}];
      end = std::max(end, task->end);
    }
  if (trace.parts.processes.size() == 1)
    std::ranges::stable_sort(tasks, {}, [](const Place &place) { return place.task->begin; });
  else
    std::ranges::stable_sort(
        tasks, {}, [&](const Place &place) { return trace.parts.process_of(*place.track).unix_ns(place.task->begin); });
  ReportBuilder builder;
  LoopNames names(trace);
  TrackColumns columns(trace, builder);
  const auto set = [&](std::string_view column, Metric metric) { builder.set(builder.column(column), metric); };
  for (const auto &[task, track] : tasks) {
    const LoopTask place = loop_task(*task);
    const ClockCalibration &line = trace.parts.process_of(*track).line;
    const auto us = [&line](uint64_t ticks) {
      return Metric::of_number(MetricKind::kDuration, line.duration_ns(ticks) / 1000);
    };
    builder.begin_row();
    set("Name", builder.text(names.of(*task, track->process)));
    set("Duration (us)", us(length_ticks(*task)));
    columns.set_start(*track, task->begin);
    set("Wait (us)", us(loop_ends[{track->process, place.loop}] - task->end));
    set("Loop", Metric::of_count(static_cast<int64_t>(place.loop)));
    set("Task", Metric::of_count(place.task));
    set("Tasks", Metric::of_count(place.num_tasks));
    columns.set_track(*track);
  }
  return builder.finish();
}

}  // namespace opd
