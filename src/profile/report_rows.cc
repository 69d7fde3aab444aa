#include "profile/report_rows.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "profile/metric_text.h"

namespace opd {
namespace {

constexpr std::string_view kOwnTexts[] = {"", "----------", "Sum", "Total"};

// Of two metrics of one kind; whole numbers stop at their largest value.
Metric sum_of(Metric a, Metric b) {
  if (!a.is_integer()) return Metric::of_number(a.kind, a.number() + b.number());
  int64_t sum;
  if (__builtin_add_overflow(a.count(), b.count(), &sum)) sum = a.count() < 0 ? INT64_MIN : INT64_MAX;
  return {a.kind, std::bit_cast<uint64_t>(sum)};
}

}  // namespace

ReportRows::ReportRows(const Report &report, Order order, bool aggregate, bool sums) : report_(report) {
  for (const auto name : kTvmColumns) headers_.push_back(name);
  std::vector<std::string_view> others;
  const auto add = [&](std::string_view name) {
    if (std::find(std::begin(kTvmColumns), std::end(kTvmColumns), name) == std::end(kTvmColumns))
      others.push_back(name);
  };
  for (const auto &column : report.columns())
    if (column.size()) add(column.name());
  for (const auto &device : report.devices())
    for (const auto &metric : device.second) add(metric.first);
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  headers_.insert(headers_.end(), others.begin(), others.end());
  for (size_t i = 0; i < headers_.size(); ++i) places_.emplace(headers_[i], i);
  add_calls(order, aggregate);
  if (sums) add_sums();
  add_devices();
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
  std::unordered_map<Key, uint32_t, Hash> groups;  // texts are interned: equal text, equal place
  for (size_t row = 0; row < group_of_row.size(); ++row) {
    const Metric hashed = at(hash, row);
    const Key key{hashed, hashed ? Metric{} : at(name, row), at(shapes, row), at(device, row)};
    group_of_row[row] = groups.emplace(key, static_cast<uint32_t>(groups.size())).first->second;
  }
  return groups.size();
}

// Counts, durations and percentages add up, ratios are averaged, text stays if all agree.
std::vector<Metric> ReportRows::join(const Column &column, const std::vector<uint32_t> &group_of_row,
                                     size_t num_groups) const {
  std::vector<Metric> joined(num_groups);
  std::vector<uint32_t> ratios;  // how many were added
  for (size_t i = 0; i < column.size(); ++i) {
    const Metric metric = column.cell(i);
    const size_t group = group_of_row[column.row_of(i)];
    Metric &into = joined[group];
    if (metric.is_rate()) {
      ratios.resize(num_groups);
      ++ratios[group];
    }
    if (!into) into = metric;
    else if (metric.kind != into.kind) into = own(kEmpty);  // nothing that could be said of them together
    else if (!metric.is_text()) into = sum_of(into, metric);
    else if (into.bits != metric.bits) into = own(kEmpty);
  }
  for (size_t group = 0; group < ratios.size(); ++group)
    if (joined[group].is_rate())
      joined[group] = Metric::of_number(joined[group].kind, joined[group].number() / ratios[group]);
  return joined;
}

void ReportRows::add_calls(Order order, bool aggregate) {
  std::vector<uint32_t> group_of_row(report_.num_rows());
  std::iota(group_of_row.begin(), group_of_row.end(), 0u);
  num_rows_ = aggregate ? group_calls(group_of_row) : report_.num_rows();
  check_cells(num_rows_ + report_.devices().size() + 2, headers_.size());
  columns_.assign(headers_.size(), std::vector<Metric>(num_rows_));
  for (const auto &column : report_.columns())
    if (column.size()) columns_[places_.at(column.name())] = join(column, group_of_row, num_rows_);
  num_calls_ = num_rows_;
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
}

void ReportRows::add_sums() {
  for (auto &column : columns_) {
    std::optional<Metric> sum;
    bool mixed = false;
    for (const Metric metric : column) {
      if (metric.is_text() || metric.is_rate() || !metric) continue;
      if (!sum) sum = metric;
      else if (sum->kind != metric.kind) mixed = true;
      else sum = sum_of(*sum, metric);
    }
    column.resize(num_rows_ + 2);
    if (sum && !mixed) column.back() = *sum;
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
