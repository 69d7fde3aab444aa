// Merges reports. Configuration entries that differ between them become columns, so nothing is lost.
#include <algorithm>
#include <map>

#include "report/report.h"

namespace opd {
namespace {

// A metric with its text, for comparisons between reports.
struct Entry {
  Metric metric;
  std::string_view text;
  friend bool operator==(const Entry &a, const Entry &b) {
    return a.metric.kind == b.metric.kind && (a.metric.is_text() ? a.text == b.text : a.metric == b.metric);
  }
};
Entry entry_of(const Report &report, Metric metric) {
  return {metric, metric.is_text() ? report.text(metric.text()) : std::string_view()};
}

class Merger {
 public:
  explicit Merger(std::span<const Report *const> reports) : reports_(reports) {
    for (const auto &[name, metric] : reports.front()->configuration())
      common_.emplace_back(name, entry_of(*reports.front(), metric));
    for (const Report *report : reports) keep_common_with(*report);
  }

  Ref<Report> merge() {
    for (const Report *report : reports_)
      for (const Column &column : report->columns())
        if (column.name() != kRun) builder_.column(column.name());
    for (const auto &[name, entry] : common_) builder_.configure(name, copy(entry));
    for (const Report *report : reports_) add(*report);
    return builder_.finish();
  }

 private:
  static constexpr std::string_view kRun = "Run";

  void keep_common_with(const Report &report) {
    std::map<std::string_view, Entry> entries;
    for (const auto &[name, metric] : report.configuration()) entries.emplace(name, entry_of(report, metric));
    std::erase_if(common_, [&](const auto &known) {
      const auto found = entries.find(known.first);
      return found == entries.end() || !(found->second == known.second);
    });
  }

  Metric copy(const Entry &entry) {
    return entry.metric.is_text() ? builder_.text(entry.text, entry.metric.kind) : entry.metric;
  }

  bool is_common(std::string_view name) const {
    return std::ranges::any_of(common_, [&](const auto &known) { return known.first == name; });
  }

  // Maps the run `before` of this report to its number in the merged report. Without a number, the report is one run.
  int64_t run_of(Metric before) {
    const auto [found, is_new] = runs_.emplace(before.kind == MetricKind::kCount ? before.count() : -1, num_runs_);
    num_runs_ += is_new;
    return found->second;
  }

  void add(const Report &report) {
    runs_.clear();
    const int64_t first_run = num_runs_;
    NamedMetrics own;  // configuration entries that differ from those of other reports
    for (const auto &[name, metric] : report.configuration()) {
      if (is_common(name)) continue;
      std::string column = name;
      while (column == kRun || report.find_column(column)) column += " (configuration)";
      own.emplace_back(std::move(column), copy(entry_of(report, metric)));
    }
    add_rows(report, own);
    add_devices(report, own);
    if (report.num_rows() == 0 && report.devices().empty())
      for (const auto &[name, metric] : own) builder_.configure(of_run(name, first_run), metric);
    if (runs_.empty()) run_of({});
    for (const auto &[key, json] : report.extras()) add_extra(key, json, first_run);
  }

  void add_rows(const Report &report, const NamedMetrics &own) {
    std::vector<std::pair<size_t, Cells>> columns;
    Cells runs(nullptr);
    for (const Column &column : report.columns())
      if (column.name() == kRun) runs = Cells(&column);
      else columns.emplace_back(builder_.column(column.name()), &column);
    std::vector<size_t> own_columns;
    if (report.num_rows())
      for (const auto &entry : own) own_columns.push_back(builder_.column(entry.first));
    std::vector<Metric> texts(report.num_texts());  // the merged report's texts
    for (size_t row = 0; row < report.num_rows(); ++row) {
      builder_.begin_row();
      for (auto &[column, cells] : columns) {
        Metric cell = cells.at(row);
        if (!cell) continue;
        if (cell.is_text()) {
          Metric &known = texts[cell.text()];
          if (known.kind != cell.kind) known = copy(entry_of(report, cell));
          cell = known;
        }
        builder_.set(column, cell);
      }
      for (size_t i = 0; i < own.size(); ++i) builder_.set(own_columns[i], own[i].second);
      const Metric run = runs.at(row);
      builder_.set(builder_.column(kRun), Metric::of_count(run_of(run)));
      if (run && run.kind != MetricKind::kCount)
        builder_.set(builder_.column("Run (before)"), copy(entry_of(report, run)));
    }
  }

  void add_devices(const Report &report, const NamedMetrics &own) {
    for (const auto &[name, metrics] : report.devices()) {
      Metric before;
      for (const auto &[key, metric] : metrics)
        if (key == kRun) before = metric;
      std::string_view base = name;  // without the suffix of an earlier merge
      if (before.kind == MetricKind::kCount)
        if (const std::string suffix = of_run("", before.count()); base.ends_with(suffix))
          base.remove_suffix(suffix.size());
      const int64_t run = before || runs_.empty() ? run_of(before) : runs_.begin()->second;
      std::string merged = of_run(base, run);
      while (!builder_.begin_device(merged)) merged += '\'';
      for (const auto &[key, metric] : metrics)
        if (key != kRun || metric.kind != MetricKind::kCount)
          builder_.set_device(key == kRun ? "Run (before)" : key, copy(entry_of(report, metric)));
      for (const auto &[key, metric] : own)
        for (std::string free = key; !builder_.set_device(free, metric);) free += " (configuration)";
      builder_.set_device(kRun, Metric::of_count(run));
    }
  }

  void add_extra(const std::string &key, const std::string &json, int64_t run) {
    const auto [known, is_new] = extras_.emplace(key, json);
    if (is_new) builder_.add_extra(key, json);
    else if (known->second != json) builder_.add_extra(of_run(key, run), json);
  }

  static std::string of_run(std::string_view name, int64_t run) { return concat(name, " (run ", run, ")"); }

  std::span<const Report *const> reports_;
  std::vector<std::pair<std::string, Entry>> common_;
  ReportBuilder builder_;
  std::map<int64_t, int64_t> runs_;  // for the current report
  int64_t num_runs_ = 0;
  std::map<std::string, std::string> extras_;
};

}  // namespace

Ref<Report> Report::merge(std::span<const Report *const> reports) { return Merger(reports).merge(); }

}  // namespace opd
