#include "report/report.h"

#include <algorithm>
#include <array>

namespace opd {

// ---- columns

std::string_view kind_name(MetricKind kind) {
  static constexpr std::string_view kNames[] = {"",       "count", "microseconds", "percent", "ratio",
                                                "string", "bytes", "hertz",        ""};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

constexpr ColumnMeaning joined_as(Join join) { return {.join = join}; }
constexpr ColumnMeaning minor_joined_as(Join join) { return {.join = join, .is_minor = true}; }
constexpr ColumnMeaning kOfCallAlone{.includes_inner = false, .is_minor = true};
constexpr ColumnMeaning ratio(std::string_view over, std::string_view under, double scale) {
  return {
      .join = Join::kRatio, .includes_inner = false, .is_minor = true, .over = over, .under = under, .scale = scale};
}

constexpr std::pair<std::string_view, ColumnMeaning> kKnown[] = {
    {"Count", kOfCallAlone},
    {kSelfColumn, kOfCallAlone},
    {kRecursiveColumn, kOfCallAlone},
    {kDeviceColumn, {.is_of_devices = true}},
    {kSelfDeviceColumn, {.includes_inner = false, .is_minor = true, .is_of_devices = true}},
    {"FLOP", kOfCallAlone},
    {"Tensors (bytes)", kOfCallAlone},
    {"Start (us)", minor_joined_as(Join::kSame)},
    {"Run", minor_joined_as(Join::kSame)},
    {kRepeatColumn, minor_joined_as(Join::kSame)},
    {kWaitedColumn, kOfCallAlone},
    {"Thread ID", minor_joined_as(Join::kSame)},
    {"Stream", minor_joined_as(Join::kSame)},
    {"Launch Thread ID", minor_joined_as(Join::kSame)},
    {"Launched In", minor_joined_as(Join::kSame)},
    {kDepthColumn, {.join = Join::kSame, .is_shown = false}},
    {kRowKindColumn, {.join = Join::kSame, .is_shown = false}},
    {kMedianColumn, joined_as(Join::kSame)},
    {kMinColumn, minor_joined_as(Join::kMin)},
    {kMaxColumn, minor_joined_as(Join::kMax)},
    {"Peak (bytes)", joined_as(Join::kMax)},
    {"GFLOP/s", ratio("FLOP", "Duration (us)", 1e-3)},
    {"Arithmetic Intensity (FLOP/byte)", ratio("FLOP", "Tensors (bytes)", 1)},
    {kPeakShareColumn, ratio("", "Duration (us)", 1)},
};

struct KindNames {
  std::string_view name, title;
};
constexpr std::array<KindNames, 4> kRowKinds = {
    {{"", ""}, {"dispatch", "(dispatch)"}, {"profiler", "(profiler)"}, {"builtins", "(builtins)"}}};

}  // namespace

ColumnMeaning meaning_of_column(std::string_view name) {
  for (const auto &[known, meaning] : kKnown)
    if (known == name) return meaning;
  return {};
}

std::string_view row_kind_name(RowKind kind) { return kRowKinds[static_cast<size_t>(kind)].name; }

RowKind row_kind_of(std::string_view name) {
  for (size_t i = 1; i < kRowKinds.size(); ++i)
    if (kRowKinds[i].name == name) return static_cast<RowKind>(i);
  return RowKind::kCall;
}

std::string_view computed_row_title(RowKind kind) { return kRowKinds[static_cast<size_t>(kind)].title; }

Metric Column::at(size_t row) const {
  if (rows_.empty()) return row < size() ? cell(row) : Metric{};
  const auto found = std::lower_bound(rows_.begin(), rows_.end(), row);
  return found != rows_.end() && *found == row ? cell(static_cast<size_t>(found - rows_.begin())) : Metric{};
}

void Column::append_slowly(size_t row, Metric metric) {
  if (metric.kind == MetricKind::kCount) metric.kind = count_;
  if (metric.kind == MetricKind::kRatio) metric.kind = ratio_;
  if (rows_.empty() && row != size()) {  // the first gap
    rows_.resize(size());
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i] = static_cast<uint32_t>(i);
  }
  if (row != size() || !rows_.empty()) rows_.push_back(static_cast<uint32_t>(row));
  if (bits_.empty()) kind_ = metric.kind;
  if (kinds_.empty() && metric.kind != kind_) kinds_.assign(size(), kind_);
  if (metric.kind != kind_ || !kinds_.empty()) kinds_.push_back(metric.kind);
  bits_.push_back(metric.bits);
}

// ---- reading

namespace {

template <class Pairs>
const typename Pairs::value_type *find_named(const Pairs &pairs, std::string_view name) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](auto &pair) { return pair.first == name; });
  return found == pairs.end() ? nullptr : &*found;
}

