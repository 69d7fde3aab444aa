#include "report/report_rows.h"

#include <algorithm>
#include <numeric>

#include "report/metric_text.h"
#include "report/report_join.h"

namespace opd {
namespace {

constexpr std::string_view kOwnTexts[] = {"----------", "Sum", "Total"};

}  // namespace

ReportRows::ReportRows(const Report &report, Order order, bool aggregate, bool sums) : report_(report) {
  std::vector<uint32_t> group_of_row(report.num_rows());
  std::iota(group_of_row.begin(), group_of_row.end(), 0u);
  num_rows_ = aggregate ? group_calls(group_of_row) : report.num_rows();
  choose_headers(num_rows_ < report.num_rows());
  add_calls(order, group_of_row, aggregate);
  if (sums) add_sums();
  add_devices();
}

// TVM's columns come first, even if the report lacks them. If calls are joined, the spread of their durations follows,
// then the other columns by name.
void ReportRows::choose_headers(bool has_spread) {
  for (const auto name : kTvmColumns) headers_.push_back(name);
  std::vector<std::string_view> others;
  for (const auto &column : report_.columns())
    if (column.size() && column.meaning().is_shown) others.push_back(column.name());
  for (const auto &device : report_.devices())
    for (const auto &metric : device.second) others.push_back(metric.first);
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  for (const auto name : {kMedianColumn, kMinColumn, kMaxColumn})
    has_spread &= !std::binary_search(others.begin(), others.end(), name) && report_.find_column("Duration (us)");
  if (has_spread) headers_.insert(headers_.end(), {kMedianColumn, kMinColumn, kMaxColumn});
  std::erase_if(others, [](auto name) { return std::ranges::find(kTvmColumns, name) != std::end(kTvmColumns); });
  headers_.insert(headers_.end(), others.begin(), others.end());
  for (size_t i = 0; i < headers_.size(); ++i) places_.emplace(headers_[i], i);
  has_spread_ = has_spread;
}

size_t ReportRows::group_calls(std::vector<uint32_t> &group_of_row) const {
  const Column *name = report_.find_column("Name"), *hash = report_.find_column("Hash");
  const Column *shapes = report_.find_column("Argument Shapes"), *device = report_.find_column("Device");
  const auto at = [](const Column *column, size_t row) { return column ? column->at(row) : Metric{}; };
  using Key = std::array<Metric, 4>;
  struct Hash {
    size_t operator()(const Key &key) const {
      size_t hash = 0;
      for (const auto &metric : key)
        hash = (hash ^ metric.bits ^ static_cast<size_t>(metric.kind)) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
      return hash;
    }
  };
  std::unordered_map<Key, uint32_t, Hash> groups;  // equal texts have equal indices, because they are interned
  for (size_t row = 0; row < group_of_row.size(); ++row) {
    const Metric hashed = at(hash, row);
    const Key key{hashed, hashed ? Metric{} : at(name, row), at(shapes, row), at(device, row)};
    group_of_row[row] = groups.emplace(key, static_cast<uint32_t>(groups.size())).first->second;
  }
  return groups.size();
}

// Leaves out the calls whose count in that column is above 0.
std::vector<uint32_t> ReportRows::without(std::string_view column, std::span<const uint32_t> group_of_row) const {
  std::vector<uint32_t> groups(group_of_row.begin(), group_of_row.end());
  if (const Column *counts = report_.find_column(column))
    for (size_t i = 0; i < counts->size(); ++i)
      if (counts->cell(i).kind == MetricKind::kCount && counts->cell(i).count() > 0)
        groups[counts->row_of(i)] = kNoGroup;
  return groups;
}

// Leaves out all rows except device work; empty if there is none.
std::vector<uint32_t> ReportRows::device_works() const {
  std::vector<uint32_t> groups;
  if (!report_.find_column(kDeviceColumn)) return groups;
  if (const Column *kinds = report_.find_column(kKindColumn))
    for (size_t i = 0; i < kinds->size(); ++i) {
      if (!kinds->cell(i).is_text() || report_.text(kinds->cell(i).text()) != kDeviceWorkKind) continue;
      groups.resize(report_.num_rows(), kNoGroup);
      groups[kinds->row_of(i)] = 0;
    }
  return groups;
}

void ReportRows::add_calls(Order order, std::span<const uint32_t> group_of_row, bool is_joined) {
  check_cells(num_rows_ + report_.devices().size() + 2, headers_.size());
  columns_.assign(headers_.size(), std::vector<Metric>(num_rows_));
  std::vector<uint32_t> not_recursive;
  if (is_joined) not_recursive = without(kRecursiveColumn, group_of_row);
  for (const auto &column : report_.columns()) {
    const size_t place = find(column.name());
    if (!column.size() || place == SIZE_MAX) continue;
    const bool counts_once = is_joined && column.meaning().includes_inner && adds_up(column);
    columns_[place] = join_cells(report_, column, counts_once ? not_recursive : group_of_row, num_rows_);
  }
  if (has_spread_) {
    Spread spread = spread_of(*report_.find_column(kTvmColumns[kDuration]), group_of_row, num_rows_);
    columns_[places_.at(kMedianColumn)] = std::move(spread.median);
    columns_[places_.at(kMinColumn)] = std::move(spread.least);
    columns_[places_.at(kMaxColumn)] = std::move(spread.largest);
  }
  num_calls_ = num_rows_;
  kinds_.assign(num_rows_, RowKind::kCall);
  for (const auto &[row, kind] : report_.computed_rows()) kinds_[group_of_row[row]] = kind;
  if (order == Order::kByDuration) sort_by_duration();
}

void ReportRows::sort_by_duration() {
  const auto duration = [&](uint32_t row) {
    const Metric metric = columns_[kDuration][row];
    return metric.is_number() && !std::isnan(metric.number()) ? metric.number()
                                                              : -std::numeric_limits<double>::infinity();
  };
  std::vector<uint32_t> rows(num_rows_);
  std::iota(rows.begin(), rows.end(), 0u);
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return duration(a) > duration(b); });
  for (auto &column : columns_) {
    std::vector<Metric> sorted(num_rows_);
    for (size_t i = 0; i < num_rows_; ++i) sorted[i] = column[rows[i]];
    column = std::move(sorted);
  }
  std::vector<RowKind> sorted(num_rows_);
  for (size_t i = 0; i < num_rows_; ++i) sorted[i] = kinds_[rows[i]];
  kinds_ = std::move(sorted);
}

