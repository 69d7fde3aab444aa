#include "report/report_join.h"

#include <algorithm>
#include <cmath>

#include "report/cells.h"

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

bool is_rate(Metric metric) { return metric.kind == MetricKind::kRatio || metric.kind == MetricKind::kHertz; }

// Joins two metrics of one kind; kNone if they have no common value.
Metric joined(Metric a, Metric b, Join join) {
  // For rates (kRatio), only the ratios themselves are available here.
  if (join == Join::kSame || join == Join::kRatio || a.is_text()) return a == b ? a : Metric{};
  if (join == Join::kMin) return is_less(b, a) ? b : a;
  if (join == Join::kMax) return is_less(a, b) ? b : a;
  return sum_of(a, b);
}

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

}  // namespace

std::vector<Metric> join_cells(const Report &report, const Column &column, std::span<const uint32_t> group_of_row,
                               size_t num_groups) {
  const bool is_ratio = column.meaning().join == Join::kRatio && !Metric{column.common_kind()}.is_text();
  const Column *const under = is_ratio ? report.find_column(column.meaning().under) : nullptr;
  return under ? join_ratios(report, column, *under, group_of_row, num_groups)
               : join_by_pairs(column, group_of_row, num_groups);
}

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

}  // namespace opd
