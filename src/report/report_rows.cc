#include "report/report_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace opd {
namespace {

// The sum of two metrics of one kind; integers saturate.
Metric sum_of(Metric a, Metric b) {
  if (!a.is_integer()) return Metric::of_number(a.kind, a.number() + b.number());
  int64_t sum;
  if (__builtin_add_overflow(a.count(), b.count(), &sum)) sum = a.count() < 0 ? INT64_MIN : INT64_MAX;
  return {a.kind, std::bit_cast<uint64_t>(sum)};
}

bool is_less(Metric a, Metric b) { return a.is_integer() ? a.count() < b.count() : a.number() < b.number(); }

}  // namespace

Metric joined(Metric a, Metric b, Join join) {
  // For rates (kRatio), only the ratios themselves are available here.
  if (join == Join::kSame || join == Join::kRatio || a.is_text()) return a == b ? a : Metric{};
  if (join == Join::kMin) return is_less(b, a) ? b : a;
  if (join == Join::kMax) return is_less(a, b) ? b : a;
  return sum_of(a, b);
}

namespace {

constexpr std::string_view kOwnTexts[] = {"----------", "Sum", "Total"};

// ---- joining the cells of several calls to one cell, depending on the meaning of their column

constexpr uint32_t kNoGroup = UINT32_MAX;  // the row is left out

bool is_rate(Metric metric) { return metric.kind == MetricKind::kRatio || metric.kind == MetricKind::kHertz; }

std::vector<Metric> join_by_pairs(const Column &column, std::span<const uint32_t> group_of_row, size_t num_groups) {
  const Join join = column.meaning().join;
  std::vector<Metric> made(num_groups);
  std::vector<bool> is_open;        // per group: its calls have no common metric
  std::vector<uint32_t> num_rates;  // number of averaged ratios
  for (size_t i = 0; i < column.size(); ++i) {
    const uint32_t group = group_of_row[column.row_of(i)];
    if (group == kNoGroup) continue;
    const Metric metric = column.cell(i);
    Metric &into = made[group];
    if (!metric || (!is_open.empty() && is_open[group])) continue;
    if (is_rate(metric)) {
      num_rates.resize(num_groups);
      ++num_rates[group];
    }
    if (!into) into = metric;
    else if (into = metric.kind == into.kind ? joined(into, metric, join) : Metric{}; !into) {
      is_open.resize(num_groups);
      is_open[group] = true;
    }
  }
  if (join != Join::kByKind) return made;
  for (size_t group = 0; group < num_rates.size(); ++group)
    if (is_rate(made[group]))
      made[group] = Metric::of_number(made[group].kind, made[group].number() / num_rates[group]);
  return made;
}

double value_of(Metric metric) {
  if (metric.is_integer()) return static_cast<double>(metric.count());
  return metric.is_number() ? metric.number() : 0;
}

// The rate of several calls is the sum of their work divided by the sum of their times. A mean of their rates would
// give short calls the same weight as long ones.
std::vector<Metric> join_ratios(const Report &report, const Column &column, const Column &under_column,
                                std::span<const uint32_t> group_of_row, size_t num_groups) {
  const ColumnMeaning &meaning = column.meaning();
  const Column *const over_column = meaning.over.empty() ? nullptr : report.find_column(meaning.over);
  std::vector<double> over(num_groups), under(num_groups);
  std::vector<MetricKind> kinds(num_groups, MetricKind::kNone);
  Cells rates(&column), overs(over_column), unders(&under_column);
  for (size_t row = 0; row < report.num_rows(); ++row) {
    const Metric rate = rates.at(row), numerator = overs.at(row), denominator = unders.at(row);
    const uint32_t group = group_of_row[row];
    if (group == kNoGroup) continue;
    if (rate) kinds[group] = rate.kind;
    if (!denominator || !(numerator || rate)) continue;
    over[group] += numerator ? value_of(numerator) : value_of(rate) * value_of(denominator) / meaning.scale;
    under[group] += value_of(denominator);
  }
  std::vector<Metric> made(num_groups);
  for (size_t group = 0; group < num_groups; ++group)
    if (kinds[group] != MetricKind::kNone && under[group] > 0)
      made[group] = Metric::of_number(kinds[group], meaning.scale * over[group] / under[group]);
  return made;
}

// Returns one cell per group; kNone if the group's cells have no common value.
std::vector<Metric> join_cells(const Report &report, const Column &column, std::span<const uint32_t> group_of_row,
                               size_t num_groups) {
  const bool is_ratio = column.meaning().join == Join::kRatio && !Metric{column.common_kind()}.is_text();
  const Column *const under = is_ratio ? report.find_column(column.meaning().under) : nullptr;
  return under ? join_ratios(report, column, *under, group_of_row, num_groups)
               : join_by_pairs(column, group_of_row, num_groups);
}

// Median, least and largest of the durations of each group's calls.
struct Spread {
  std::vector<Metric> median, least, largest;
};
Spread spread_of(const Column &durations, std::span<const uint32_t> group_of_row, size_t num_groups) {
  std::vector<size_t> ends(num_groups + 1);
  const auto is_counted = [&](size_t i) {
    return group_of_row[durations.row_of(i)] != kNoGroup && durations.cell(i).kind == MetricKind::kDuration &&
           !std::isnan(durations.cell(i).number());
  };
  for (size_t i = 0; i < durations.size(); ++i)
    if (is_counted(i)) ++ends[group_of_row[durations.row_of(i)] + 1];
  for (size_t group = 0; group < num_groups; ++group) ends[group + 1] += ends[group];
  std::vector<double> times(ends.back());
  std::vector<size_t> next(ends.begin(), ends.end() - 1);
  for (size_t i = 0; i < durations.size(); ++i)
    if (is_counted(i)) times[next[group_of_row[durations.row_of(i)]]++] = durations.cell(i).number();

  Spread spread{std::vector<Metric>(num_groups), std::vector<Metric>(num_groups), std::vector<Metric>(num_groups)};
  const auto duration = [](double us) { return Metric::of_number(MetricKind::kDuration, us); };
  for (size_t group = 0; group < num_groups; ++group) {
    const auto begin = times.begin() + static_cast<ptrdiff_t>(ends[group]);
    const auto end = times.begin() + static_cast<ptrdiff_t>(ends[group + 1]);
    if (begin == end) continue;
    const auto [least, largest] = std::minmax_element(begin, end);
    spread.least[group] = duration(*least), spread.largest[group] = duration(*largest);
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    const double upper = *middle;
    const bool is_even = (end - begin) % 2 == 0;
    spread.median[group] = duration(is_even ? (*std::max_element(begin, middle) + upper) / 2 : upper);
  }
  return spread;
}

}  // namespace