// Sums are over calls, not over joined rows. Nested calls are left out, because their callers' times include them.
void ReportRows::add_sums() {
  const std::vector<uint32_t> all(report_.num_rows());
  const std::vector<uint32_t> outermost = without(kDepthColumn, all), works = device_works();
  for (auto &column : columns_) column.resize(num_rows_ + 2);
  for (const auto &column : report_.columns()) {
    const size_t place = find(column.name());
    if (!column.size() || place == SIZE_MAX || !adds_up(column)) continue;
    const bool of_works = column.meaning().is_of_devices && !works.empty();
    const std::vector<uint32_t> &rows = of_works ? works : column.meaning().includes_inner ? outermost : all;
    columns_[place].back() = join_cells(report_, column, rows, 1)[0];
  }
  columns_[kName][num_rows_] = own(kRule);
  columns_[kName][num_rows_ + 1] = own(kSum);
  num_rows_ += 2;
}

void ReportRows::add_devices() {
  const size_t first = num_rows_;
  num_rows_ += report_.devices().size();
  for (auto &column : columns_) column.resize(num_rows_);
  for (size_t i = 0; i < report_.devices().size(); ++i) {
    for (const auto &[name, metric] : report_.devices()[i].second) columns_[places_.at(name)][first + i] = metric;
    columns_[kName][first + i] = own(kTotal);
  }
}

// Whether a single number for all calls is meaningful.
bool ReportRows::adds_up(const Column &column) {
  const Join join = column.meaning().join;
  if (join != Join::kByKind) return join == Join::kRatio || join == Join::kMax;
  if (column.common_kind() == MetricKind::kDuration || column.common_kind() == MetricKind::kCount) return true;
  for (size_t i = 0; i < column.size(); ++i) {
    const MetricKind kind = column.cell(i).kind;
    if (kind == MetricKind::kRatio || kind == MetricKind::kHertz || Metric{kind}.is_text()) return false;
  }
  return true;
}

size_t ReportRows::find(std::string_view header) const {
  const auto found = places_.find(header);
  return found == places_.end() ? SIZE_MAX : found->second;
}

bool ReportRows::is_text_column(size_t column) const {
  return std::any_of(columns_[column].begin(), columns_[column].end(), [](Metric m) { return m.is_text(); });
}

std::string_view ReportRows::text_of(Metric metric) const {
  const size_t place = metric.text(), count = report_.num_texts();
  return place < count ? report_.text(place) : kOwnTexts[place - count];
}

void ReportRows::append_text(std::string &out, Metric metric) const {
  switch (metric.kind) {
    case MetricKind::kNone:
      return;
    case MetricKind::kCount:
    case MetricKind::kBytes:
      return append(out, metric.count());
    case MetricKind::kDuration:
      if (metric.number() >= 0 && metric.number() < kShortestShown / 2) return append(out, kBelowShortest);
      [[fallthrough]];
    case MetricKind::kPercent:
      return append_fixed(out, metric.number(), 2);
    case MetricKind::kRatio:
      return append_general(out, metric.number(), 2);
    case MetricKind::kHertz:
      return append_general(out, metric.number(), 6);
    default:
      append_printable(out, text_of(metric));
  }
}

std::string ReportRows::text(size_t row, size_t column) const {
  std::string out;
  append_text(out, cell(row, column));
  return out;
}

}  // namespace opd