// Throws, listing all known names or the first twenty.
template <class Pairs, class NameOf>
[[noreturn]] void fail_unknown(const Pairs &pairs, NameOf name_of, std::string_view what, std::string_view wanted) {
  std::string known;
  constexpr size_t kMost = 20;
  for (size_t i = 0; i < std::min(kMost, pairs.size()); ++i) append(known += i ? ", " : "", name_of(pairs[i]));
  if (pairs.size() > kMost) known += " …";
  fail(OPD_NOT_FOUND, "the report has no ", what, " \"", wanted, "\"; it has ", known.empty() ? "none" : known);
}
const auto kFirst = [](const auto &pair) -> const std::string & { return pair.first; };

}  // namespace

const Column *Report::find_column(std::string_view name) const {
  const auto found = std::ranges::find(columns_, name, &Column::name);
  return found == columns_.end() ? nullptr : &*found;
}

RowKind Report::row_kind(size_t row) const {
  const auto found = std::ranges::lower_bound(computed_rows_, row, {}, &std::pair<size_t, RowKind>::first);
  return found != computed_rows_.end() && found->first == row ? found->second : RowKind::kCall;
}

View Report::view_of(Metric metric) const {
  if (metric.is_text()) return texts_[metric.text()].view();
  if (metric.is_integer()) return opd_int(metric.count());
  return metric ? opd_float(metric.number()) : opd_none();
}

Metric Report::call_metric(size_t row, std::string_view name) const {
  if (row >= num_rows_) fail(OPD_OUT_OF_RANGE, "row must be below ", num_rows_, ", but is ", row);
  const Column *column = find_column(name);
  if (!column) fail_unknown(columns_, std::mem_fn(&Column::name), "column", name);
  return column->at(row);
}

const NamedMetrics &Report::device(std::string_view name) const {
  const auto *metrics = find_named(devices_, name);
  if (!metrics) fail_unknown(devices_, kFirst, "device", name);
  return metrics->second;
}

Metric Report::device_metric(std::string_view device_name, std::string_view name) const {
  const NamedMetrics &metrics = device(device_name);
  const auto *metric = find_named(metrics, name);
  if (!metric) fail_unknown(metrics, kFirst, concat("metric of ", device_name, " called"), name);
  return metric->second;
}

Metric Report::configuration_metric(std::string_view key) const {
  const auto *metric = find_named(configuration_, key);
  if (!metric) fail_unknown(configuration_, kFirst, "configuration entry", key);
  return metric->second;
}

// ---- building

Metric ReportBuilder::text(std::string_view text, MetricKind kind) {
  auto found = texts_.find(text);
  if (found == texts_.end()) {
    found = texts_.emplace(text, report_->texts_.size()).first;
    report_->texts_.emplace_back(text);
  }
  return {kind, found->second};
}

size_t ReportBuilder::column(std::string_view name) {
  auto &columns = report_->columns_;
  if (likely_ >= columns.size()) likely_ = 0;
  if (likely_ < columns.size() && columns[likely_].name() == name) return likely_++;
  auto found = columns_.find(name);
  if (found == columns_.end()) {
    found = columns_.emplace(name, columns.size()).first;
    columns.emplace_back(name);
  }
  likely_ = found->second + 1;
  return found->second;
}

void ReportBuilder::begin_row() {
  if (report_->num_rows_ == UINT32_MAX) fail(OPD_UNSUPPORTED, "a report holds at most ", UINT32_MAX, " calls");
  ++report_->num_rows_;
}

void ReportBuilder::set_row_kind(RowKind kind) { set(column(kRowKindColumn), text(row_kind_name(kind))); }

Ref<Report> ReportBuilder::finish() {
  if (const Column *kinds = report_->find_column(kRowKindColumn))
    for (size_t i = 0; i < kinds->size(); ++i) {
      const Metric cell = kinds->cell(i);
      const RowKind kind = cell.is_text() ? row_kind_of(report_->text(cell.text())) : RowKind::kCall;
      if (kind != RowKind::kCall) report_->computed_rows_.emplace_back(kinds->row_of(i), kind);
    }
  return std::move(report_);
}

bool ReportBuilder::begin_device(std::string_view name) {
  if (!devices_.emplace(name, 0).second) return false;
  report_->devices_.emplace_back(name, NamedMetrics{});
  device_metrics_.clear();
  return true;
}

bool ReportBuilder::set_device(std::string_view name, Metric metric) {
  if (!device_metrics_.emplace(name, 0).second) return false;
  metric.kind = kind_with_unit(name, metric.kind);
  report_->devices_.back().second.emplace_back(name, metric);
  return true;
}

bool ReportBuilder::configure(std::string_view name, Metric metric) {
  if (!configuration_.emplace(name, 0).second) return false;
  metric.kind = kind_with_unit(name, metric.kind);
  report_->configuration_.emplace_back(name, metric);
  return true;
}

}  // namespace opd