ReportRows::ReportRows(const Report &report, bool sorted, bool aggregate, bool sums) : report_(report) {
  std::vector<uint32_t> group_of_row(report.num_rows());
  std::iota(group_of_row.begin(), group_of_row.end(), 0u);
  num_rows_ = aggregate ? group_calls(group_of_row) : report.num_rows();
  if (aggregate) runs_ = opd::run_medians(report, group_of_row, num_rows_);
  choose_headers(num_rows_ < report.num_rows());
  add_calls(sorted, group_of_row, aggregate);
  if (sums) add_sums();
  add_devices();
}

// TVM's columns come first, even if the report lacks them. If calls are joined, the spread of their durations follows,
// then the other columns by name.
void ReportRows::choose_headers(bool has_spread) {
  for (const auto name : kTvmColumns) headers_.push_back(name);
  std::vector<std::string_view> others;
  for (const auto &column : report_.columns())
    if (column.size() && column.meaning().is_shown && !(runs_ && column.name() == kRepeatColumn))
      others.push_back(column.name());
  for (const auto &device : report_.devices())
    for (const auto &metric : device.second) others.push_back(metric.first);
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  for (const auto name : {kMedianColumn, kMinColumn, kMaxColumn})
    has_spread &= !std::binary_search(others.begin(), others.end(), name) && report_.find_column("Duration (us)");
  if (runs_ && !std::ranges::binary_search(others, kRunMedianColumn)) headers_.push_back(kRunMedianColumn);
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

void ReportRows::add_calls(bool sorted, std::span<const uint32_t> group_of_row, bool is_joined) {
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
  if (runs_) add_run_medians();
  num_calls_ = num_rows_;
  kinds_.assign(num_rows_, RowKind::kCall);
  for (const auto &[row, kind] : report_.computed_rows()) kinds_[group_of_row[row]] = kind;
  if (sorted) sort_by_duration();
}

// Shares and rates are those of the medians, because a sum includes runs that other programs disturbed.
void ReportRows::add_run_medians() {
  const size_t median = find(kRunMedianColumn), percents = find("Percent");
  std::vector<size_t> rates;  // columns of rates per time
  for (size_t i = 0; i < headers_.size(); ++i)
    if (meaning_of_column(headers_[i]).under == kTvmColumns[kDuration]) rates.push_back(i);
  for (size_t row = 0; row < num_rows_; ++row) {
    const double us = runs_->us[row], percent = runs_->sum_self_us > 0 ? us / runs_->sum_self_us * 100 : 0;
    columns_[median][row] = Metric::of_number(MetricKind::kDuration, us);
    columns_[percents][row] = Metric::of_number(MetricKind::kPercent, percent);
    for (const size_t rate : rates)
      if (const Metric of_all = columns_[rate][row]; of_all.is_number() && us > 0)
        columns_[rate][row] = Metric::of_number(of_all.kind, of_all.number() * runs_->mean_us[row] / us);
  }
}

void ReportRows::sort_by_duration() {
  const auto duration = [&](uint32_t row) {
    if (runs_) return runs_->us[row];
    const Metric metric = columns_[kDuration][row];
    return metric.is_number() && !std::isnan(metric.number()) ? metric.number()
                                                              : -std::numeric_limits<double>::infinity();
  };
  std::vector<uint32_t> rows(num_rows_);
  std::iota(rows.begin(), rows.end(), 0u);
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return duration(a) > duration(b); });
  const auto reorder = [&](auto &values) {
    std::remove_reference_t<decltype(values)> sorted(num_rows_);
    for (size_t i = 0; i < num_rows_; ++i) sorted[i] = values[rows[i]];
    values = std::move(sorted);
  };
  for (auto &column : columns_) reorder(column);
  reorder(kinds_);
  if (runs_) reorder(runs_->us), reorder(runs_->self_us);
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
