#include "telemetry/metric.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/json_writer.h"
#include "base/text.h"

namespace opd {

void DurationHistogram::add(double seconds) {
  const auto bound = std::ranges::lower_bound(kBounds, seconds);
  ++counts[static_cast<size_t>(bound - kBounds.begin())];
  ++count;
  sum += seconds;
}

namespace {
const std::string &label_of(NameId name) {
  static const auto *const none = new std::string;  // never destroyed: threads may write while the process exits
  return name == kNoName ? *none : name_text(name);
}
}  // namespace

template <class Name>
CallMetrics::Row &CallMetrics::row_of(Table &table, uint64_t key, const Name &name) {
  const auto found = table.places.find(key);
  if (found != table.places.end()) return table.rows[found->second];
  if (table.places.size() < max_series_) {
    table.rows.push_back({name()});
    table.places.emplace(key, table.rows.size() - 1);
    return table.rows.back();
  }
  ++num_folded_;
  if (table.other == SIZE_MAX) {
    Labels labels = name();
    for (auto &[label, text] : labels) text = "other";
    table.rows.push_back({std::move(labels)});
    table.other = table.rows.size() - 1;
  }
  return table.rows[table.other];
}

void CallMetrics::add(const TraceParts &parts) {
  for (const TraceTrack &track : parts.tracks) {
    for (const Event *run : track.runs) {
      if (run->is_open) continue;
      Row &row = row_of(functions_, uint64_t{run->location} << 32 | run->name, [run]() -> Labels {
        return {{"program", label_of(run->location)}, {"function", label_of(run->name)}};
      });
      row.durations.add(parts.duration_ns(length_ticks(*run)) / 1e9);
      if (failure_of(*run).data()) ++row.errors;
    }
    for (const Event *call : track.calls) {
      Row &row = row_of(operators_, call->name, [call]() -> Labels { return {{"operator", label_of(call->name)}}; });
      ++row.durations.count;
      row.durations.sum += parts.duration_ns(length_ticks(*call)) / 1e9;
      if (!error_of(*call).empty()) ++row.errors;
    }
  }
}

void CallMetrics::write(std::vector<Series> &all, bool per_operator) const {
  using enum SeriesKind;
  Series calls{"opdyno_calls", "opdyno.calls", "{call}", "Calls of functions of programs that have ended.", kCounter};
  Series errors{"opdyno_call_errors", "opdyno.call.errors", "{call}", "Calls that ended with an error.", kCounter};
  Series durations{"opdyno_call_duration_seconds", "opdyno.call.duration", "s", "How long calls took.", kHistogram};
  for (const Row &row : functions_.rows) {
    calls.points.push_back({row.labels, static_cast<double>(row.durations.count)});
    errors.points.push_back({row.labels, static_cast<double>(row.errors)});
    durations.points.push_back({row.labels, 0, row.durations});
  }
  for (Series *series : {&calls, &errors, &durations}) all.push_back(std::move(*series));
  if (per_operator) {
    Series count{"opdyno_operator_calls", "opdyno.operator.calls", "{call}", "Calls of operators.", kCounter};
    Series failed{"opdyno_operator_errors", "opdyno.operator.errors", "{call}", "Calls of operators that failed.",
                  kCounter};
    Series seconds{"opdyno_operator_seconds", "opdyno.operator.time", "s", "Time in operators, with what they call.",
                   kCounter};
    for (const Row &row : operators_.rows) {
      count.points.push_back({row.labels, static_cast<double>(row.durations.count)});
      failed.points.push_back({row.labels, static_cast<double>(row.errors)});
      seconds.points.push_back({row.labels, row.durations.sum});
    }
    for (Series *series : {&count, &failed, &seconds}) all.push_back(std::move(*series));
  }
  all.push_back(single("opdyno_label_overflow", "opdyno.label.overflow", "{call}",
                       "Calls that are counted with the labels \"other\", since there are too many label sets.",
                       kCounter, static_cast<double>(num_folded_)));
}

// ---- the process. Source: Prometheus, "Writing client libraries", Process metrics; proc(5).

namespace {

// Reads a field of /proc/self/stat by its number in proc(5), from 3 on: the name before them may have spaces.
double stat_field(std::string_view stat, int number) {
  const size_t end_of_name = stat.rfind(") ");
  if (end_of_name == stat.npos) return 0;
  stat.remove_prefix(end_of_name + 2);
  for (int field = 3; field < number; ++field) {
    const size_t space = stat.find(' ');
    if (space == stat.npos) return 0;
    stat.remove_prefix(space + 1);
  }
  uint64_t value = 0;
  std::from_chars(stat.data(), stat.data() + stat.size(), value);
  return static_cast<double>(value);
}

double boot_time() {
  const std::string text = small_file("/proc/uptime");
  double uptime = 0;
  std::from_chars(text.data(), text.data() + text.size(), uptime);
  return static_cast<double>(unix_ns()) / 1e9 - uptime;
}

size_t num_open_files() {
  const std::unique_ptr<DIR, int (*)(DIR *)> directory(::opendir("/proc/self/fd"), &::closedir);
  size_t count = 0;
  while (const dirent *const entry = directory ? ::readdir(directory.get()) : nullptr) count += entry->d_name[0] != '.';
  return count ? count - 1 : 0;  // without the descriptor of the directory
}

}  // namespace

void add_process_metrics(std::vector<Series> &all) {
  const auto add = [&](const auto &...parts) { all.push_back(single(parts...)); };
  const std::string stat = small_file("/proc/self/stat");
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK)), page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  // The start is computed once: corrections of the clock must not change it.
  static const double started = boot_time() + stat_field(stat, 22) / ticks;
  add("process_cpu_seconds", "process.cpu.time", "s", "User and system time of the process's processors.",
      SeriesKind::kCounter, (stat_field(stat, 14) + stat_field(stat, 15)) / ticks);
  add("process_resident_memory_bytes", "process.memory.usage", "By", "Resident memory of the process.",
      SeriesKind::kGauge, stat_field(stat, 24) * page);
  add("process_virtual_memory_bytes", "process.memory.virtual", "By", "Virtual memory of the process.",
      SeriesKind::kGauge, stat_field(stat, 23));
  add("process_open_fds", "process.open_file_descriptor.count", "{count}", "Open file descriptors.", SeriesKind::kGauge,
      static_cast<double>(num_open_files()));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    add("process_max_fds", "process.open_file_descriptor.limit", "{count}", "The most file descriptors.",
        SeriesKind::kGauge, static_cast<double>(limit.rlim_cur));
  add("process_start_time_seconds", "process.start_time", "s", "Unix time at which the process started.",
      SeriesKind::kGauge, started);
}

