// Makes the report of a recording of runs: a row for each call, rows for computed times, and totals of each device.
#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>

#include "trace/record/device_work.h"
#include "trace/record/track.h"
#include "trace_views/span_rows.h"
#include "trace_views/spans.h"
#include "value/tvm_names.h"

namespace opd {
namespace {

constexpr size_t kNoCall = SIZE_MAX;

// The time that recording adds to a call, from before its begin to after its end.
uint64_t ticks_of_a_record() {
  constexpr int kBatches = 8, kCalls = 128;
  Track track;
  track.open_part(0, 1, {.max_calls = kBatches * kCalls});
  const ClockId clock = tick_clock();
  int64_t shape[] = {1, 1};
  DLTensor tensor{nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const View args[] = {opd_dltensor(&tensor), opd_dltensor(&tensor), opd_dltensor(&tensor)};
  uint64_t least = UINT64_MAX;
  for (int batch = 0; batch < kBatches; ++batch) {
    const uint64_t start = ticks_of(clock);
    for (int i = 0; i < kCalls; ++i) {
      const uint64_t begin = ticks_of(clock), end = ticks_of(clock);
      Event *event = track.describe(1, 0, args, 0);
      if (!event) break;  // no memory
      event->begin = begin, event->end = end;
      track.commit();
    }
    least = std::min(least, ticks_of(clock) - start);
  }
  return least / kCalls;
}

using Calls = std::vector<const Event *>;

// Returns each call's parent. Calls are in the order of their ends, so reading backwards, each parent comes before its
// children.
std::vector<size_t> parents_of(const Calls &calls) {
  std::vector<size_t> parents(calls.size(), kNoCall), open;
  for (size_t i = calls.size(); i-- > 0;) {
    const Event &call = *calls[i];
    while (!open.empty() && (calls[open.back()]->begin > call.begin || calls[open.back()]->end < call.end))
      open.pop_back();
    if (!open.empty()) parents[i] = open.back();
    open.push_back(i);
  }
  return parents;
}

// The names of the machines that the processes ran on.
std::string machines_of(const TraceParts &parts) {
  std::vector<std::string_view> hosts;
  for (const TraceProcess &process : parts.processes)
    if (!process.host.empty() && std::ranges::find(hosts, process.host) == hosts.end()) hosts.push_back(process.host);
  std::string names;
  for (const std::string_view host : hosts) names.append(names.empty() ? "" : ", ").append(host);
  return names;
}

class Rows {
 public:
  Rows(const Trace &trace, const RunReportOptions &options)
      : trace_(trace), parts_(trace.parts), options_(options), empty_(empty_interval_ticks(parts_.processes[0].clock)) {
    first_ = UINT64_MAX;
    nests_ = options.details;
    functions_.assign(trace.num_runs(), kNoName);
    numbers_runs_ = options.by_run && trace.num_runs() > 1;
    times_.resize(numbers_runs_ ? trace.num_runs() : 1);
    for (const TraceTrack &track : parts_.tracks) {
      nests_ |= has_nested(track.calls);
      for (const Event *run : track.runs) {
        add_run_items(*run);
        if (!trace.is_run(*run)) continue;
        const double us = ticks_us(run->end - run->begin);
        total_us_ += us, times_of(*run).total_us += us;
        first_ = std::min(first_, run->begin);
        functions_[trace.run_number(*run)] = run->name;
      }
    }
  }

  Ref<Report> make() {
    for (const std::string_view name : kTvmColumns) builder_.column(name);
    constexpr size_t kComputed = 3;
    builder_.reserve(kComputed * times_.size() + trace_.num_calls());
    for (const TraceTrack &track : parts_.tracks)
      if (!track.device) add_track(track);
    add_computed();
    add_devices();
    configure();
    return builder_.finish();
  }

 private:
  enum : size_t { kName, kDuration, kPercent, kDevice, kCount, kShapes };  // as in kTvmColumns

  struct RunTimes {
    double total_us = 0, outermost_us = 0, builtin_us = 0;
    double waited_us = 0;  // in calls that have rows
    uint64_t num_outermost = 0, num_builtins = 0, observed_ticks = 0;
  };
  // The run of an event. If the trace lacks the run, because there was no room for its end, it was the last one.
  size_t run_index(const Event &event) const { return std::min<size_t>(trace_.run_number(event), times_.size() - 1); }
  RunTimes &times_of(const Event &event) { return times_[numbers_runs_ ? run_index(event) : 0]; }
  double waited_us(size_t run) const {
    if (run >= options_.waits.size()) return 0;
    const auto [waited, ran] = options_.waits[run];
    return std::min(waited, std::max(0.0, times_[run].total_us - ran));
  }
  double waited_us(const Event &call) const {
    EventItem item;
    for (size_t at = 0; call.items && next_item(call, at, item);)
      if (item.type == EventItem::Type::kWaited && is_own(item)) return item.metric.number();
    return 0;
  }

  double ticks_us(uint64_t ticks) const { return parts_.duration_ns(ticks) / 1000; }
  double duration_us(const Event &call) const {
    const uint64_t ticks = length_ticks(call);
    return ticks_us(ticks > empty_ ? ticks - empty_ : 0);
  }

  void add_row(Metric name, double us, Metric device, int64_t count, Metric shapes) {
    builder_.begin_row();
    builder_.set(kName, name);
    builder_.set(kDuration, Metric::of_number(MetricKind::kDuration, us));
    builder_.set(kPercent, Metric::of_number(MetricKind::kPercent, total_us_ > 0 ? us / total_us_ * 100 : 0));
    builder_.set(kDevice, device);
    builder_.set(kCount, Metric::of_count(count));
    builder_.set(kShapes, shapes);
  }

  bool is_folded(const Event &call) const {
    return options_.folds_builtins && name_text(call.name).starts_with(kBuiltinPrefix);
  }

  void add_track(const TraceTrack &track) {
    const Calls &calls = track.calls;
    const std::span<const Event *const> works = work_.of(track);
    Nesting nesting;
    if (nests_ || options_.details || options_.folds_builtins) nesting = nest(calls);
    else add_outermost(calls);
    for (size_t i = 0; i < calls.size(); ++i) {
      const Event &call = *calls[i];
      if (is_folded(call)) continue;
      add_row(texts_.name(call.name), duration_us(call), texts_.device(call.device), 1, texts_.shapes(call));
      if (numbers_runs_) add_repeat(run_index(call));
      if (nests_) add_nesting(nesting, i, duration_us(call));
      if (!works.empty()) add_device(call, works);
      if (options_.details) add_details(track, nesting, i);
      if (call.items) add_items(call);
    }
  }

  // Whether any call is nested in another. Calls are in the order of their ends, so a nested call comes before its
  // caller and begins after the caller's begin.
  static bool has_nested(const Calls &calls) {
    uint64_t earliest = UINT64_MAX;
    for (size_t i = calls.size(); i-- > 0;) {
      if (calls[i]->end > earliest) return true;
      earliest = calls[i]->begin;
    }
    return false;
  }

  // Equals nest() if no call is nested, without the lists of nest(), which take 28 bytes a call.
  void add_outermost(const Calls &calls) {
    for (const Event *call : calls) {
      RunTimes &times = times_of(*call);
      times.outermost_us += duration_us(*call);
      times.waited_us += waited_us(*call);
      ++times.num_outermost;
    }
  }

  // For each call: the enclosing call that has a row, the depth among such calls, the time of nested calls with rows,
  // and whether it is nested in a call of the same operator.
  struct Nesting {
    std::vector<size_t> rows;
    std::vector<uint32_t> depths;
    std::vector<double> inner_us;
    std::vector<bool> is_recursive;
  };
  // A folded call's time belongs to the enclosing row, or without one, to the row of all builtins.
  Nesting nest(const Calls &calls) {
    const std::vector<size_t> parents = parents_of(calls);
    const size_t size = calls.size();
    Nesting made{std::vector<size_t>(size, kNoCall), std::vector<uint32_t>(size), std::vector<double>(size),
                 std::vector<bool>(size)};
    for (size_t i = size; i-- > 0;) {
      const size_t parent = parents[i];
      const double us = duration_us(*calls[i]);
      const bool folded = is_folded(*calls[i]), within_folded = parent != kNoCall && is_folded(*calls[parent]);
      RunTimes &times = times_of(*calls[i]);
      if (parent == kNoCall) ++times.num_outermost;
      if (!folded) times.waited_us += waited_us(*calls[i]);
      const size_t row = made.rows[i] = within_folded ? made.rows[parent] : parent;
      if (row != kNoCall) {
        made.depths[i] = made.depths[row] + 1;
        if (!folded) made.inner_us[row] += us;
        continue;
      }
      if (within_folded) times.builtin_us -= us;
      (folded ? times.builtin_us : times.outermost_us) += us;
      times.num_builtins += folded;
    }
    if (nests_) mark_recursive(calls, made);
    return made;
  }

  // Views join rows by name, shapes and device. The outermost call's time already includes a recursive call's.
  void mark_recursive(const Calls &calls, Nesting &nesting) {
    using Operator = std::array<uint64_t, 3>;
    struct Hash {
      size_t operator()(const Operator &key) const {
        return ((key[0] * 0x9E3779B97F4A7C15u ^ key[1]) * 0x9E3779B97F4A7C15u) ^ key[2];
      }
    };
    std::unordered_map<Operator, size_t, Hash> num_open;
    std::vector<std::pair<size_t, size_t *>> open;  // enclosing calls, and the map entries of their operators
    for (size_t i = calls.size(); i-- > 0;) {
      const Event &call = *calls[i];
      if (is_folded(call)) continue;
      while (!open.empty() && open.back().first != nesting.rows[i]) {
        --*open.back().second;
        open.pop_back();
      }
      const Operator key{texts_.name(call.name).bits, texts_.shapes(call).bits, texts_.device(call.device).bits};
      size_t &count = num_open[key];
      nesting.is_recursive[i] = count++ > 0;
      open.emplace_back(i, &count);  // entries of an unordered map do not move
    }
  }

  static Metric duration(double us) { return Metric::of_number(MetricKind::kDuration, us); }

  void add_nesting(const Nesting &nesting, size_t i, double us) {
    builder_.set(builder_.column(kSelfColumn), duration(std::max(0.0, us - nesting.inner_us[i])));
    if (nesting.depths[i]) builder_.set(builder_.column(kDepthColumn), Metric::of_count(nesting.depths[i]));
    if (nesting.is_recursive[i]) builder_.set(builder_.column(kRecursiveColumn), Metric::of_count(1));
  }

  // Adds the device time of the work that a call submitted, and the wait before its first work. `works`: the thread's
  // work.
  void add_device(const Event &call, std::span<const Event *const> works) {
    const auto launched = [](const Event *work) { return device_work(*work).launched; };
    const auto first = std::ranges::lower_bound(works, call.begin, {}, launched);
    const auto behind = std::ranges::upper_bound(works, call.end, {}, launched);
    if (first >= behind) return;
    uint64_t ticks = 0;
    for (auto at = first; at != behind; ++at) ticks += length_ticks(**at);
    const DeviceWork given = device_work(**first);
    const uint64_t ready = given.launched + given.launch_ticks, begin = (*first)->begin;
    builder_.set(builder_.column(kDeviceColumn), duration(ticks_us(ticks)));
    builder_.set(builder_.column("Launch Gap (us)"), duration(ticks_us(begin > ready ? begin - ready : 0)));
  }

  // Adds the error of a call, its wait, and the values that collectors measured.
  void add_items(const Event &call) {
    EventItem item;
    for (size_t at = 0; next_item(call, at, item);) {
      if (item.type == EventItem::Type::kError) builder_.set(builder_.column(kErrorColumn), builder_.text(item.text));
      if (!is_own(item)) continue;
      if (item.type == EventItem::Type::kWaited) builder_.set(builder_.column(kWaitedColumn), item.metric);
      if (item.type == EventItem::Type::kMetric && !is_reserved(name_text(item.name)))
        builder_.set(column_of(item.name), in_report(item));
    }
  }
  // Columns from which readers of a report compute.
  static bool is_reserved(std::string_view name) {
    return name == kRowKindColumn || name == kWaitedColumn || name == kRepeatColumn;
  }
  bool is_own(const EventItem &item) const { return item.recordings & parts_.processes[0].recordings; }
  Metric in_report(const EventItem &item) { return item.metric.is_text() ? builder_.text(item.text) : item.metric; }
  size_t column_of(NameId name) {
    const auto [place, fresh] = columns_.try_emplace(name, 0);
    if (fresh) place->second = builder_.column(name_text(name));
    return place->second;
  }

  void add_details(const TraceTrack &track, const Nesting &nesting, size_t i) {
    const Event &call = *track.calls[i];
    const double start = call.begin > first_ ? ticks_us(call.begin - first_) : 0;
    builder_.set(builder_.column("Start (us)"), duration(start));
    builder_.set(builder_.column("Run"), Metric::of_count(static_cast<int64_t>(trace_.run_number(call))));
    builder_.set(builder_.column("Thread"), builder_.text(concat(track.thread_name, " ", track.thread_id)));
    builder_.set(builder_.column("Tensors", MetricKind::kBytes), Metric{MetricKind::kBytes, tensor_bytes(call)});
    std::string path;
    for (size_t at = nesting.rows[i]; at != kNoCall; at = nesting.rows[at])
      path = path.empty() ? name_text(track.calls[at]->name) : concat(name_text(track.calls[at]->name), "/", path);
    if (const std::string root = function_of(call); !root.empty()) path = path.empty() ? root : concat(root, "/", path);
    builder_.set(builder_.column("Call Path"), builder_.text(path));
  }

  std::string function_of(const Event &call) const {
    const uint64_t run = trace_.run_number(call);
    return run >= functions_.size() || functions_[run] == kNoName ? "" : name_text(functions_[run]);
  }

  // One row of each kind for each run, so that these times have medians too, or one for all runs together.
  void add_computed() {
    const auto runs = static_cast<int64_t>(trace_.num_runs());
    const uint64_t record = ticks_of_a_record();
    for (size_t run = 0; run < times_.size(); ++run) {
      const RunTimes &times = times_[run];
      const auto add = [&](RowKind kind, double us, int64_t count) {
        add_computed_row(kind, us, count);
        if (numbers_runs_) add_repeat(run);
      };
      if (times.num_builtins) add(RowKind::kBuiltins, times.builtin_us, static_cast<int64_t>(times.num_builtins));
      if (runs == 0) continue;
      // The cost of recording a nested call is part of its caller's time, so only outermost calls count here.
      const double rest = std::max(0.0, times.total_us - times.outermost_us - times.builtin_us);
      const double recording = std::min(rest, ticks_us(times.num_outermost * record + times.observed_ticks));
      add(RowKind::kDispatch, rest - recording, numbers_runs_ ? 1 : runs);
      if (const double waited = waited_us(run) - times.waited_us; waited > 0)
        builder_.set(builder_.column(kWaitedColumn), duration(waited));
      add(RowKind::kProfiler, recording, numbers_runs_ ? 1 : runs);
    }
  }
  void add_repeat(size_t run) {
    builder_.set(builder_.column(kRepeatColumn), Metric::of_count(static_cast<int64_t>(run)));
  }
  void add_computed_row(RowKind kind, double us, int64_t count) {
    const Metric host = builder_.text(report_device_name({kDLCPU, 0})), no_shapes = builder_.text("");
    add_row(builder_.text(computed_row_title(kind)), us, host, count, no_shapes);
    if (nests_) builder_.set(builder_.column(kSelfColumn), duration(us));
    builder_.set_row_kind(kind);
  }

  void add_devices() {
    for (const DLDevice place : options_.devices) {
      const std::string text = report_device_name(place);
      if (!builder_.begin_device(text)) continue;  // a device may be listed twice
      builder_.set_device("Name", builder_.text("Total"));
      builder_.set_device("Duration (us)", Metric::of_number(MetricKind::kDuration, total_us_));
      builder_.set_device("Device", builder_.text(text));
      builder_.set_device("Count", Metric::of_count(static_cast<int64_t>(trace_.num_runs())));
      for (Total &total : totals_)
        if (same(total.device, place)) total.give(builder_);
      add_device_total(place);
    }
  }

  // Adds the time in which the device did work of the runs, and the rest of the runs' time.
  void add_device_total(DLDevice place) {
    std::vector<TickInterval> works;
    for (const TraceTrack &track : parts_.tracks)
      if (track.device && same(*track.device, place) && track.stream != kOverheadStream)
        for (const Event *work : track.device_work)
          if (trace_.run_number(*work) < trace_.num_runs()) works.push_back({work->begin, work->end});
    if (works.empty()) return;
    std::ranges::sort(works, {}, &TickInterval::begin);
    uint64_t busy = 0, until = 0;
    for (const TickInterval &work : works) {
      if (work.end > until) busy += work.end - std::max(work.begin, until);
      until = std::max(until, work.end);
    }
    builder_.set_device(kDeviceColumn, duration(ticks_us(busy)));
    builder_.set_device("Device Idle (us)", duration(std::max(0.0, total_us_ - ticks_us(busy))));
  }

  void configure() {
    builder_.configure("Number of threads", Metric::of_count(options_.num_threads));
    builder_.configure("Executor", builder_.text("VM"));
    if (const std::string machines = machines_of(parts_); !machines.empty())
      builder_.configure("Machine", builder_.text(machines));
    if (const uint64_t interval = parts_.processes[0].sample_interval; interval > 1)
      builder_.configure("Sample interval",
                         Metric::of_count(static_cast<int64_t>(std::min<uint64_t>(interval, INT64_MAX))));
    if (options_.turn) builder_.configure("Turn", Metric::of_count(options_.turn));
    if (!options_.note.empty()) builder_.configure(kNoteEntry, builder_.text(options_.note));
    if (const uint64_t dropped = trace_.num_dropped())
      builder_.configure(kDroppedEntry, Metric::of_count(static_cast<int64_t>(dropped)));
    configure_device_clocks(parts_, builder_);
    for (const ObserverSummary &observer : parts_.observers) {
      builder_.configure(concat("Collector cost: ", observer.name, " (us)"), duration(ticks_us(observer.cost_ticks)));
      if (observer.error)
        builder_.configure(concat(kCollectorErrorEntry, observer.name), builder_.text(*observer.error));
      if (!observer.note.empty())
        builder_.configure(concat(kCollectorNoteEntry, observer.name), builder_.text(observer.note));
    }
  }

  // Adds the metrics that collectors measured for whole runs.
  void add_run_items(const Event &run) {
    std::vector<Total *> seen;  // a device may be listed twice
    Total *current = nullptr;
    EventItem item;
    for (size_t at = 0; next_item(run, at, item);) {
      if (!is_own(item)) continue;
      if (item.type == EventItem::Type::kObserved) times_of(run).observed_ticks += item.metric.bits;
      if (item.type == EventItem::Type::kDevice) {
        current = &total_of(std::bit_cast<DLDevice>(item.metric.bits));
        if (std::ranges::find(seen, current) == seen.end()) seen.push_back(current);
        else current = nullptr;
      }
      if (item.type == EventItem::Type::kMetric && current) current->add(item.name, in_report(item));
    }
  }

  struct Sum {  // sum of one metric over the runs
    NameId name;
    bool is_largest;  // joined cells of this column have the largest value
    Metric total;
    size_t runs = 0;
    void add(Metric metric) {
      const bool alike = runs++ > 0 && metric.kind == total.kind && !metric.is_text();
      total = alike ? joined(total, metric, is_largest ? Join::kMax : Join::kByKind) : metric;
    }
    Metric result() const {
      const bool is_mean =
          total.kind == MetricKind::kRatio || total.kind == MetricKind::kHertz || total.kind == MetricKind::kPercent;
      return is_mean ? Metric::of_number(total.kind, total.number() / static_cast<double>(runs)) : total;
    }
  };
  struct Total {
    DLDevice device;
    std::vector<Sum> sums;  // in the order of their first appearance
    void add(NameId name, Metric metric) {
      auto found = std::ranges::find(sums, name, &Sum::name);
      if (found == sums.end()) {
        sums.push_back({name, meaning_of_column(name_text(name)).join == Join::kMax, {}});
        found = sums.end() - 1;
      }
      found->add(metric);
    }
    void give(ReportBuilder &builder) const {
      for (const Sum &sum : sums)  // collectors cannot set TVM's columns, even those missing in the totals
        if (const std::string &name = name_text(sum.name);
            std::ranges::find(kTvmColumns, name) == std::end(kTvmColumns))
          builder.set_device(name, sum.result());
    }
  };
  Total &total_of(DLDevice device) {
    for (Total &total : totals_)
      if (same(total.device, device)) return total;
    return totals_.emplace_back(Total{device, {}});
  }

  const Trace &trace_;
  const TraceParts &parts_;
  const GivenWork work_{trace_};
  const RunReportOptions &options_;
  ReportBuilder builder_;
  ReportTexts texts_{builder_};
  const uint64_t empty_;
  uint64_t first_ = 0;
  double total_us_ = 0;
  std::vector<RunTimes> times_;    // of each run if numbers_runs_, else one for all runs together
  bool numbers_runs_ = false;      // rows have the number of their run
  std::vector<NameId> functions_;  // index: number of the run
  std::unordered_map<NameId, size_t> columns_;
  std::deque<Total> totals_;
  bool nests_ = false;  // calls are nested, so columns for self time and depth exist
};

}  // namespace

std::string report_device_name(DLDevice device) {
  return concat(device_kind_name(device.device_type), device.device_id);
}

void configure_device_clocks(const TraceParts &parts, ReportBuilder &builder) {
  for (const TraceTrack *track : parts.tracks_with_clocks()) {
    const std::string process = parts.is_merged() ? concat(parts.process_of(*track).title(), ", ") : "";
    const std::string name = process + report_device_name(*track->device);
    if (track->clock->error_ns)
      builder.configure(concat("Device clock error: ", name, " (us)"),
                        Metric::of_number(MetricKind::kDuration, static_cast<double>(*track->clock->error_ns) / 1000));
    builder.configure(concat("Device clock: ", name), builder.text(track->clock->text()));
  }
}

Ref<Report> report_of_run(const Trace &trace, const RunReportOptions &options) { return Rows(trace, options).make(); }

}  // namespace opd
