#include "trace_views/trace_report.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "trace_views/key_averages.h"
#include "trace_views/span_rows.h"

namespace opd {

std::string_view kind_text(EventKind kind) {
  static constexpr std::string_view kTexts[] = {"call", "run", "range", "step",          "mark", "",
                                                "",     "",    "",      kDeviceWorkKind, "",     ""};  // "": not spans
  static_assert(std::size(kTexts) == static_cast<size_t>(kLastEventKind) + 1);
  return kTexts[static_cast<size_t>(kind)];
}

namespace {

// Columns that say when and where an event happened.
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

  // The time since the start of the trace's first event.
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

class TraceReportMaker : SpanRows {
 public:
  explicit TraceReportMaker(const Trace &trace)
      : SpanRows(trace), threads_(nest_all_spans(trace, false)), work_(trace), host_(trace) {
    for (const ThreadSpans &thread : threads_)
      if (!thread.track->device)
        for (const Span &span : thread.spans) all_ticks_ += trace.parts.common_ticks(span.self, *thread.track);
  }

  Ref<Report> averages(KeyAverageOptions options) {
    options.with_flops = true;
    for (const KeyAverage &row : key_averages(trace_, threads_, work_, options, host_)) {
      add(row.event(), row.count, row.total_ticks, row.self_ticks, options.by_shape);
      add_device(row.device);
      add_stack(row.stack, options.stack_depth);
      if (row.flop) add_flop(*row.flop);
      add_memory(row.memory);
    }
    return finish();
  }

  Ref<Report> events() {
    // Spans of a thread are sorted by begin; those of several threads are merged.
    struct Place {
      uint32_t thread, span;
    };
    std::vector<Place> order;
    std::vector<std::vector<uint32_t>> rows;  // per thread: the row of each span
    std::vector<std::vector<SpanMemory>> memory;
    std::vector<std::vector<SpanDevice>> device;
    std::vector<std::vector<HostStacks::StackNumber>> stacks;
    const auto begin = [&](const Place &place) {
      const ThreadSpans &thread = threads_[place.thread];
      return trace_.parts.order_of(thread.spans[place.span].event->begin, *thread.track);
    };
    for (uint32_t thread = 0; thread < threads_.size(); ++thread) {
      const auto middle = static_cast<std::ptrdiff_t>(order.size());
      const auto size = static_cast<uint32_t>(threads_[thread].spans.size());
      for (uint32_t span = 0; span < size; ++span) order.push_back({thread, span});
      std::inplace_merge(order.begin(), order.begin() + middle, order.end(),
                         [&](const Place &a, const Place &b) { return begin(a) < begin(b); });
      rows.emplace_back(size);
      memory.push_back(span_memory(threads_[thread]));
      device.push_back(work_.of_spans(threads_[thread]));
      stacks.push_back(host_.stacks_of(threads_[thread]));
    }
    std::unordered_map<const Event *, Place> launched_in;  // key: the work
    for (uint32_t thread = 0; thread < threads_.size(); ++thread)
      work_.each_launch(threads_[thread], [&](const Event &work, uint32_t span) {
        if (span != Span::kNone) launched_in.emplace(&work, Place{thread, span});
      });
    builder_.reserve(order.size());
    TrackColumns columns(trace_, builder_);
    for (const Place &place : order) {
      const ThreadSpans &thread = threads_[place.thread];
      const Span &span = thread.spans[place.span];
      std::vector<uint32_t> &row_of = rows[place.thread];
      row_of[place.span] = num_rows_;
      const auto common = [&](uint64_t ticks) { return trace_.parts.common_ticks(ticks, *thread.track); };
      const uint64_t length = common(length_ticks(*span.event));
      if (thread.track->device) {
        add(*span.event, 1, 0, 0, false);
        add_device({length, length});
        add_work(*span.event);
        // Work begins after its launch, so the row of the span around the launch exists.
        if (const auto found = launched_in.find(span.event); found != launched_in.end())
          set("Launched In", Metric::of_count(rows[found->second.thread][found->second.span]));
        add_place(columns, thread, span, Span::kNone);
        continue;
      }
      add(*span.event, 1, length, common(span.self), true);
      if (!device[place.thread].empty()) {
        const SpanDevice &given = device[place.thread][place.span];
        add_device({common(given.self), common(given.total)});
      }
      if (const std::optional<double> flop = costs_.flop(*span.event)) add_flop(*flop);
      add_memory(memory[place.thread].empty() ? SpanMemory() : memory[place.thread][place.span]);
      add_stack(stacks[place.thread][place.span], SIZE_MAX);
      add_place(columns, thread, span, span.parent == Span::kNone ? Span::kNone : row_of[span.parent]);
    }
    return finish();
  }

