// Columns that say when and where an event happened.
#pragma once
#include <algorithm>
#include <vector>

#include "trace/model/trace.h"
#include "trace_views/report_texts.h"

namespace opd {

class TrackColumns {
 public:
  TrackColumns(const Trace &trace, ReportBuilder &builder) : parts_(trace.parts), builder_(builder) {
    const int64_t first_ns = trace.first_ns().value_or(0);
    origins_.resize(parts_.processes.size());
    for (const TraceTrack &track : parts_.tracks)
      for (const auto *list : track.lists())
        for (const Event *event : *list) {
          uint64_t &tick = origins_[track.process].tick;
          tick = std::min(tick, event->begin);
        }
    for (size_t i = 0; i < origins_.size(); ++i)
      if (origins_[i].tick != UINT64_MAX)
        origins_[i].ns = static_cast<double>(parts_.processes[i].unix_ns(origins_[i].tick) - first_ns);
  }

  // The time since the begin of the trace's first event.
  void set_start(const TraceTrack &track, uint64_t tick) {
    const Origin &origin = origins_[track.process];
    const double ns = origin.ns + parts_.process_of(track).line.duration_ns(tick - origin.tick);
    set("Start (us)", Metric::of_number(MetricKind::kDuration, ns / 1000));
  }

  void set_track(const TraceTrack &track) {
    if (last_ != &track) last_ = &track, thread_ = builder_.text(track.thread_name);
    set("Thread ID", Metric::of_count(track.thread_id));
    set("Thread", thread_);
    if (!parts_.is_merged()) return;
    const TraceProcess &process = parts_.process_of(track);
    set("Process ID", Metric::of_count(process.id));
    set("Process", builder_.text(process.title()));
    set("Host", builder_.text(process.host));
  }

 private:
  struct Origin {                // origin of one process's times
    uint64_t tick = UINT64_MAX;  // tick of the process's first event
    double ns = 0;               // time of that event in the trace
  };
  void set(std::string_view column, Metric metric) { builder_.set(builder_.column(column), metric); }

  const TraceParts &parts_;
  ReportBuilder &builder_;
  std::vector<Origin> origins_;  // parallel to the processes
  const TraceTrack *last_ = nullptr;
  Metric thread_;
};

}  // namespace opd