// ---- text for Prometheus. Source: Prometheus, "Exposition formats"; OpenMetrics 1.0.0.

namespace {

void append_escaped(std::string &out, std::string_view text, bool is_label) {
  std::string valid;
  append_utf8_text(valid, text);
  for (const char c : valid) {
    if (c == '\\') out += "\\\\";
    else if (c == '\n') out += "\\n";
    else if (c == '"' && is_label) out += "\\\"";
    else out += c;
  }
}

void append_number(std::string &out, double number) {
  if (std::isnan(number)) out += "NaN";
  else if (std::isinf(number)) out += number < 0 ? "-Inf" : "+Inf";
  else if (number == std::floor(number) && std::abs(number) < 1e15) append(out, static_cast<int64_t>(number));
  else append(out, number);
}

class Writer {
 public:
  explicit Writer(bool open_metrics) : open_metrics_(open_metrics) {}

  void add(const Series &series) {
    if (series.points.empty()) return;
    const bool is_counter = series.kind == SeriesKind::kCounter;
    const char *const kind = is_counter ? "counter" : series.kind == SeriesKind::kGauge ? "gauge" : "histogram";
    // The header has the name of the samples in the older format, that of the family in OpenMetrics.
    const std::string name = series.name + (is_counter && !open_metrics_ ? "_total" : "");
    out_ += concat("# HELP ", name, " ");
    append_escaped(out_, series.help, open_metrics_);
    out_ += concat("\n# TYPE ", name, " ", kind, "\n");
    for (const Point &point : series.points) {
      if (series.kind == SeriesKind::kHistogram) add_histogram(series.name, point);
      else add_sample(series.name + (is_counter ? "_total" : ""), point.labels, point.value);
    }
  }

  std::string take() {
    if (open_metrics_) out_ += "# EOF\n";
    return std::move(out_);
  }

 private:
  void add_sample(std::string_view name, const Labels &labels, double value, std::string_view bound = "") {
    out_ += name;
    char before = '{';
    for (const auto &[key, text] : labels) {
      out_ += before;
      out_ += key;
      out_ += "=\"";
      append_escaped(out_, text, true);
      out_ += '"';
      before = ',';
    }
    if (!bound.empty()) out_ += concat(before, "le=\"", bound, "\""), before = ',';
    if (before == ',') out_ += '}';
    out_ += ' ';
    append_number(out_, value);
    out_ += '\n';
  }

  void add_histogram(const std::string &name, const Point &point) {
    uint64_t below = 0;
    for (size_t i = 0; i < DurationHistogram::kBounds.size(); ++i) {
      below += point.histogram.counts[i];
      std::string bound;
      append(bound, DurationHistogram::kBounds[i]);
      if (open_metrics_ && bound.find_first_of(".e") == bound.npos) bound += ".0";
      add_sample(name + "_bucket", point.labels, static_cast<double>(below), bound);
    }
    const auto count = static_cast<double>(point.histogram.count);
    add_sample(name + "_bucket", point.labels, count, "+Inf");
    add_sample(name + "_sum", point.labels, point.histogram.sum);
    add_sample(name + "_count", point.labels, count);
  }

  const bool open_metrics_;
  std::string out_;
};

}  // namespace

std::string prometheus_text(const std::vector<Series> &all, bool open_metrics) {
  Writer writer(open_metrics);
  for (const Series &series : all) writer.add(series);
  return writer.take();
}

}  // namespace opd