 private:
  void add_flop(double flop) { set("FLOP", Metric::of_count(static_cast<int64_t>(flop))); }
  void add_device(const SpanDevice &device) {
    if (work_.empty()) return;
    set(kDeviceColumn, duration(device.total));
    set(kSelfDeviceColumn, duration(device.self));
  }
  // Adds the work's stream, the thread that launched it, and its wait on the device.
  void add_work(const Event &event) {
    const DeviceWork work = device_work(event);
    const uint64_t given = work.launched + work.launch_ticks;
    set("Stream", Metric::of_count(work.stream));
    set("Launch Thread ID", Metric::of_count(work.thread));
    set("Launch Gap (us)", duration(event.begin > given ? event.begin - given : 0));
    if (has_bytes(work.kind)) set("Bytes", Metric{MetricKind::kBytes, work.bytes});
  }
  void add_memory(const SpanMemory &memory) {
    if (!trace_.parts.has_memory) return;
    const auto bytes = [](int64_t count) { return Metric{MetricKind::kBytes, std::bit_cast<uint64_t>(count)}; };
    set("Memory (bytes)", bytes(memory.host.total));
    set("Self Memory (bytes)", bytes(memory.host.self));
    if (!has_other_device_) return;
    set("Device Memory (bytes)", bytes(memory.other.total));
    set("Self Device Memory (bytes)", bytes(memory.other.self));
  }

  void add_stack(HostStacks::StackNumber stack, size_t depth) {
    if (!stack) return;
    Metric &text = stack_texts_[stack];
    if (!text) text = builder_.text(host_.call_stack(stack, depth));
    set("Stack", text);
  }

  void add_place(TrackColumns &columns, const ThreadSpans &thread, const Span &span, uint32_t parent) {
    columns.set_start(*thread.track, span.event->begin);
    columns.set_track(*thread.track);
    set(kDepthColumn, Metric::of_count(span.depth));
    if (parent != Span::kNone) set("Parent", Metric::of_count(parent));
    if (span.event->is_open) set("Open", Metric::of_count(1));
    if (span.event->kind == EventKind::kStep) set("Step", Metric::of_count(static_cast<int64_t>(span.event->run)));
    if (const std::string_view error = error_of(*span.event); !error.empty()) set(kErrorColumn, builder_.text(error));
  }

  const std::vector<ThreadSpans> threads_;  // including the tracks of devices
  const GivenWork work_;
  HostStacks host_;
  std::unordered_map<HostStacks::StackNumber, Metric> stack_texts_;
  const bool has_other_device_ = other_device(trace_).has_value();
  EventCosts costs_;
};

}  // namespace

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
  std::ranges::stable_sort(tasks, {},
                           [&](const Place &place) { return trace.parts.order_of(place.task->begin, *place.track); });
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

Ref<Report> report_of_events(const Trace &trace) { return TraceReportMaker(trace).events(); }
Ref<Report> report_of_averages(const Trace &trace, const KeyAverageOptions &options) {
  return TraceReportMaker(trace).averages(options);
}

}  // namespace opd
