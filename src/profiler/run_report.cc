#include "profiler/run_report.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace opd {
namespace {

constexpr size_t kNone = SIZE_MAX;

// The time that recording adds to a call: from before its begin to after its end.
uint64_t ticks_of_a_record() {
  constexpr int kBatches = 8, kCalls = 128;
  CallEventBuffer buffer(kCalls);
  int64_t shape[] = {1, 1};
  DLTensor tensor{nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const View args[] = {opd_dltensor(&tensor), opd_dltensor(&tensor), opd_dltensor(&tensor)};
  uint64_t least = UINT64_MAX;
  for (int batch = 0; batch < kBatches; ++batch) {
    buffer.restart(1);
    const uint64_t start = buffer.now();
    for (int i = 0; i < kCalls; ++i) {
      const uint64_t begin = buffer.now(), end = buffer.now();
      CallEvent *record = buffer.describe(args, 0);
      record->begin = begin, record->end = end;
      buffer.commit();
    }
    least = std::min(least, buffer.now() - start);
  }
  return least / kCalls;
}

// For each record, the record that it ran within. Records are in the order of their ends, so from the back each parent
// comes before its children.
std::vector<size_t> parents_of(const CallEventBuffer &buffer) {
  std::vector<size_t> parents(buffer.size(), kNone), open;
  for (size_t i = buffer.size(); i-- > 0;) {
    const CallEvent &record = buffer.at(i);
    while (!open.empty() && (buffer.at(open.back()).begin > record.begin || buffer.at(open.back()).end < record.end))
      open.pop_back();
    if (!open.empty()) parents[i] = open.back();
    open.push_back(i);
  }
  return parents;
}

class Rows {
 public:
  explicit Rows(const RunRecord &run) : run_(run) {
    if (!run.lanes.empty()) empty_ = empty_interval_ticks(run.lanes[0].buffer.clock());
    first_ = UINT64_MAX;
    nests_ = run.options.details;
    for (const ThreadTrack &lane : run.lanes) {
      nests_ |= has_nested(lane.buffer);
      for (const RunSpan &span : lane.runs) {
        total_us_ += ticks_us(span.end - span.begin);
        first_ = std::min(first_, span.begin);
        ++num_runs_;
      }
    }
  }

  Ref<Report> make() {
    for (const std::string_view name : kTvmColumns) builder_.column(name);
    size_t rows = 3;  // the computed rows
    for (const ThreadTrack &lane : run_.lanes) rows += lane.buffer.size();
    builder_.reserve(rows);
    for (const ThreadTrack &lane : run_.lanes) add_lane(lane);
    add_computed();
    add_devices();
    configure();
    return builder_.finish();
  }

 private:
  enum : size_t { kName, kDuration, kPercent, kDevice, kCount, kShapes };  // as in kTvmColumns

  double ticks_us(uint64_t ticks) const { return run_.line.duration_ns(ticks) / 1000; }
  double duration_us(const CallEvent &record) const {
    const uint64_t ticks = record.end > record.begin ? record.end - record.begin : 0;
    return ticks_us(ticks > empty_ ? ticks - empty_ : 0);
  }
  // Texts shared by many rows are cached by their source.
  Metric name_metric(NameId name) {
    if (name >= names_.size()) names_.resize(size_t{name} + 1);
    if (!names_[name]) names_[name] = builder_.text(name_text(name));
    return names_[name];
  }
  Metric shapes_text(const CallEventBuffer &buffer, const CallEvent &record) {
    Metric &text = record.num_tensors ? shapes_at_[record.shapes] : no_shapes_;
    if (text) return text;
    const std::span<const int64_t> words = buffer.shape_words(record);
    const std::string_view key(reinterpret_cast<const char *>(words.data()), words.size_bytes());
    Metric &known = shapes_[key];
    if (!known) known = builder_.text(buffer.shapes_text(record));
    return text = known;
  }
  Metric device_text(DLDevice device) {
    if (!device_ || !same(device, last_device_)) {
      device_ = builder_.text(report_device_name(device));
      last_device_ = device;
    }
    return device_;
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

  bool is_folded(const CallEvent &record) const {
    return run_.options.folds_builtins && name_text(record.name).starts_with("vm.builtin.");
  }

  void add_lane(const ThreadTrack &lane) {
    const CallEventBuffer &buffer = lane.buffer;
    shapes_at_.assign(buffer.num_shape_words(), {});
    Nesting nesting;
    if (nests_ || run_.options.details || run_.options.folds_builtins) nesting = nest(buffer);
    else add_outermost(buffer);
    for (size_t i = 0; i < buffer.size(); ++i) {
      const CallEvent &record = buffer.at(i);
      if (is_folded(record)) continue;
      add_row(name_metric(record.name), duration_us(record), device_text(record.device), 1,
              shapes_text(buffer, record));
      if (nests_) add_nesting(nesting, i, duration_us(record));
      if (run_.options.details) add_details(lane, nesting, i);
      if (buffer.has_failures()) add_failure(buffer.failure_of(record));
      if (run_.collected) static_cast<CollectorRun *>(lane.observer)->set_row(builder_, record.sequence);
    }
    dropped_ += buffer.dropped();
  }

  // Whether any call ran within another. Records are in the order of their ends, so a nested call lies before its
  // caller and begins after the caller's begin.
  static bool has_nested(const CallEventBuffer &buffer) {
    uint64_t earliest = UINT64_MAX;
    for (size_t i = buffer.size(); i-- > 0;) {
      const CallEvent &record = buffer.at(i);
      if (record.end > earliest) return true;
      earliest = record.begin;
    }
    return false;
  }

  // Does the same as nest() if no call ran within another, without the lists of nest(), which take 28 bytes a record.
  void add_outermost(const CallEventBuffer &buffer) {
    for (size_t i = 0; i < buffer.size(); ++i) outermost_us_ += duration_us(buffer.at(i));
    num_outermost_ += buffer.size();
  }

  // For each record: the enclosing record that has a row; its depth in such rows; the time of the records with rows
  // directly within it; whether it runs within a call of the same operator.
  struct Nesting {
    std::vector<size_t> rows;
    std::vector<uint32_t> depths;
    std::vector<double> inner_us;
    std::vector<bool> is_recursive;
  };
  // A folded call's time belongs to the row that it ran within; without one, to the row of all builtins.
  Nesting nest(const CallEventBuffer &buffer) {
    const std::vector<size_t> parents = parents_of(buffer);
    const size_t size = buffer.size();
    Nesting made{std::vector<size_t>(size, kNone), std::vector<uint32_t>(size), std::vector<double>(size),
                 std::vector<bool>(size)};
    for (size_t i = buffer.size(); i-- > 0;) {
      const size_t parent = parents[i];
      const double us = duration_us(buffer.at(i));
      const bool folded = is_folded(buffer.at(i)), within_folded = parent != kNone && is_folded(buffer.at(parent));
      if (parent == kNone) ++num_outermost_;
      const size_t row = made.rows[i] = within_folded ? made.rows[parent] : parent;
      if (row != kNone) {
        made.depths[i] = made.depths[row] + 1;
        if (!folded) made.inner_us[row] += us;
        continue;
      }
      if (within_folded) builtin_us_ -= us;
      (folded ? builtin_us_ : outermost_us_) += us;
      num_builtins_ += folded;
    }
    if (nests_) mark_recursive(buffer, made);
    return made;
  }

  // Views join rows by name, shapes and device. A joined row contains a recursive call's time already, as part of the
  // outermost call's.
  void mark_recursive(const CallEventBuffer &buffer, Nesting &nesting) {
    using Operator = std::array<uint64_t, 3>;
    struct Hash {
      size_t operator()(const Operator &key) const {
        return ((key[0] * 0x9E3779B97F4A7C15u ^ key[1]) * 0x9E3779B97F4A7C15u) ^ key[2];
      }
    };
    std::unordered_map<Operator, size_t, Hash> num_open;
    std::vector<std::pair<size_t, size_t *>> open;  // enclosing records, and their operators' entries of the map
    for (size_t i = buffer.size(); i-- > 0;) {
      const CallEvent &record = buffer.at(i);
      if (is_folded(record)) continue;
      while (!open.empty() && open.back().first != nesting.rows[i]) {
        --*open.back().second;
        open.pop_back();
      }
      const Operator key{name_metric(record.name).bits, shapes_text(buffer, record).bits,
                         device_text(record.device).bits};
      size_t &count = num_open[key];
      nesting.is_recursive[i] = count++ > 0;
      open.emplace_back(i, &count);  // entries of an unordered map stay in place
    }
  }

  static Metric duration(double us) { return Metric::of_number(MetricKind::kDuration, us); }

  void add_nesting(const Nesting &nesting, size_t i, double us) {
    builder_.set(builder_.column(kSelfColumn), duration(std::max(0.0, us - nesting.inner_us[i])));
    if (nesting.depths[i]) builder_.set(builder_.column(kDepthColumn), Metric::of_count(nesting.depths[i]));
    if (nesting.is_recursive[i]) builder_.set(builder_.column(kRecursiveColumn), Metric::of_count(1));
  }

  void add_failure(std::string_view message) {
    if (!message.empty()) builder_.set(builder_.column(kErrorColumn), builder_.text(message));
  }

  void add_details(const ThreadTrack &lane, const Nesting &nesting, size_t i) {
    const CallEvent &record = lane.buffer.at(i);
    const double start = record.begin > first_ ? ticks_us(record.begin - first_) : 0;
    builder_.set(builder_.column("Start (us)"), duration(start));
    builder_.set(builder_.column("Run"), Metric::of_count(static_cast<int64_t>(record.run)));
    builder_.set(builder_.column("Thread"), builder_.text(concat(lane.thread_name, " ", lane.thread_id)));
    builder_.set(builder_.column("Tensors", MetricKind::kBytes),
                 Metric{MetricKind::kBytes, lane.buffer.tensor_bytes(record)});
    std::string path;
    for (size_t at = nesting.rows[i]; at != kNone; at = nesting.rows[at])
      path = path.empty() ? name_text(lane.buffer.at(at).name) : concat(name_text(lane.buffer.at(at).name), "/", path);
    if (const std::string root = function_of(lane, record); !root.empty())
      path = path.empty() ? root : concat(root, "/", path);
    builder_.set(builder_.column("Call Path"), builder_.text(path));
  }

  std::string function_of(const ThreadTrack &lane, const CallEvent &record) const {
    const auto found = std::lower_bound(lane.runs.begin(), lane.runs.end(), record.begin,
                                        [](const RunSpan &span, uint64_t tick) { return span.end < tick; });
    return found == lane.runs.end() || found->function == kNoName ? "" : name_text(found->function);
  }

  void add_computed() {
    if (num_builtins_) add_computed_row(RowKind::kBuiltins, builtin_us_, static_cast<int64_t>(num_builtins_));
    if (num_runs_ == 0) return;
    // The cost of recording a nested call is part of its caller's time, so only outermost calls count here.
    const uint64_t collecting = run_.collected ? run_.collected->outermost_cost() : 0;
    const double rest = std::max(0.0, total_us_ - outermost_us_ - builtin_us_);
    const double recording = std::min(rest, ticks_us(num_outermost_ * ticks_of_a_record() + collecting));
    add_computed_row(RowKind::kDispatch, rest - recording, num_runs_);
    add_computed_row(RowKind::kProfiler, recording, num_runs_);
  }
  void add_computed_row(RowKind kind, double us, int64_t count) {
    const Metric host = builder_.text(report_device_name({kDLCPU, 0})), no_shapes = builder_.text("");
    add_row(builder_.text(computed_row_title(kind)), us, host, count, no_shapes);
    if (nests_) builder_.set(builder_.column(kSelfColumn), duration(us));
    builder_.set_row_kind(kind);
  }

  void add_devices() {
    for (const DLDevice place : run_.devices) {
      const std::string text = report_device_name(place);
      if (!builder_.begin_device(text)) continue;  // a device may be listed twice
      builder_.set_device("Name", builder_.text("Total"));
      builder_.set_device("Duration (us)", Metric::of_number(MetricKind::kDuration, total_us_));
      builder_.set_device("Device", builder_.text(text));
      builder_.set_device("Count", Metric::of_count(num_runs_));
      if (run_.collected) run_.collected->set_device(builder_, place);
    }
  }

  void configure() {
    builder_.configure("Number of threads", Metric::of_count(run_.num_threads));
    builder_.configure("Executor", builder_.text("VM"));
    if (const uint64_t interval = run_.options.sample_interval; interval > 1)
      builder_.configure("Sample interval",
                         Metric::of_count(static_cast<int64_t>(std::min<uint64_t>(interval, INT64_MAX))));
    if (run_.options.turn) builder_.configure("Turn", Metric::of_count(run_.options.turn));
    if (!run_.note.empty()) builder_.configure(kNoteEntry, builder_.text(run_.note));
    if (dropped_) builder_.configure(kDroppedEntry, Metric::of_count(static_cast<int64_t>(dropped_)));
    if (run_.collected) run_.collected->configure(builder_, run_.line);
  }

  const RunRecord &run_;
  ReportBuilder builder_;
  uint64_t empty_ = 0, first_ = 0, num_outermost_ = 0, num_builtins_ = 0, dropped_ = 0;
  int64_t num_runs_ = 0;
  double total_us_ = 0, outermost_us_ = 0, builtin_us_ = 0;
  std::vector<Metric> names_;      // by NameId
  std::vector<Metric> shapes_at_;  // by place in the lane's buffer
  Metric no_shapes_;
  std::unordered_map<std::string_view, Metric> shapes_;  // keys lie in the buffers
  bool nests_ = false;  // calls are nested, so there are columns for self time and depth
  Metric device_;
  DLDevice last_device_{};
};

}  // namespace

std::string report_device_name(DLDevice device) {
  return concat(device_kind_name(device.device_type), device.device_id);
}

Ref<Report> report_of_run(const RunRecord &run) { return Rows(run).make(); }

}  // namespace opd
