// The report as a text table: calls joined by operator, sorted, summed; then a row per device; then the configuration.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "profile/metric_text.h"
#include "profile/report.h"

namespace opd {
namespace {

constexpr std::string_view kFixedColumns[] = {"Name", "Duration (us)", "Percent", "Device", "Count", "Argument Shapes"};
constexpr size_t kNameColumn = 0, kDurationColumn = 1;

enum class SortOrder { kNone, kByDuration };

// Texts that the report itself may not have; places of its own texts come first.
enum OwnText : size_t { kEmpty, kRule, kSum, kTotal };
constexpr std::string_view kOwnTexts[] = {"", "----------", "Sum", "Total"};

int64_t add_saturating(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

class Table {
 public:
  explicit Table(const Report &report) : report_(report) {
    for (const auto name : kFixedColumns) headers_.push_back(name);
    std::vector<std::string_view> others;
    const auto add = [&](std::string_view name) {
      if (std::find(std::begin(kFixedColumns), std::end(kFixedColumns), name) == std::end(kFixedColumns))
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
  }

  void add_calls(bool aggregate, SortOrder order, bool sums);
  void add_devices();
  std::string print() const;

 private:
  // Groups calls by operator, shapes and device; gives the number of groups. Order is that of first appearance.
  size_t group_calls(std::vector<uint32_t> &group_of_row) const;
  std::vector<Metric> join(const Column &column, const std::vector<uint32_t> &group_of_row, size_t num_groups) const;
  void add_sums();
  Metric own(OwnText text) const { return {MetricKind::kString, report_.num_texts() + text}; }
  std::string_view text(Metric metric) const {
    const size_t place = metric.text(), count = report_.num_texts();
    return place < count ? report_.text(place) : kOwnTexts[place - count];
  }
  void append_metric(std::string &out, Metric metric) const;

  const Report &report_;
  std::vector<std::string_view> headers_;
  std::map<std::string_view, size_t> places_;  // of the headers
  std::vector<std::vector<Metric>> columns_;   // one per header, all of num_rows_ cells
  size_t num_rows_ = 0;
};

size_t Table::group_calls(std::vector<uint32_t> &group_of_row) const {
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
std::vector<Metric> Table::join(const Column &column, const std::vector<uint32_t> &group_of_row,
                                size_t num_groups) const {
  std::vector<Metric> joined(num_groups);
  std::vector<uint32_t> ratios;  // how many were added
  for (size_t i = 0; i < column.size(); ++i) {
    const Metric metric = column.cell(i);
    const size_t group = group_of_row[column.row_of(i)];
    Metric &into = joined[group];
    if (metric.kind == MetricKind::kRatio) {
      ratios.resize(num_groups);
      ++ratios[group];
    }
    if (!into) into = metric;
    else if (metric.kind != into.kind) into = own(kEmpty);  // nothing that could be said of them together
    else if (metric.kind == MetricKind::kCount) into = Metric::of_count(add_saturating(into.count(), metric.count()));
    else if (metric.is_number()) into = Metric::of_number(into.kind, into.number() + metric.number());
    else if (into.bits != metric.bits) into = own(kEmpty);
  }
  for (size_t group = 0; group < ratios.size(); ++group)
    if (joined[group].kind == MetricKind::kRatio)
      joined[group] = Metric::of_number(MetricKind::kRatio, joined[group].number() / ratios[group]);
  return joined;
}

void Table::add_calls(bool aggregate, SortOrder order, bool sums) {
  std::vector<uint32_t> group_of_row(report_.num_rows());
  std::iota(group_of_row.begin(), group_of_row.end(), 0u);
  const size_t num_groups = aggregate ? group_calls(group_of_row) : report_.num_rows();
  check_cells(num_groups + report_.devices().size() + 2, headers_.size());
  columns_.assign(headers_.size(), std::vector<Metric>(num_groups));
  for (const auto &column : report_.columns())
    if (column.size()) columns_[places_.at(column.name())] = join(column, group_of_row, num_groups);
  num_rows_ = num_groups;
  if (order == SortOrder::kByDuration) {
    const auto duration = [&](uint32_t row) {
      const Metric metric = columns_[kDurationColumn][row];
      return metric.is_number() && !std::isnan(metric.number()) ? metric.number()
                                                                : -std::numeric_limits<double>::infinity();
    };
    std::vector<uint32_t> rows(num_groups);
    std::iota(rows.begin(), rows.end(), 0u);
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return duration(a) > duration(b); });
    for (auto &column : columns_) {
      std::vector<Metric> sorted(num_groups);
      for (size_t i = 0; i < num_groups; ++i) sorted[i] = column[rows[i]];
      column = std::move(sorted);
    }
  }
  if (sums) add_sums();
}

void Table::add_sums() {
  for (auto &column : columns_) {
    std::optional<Metric> sum;
    bool mixed = false;
    for (const Metric metric : column) {
      if (metric.is_text() || metric.kind == MetricKind::kRatio || !metric) continue;
      if (!sum) sum = metric;
      else if (sum->kind != metric.kind) mixed = true;
      else if (metric.kind == MetricKind::kCount) sum = Metric::of_count(add_saturating(sum->count(), metric.count()));
      else sum = Metric::of_number(sum->kind, sum->number() + metric.number());
    }
    column.resize(num_rows_ + 2);
    if (sum && !mixed) column.back() = *sum;
  }
  columns_[kNameColumn][num_rows_] = own(kRule);
  columns_[kNameColumn][num_rows_ + 1] = own(kSum);
  num_rows_ += 2;
}

void Table::add_devices() {
  const size_t first = num_rows_;
  num_rows_ += report_.devices().size();
  for (auto &column : columns_) column.resize(num_rows_);
  for (size_t i = 0; i < report_.devices().size(); ++i) {
    for (const auto &[name, metric] : report_.devices()[i].second) columns_[places_.at(name)][first + i] = metric;
    columns_[kNameColumn][first + i] = own(kTotal);
  }
}

// Control characters would break rows apart.
void Table::append_metric(std::string &out, Metric metric) const {
  switch (metric.kind) {
    case MetricKind::kNone:
      return;
    case MetricKind::kCount:
      return append(out, metric.count());
    case MetricKind::kDuration:
    case MetricKind::kPercent:
      return append_fixed(out, metric.number(), 2);
    case MetricKind::kRatio:
      return append_general(out, metric.number(), 2);
    default:
      for (const char c : text(metric)) out += static_cast<uint8_t>(c) < 0x20 || c == 0x7F ? ' ' : c;
  }
}

size_t width_of(std::string_view text) {  // in code points
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Table::print() const {
  struct Cell {
    size_t end, width;  // of its text in `texts`, which begins where the one before ends
  };
  std::string texts;
  std::vector<Cell> cells;
  std::vector<size_t> widths(headers_.size());
  size_t line = 1;
  cells.reserve((num_rows_ + 1) * headers_.size());
  for (size_t row = 0; row <= num_rows_; ++row)
    for (size_t i = 0; i < headers_.size(); ++i) {
      const size_t begin = texts.size();
      if (row == 0) texts += headers_[i];
      else append_metric(texts, columns_[i][row - 1]);
      cells.push_back({texts.size(), width_of(std::string_view(texts).substr(begin))});
      widths[i] = std::max(widths[i], cells.back().width);
    }
  for (const size_t width : widths) line += width + 2;
  check_table_bytes(num_rows_ + 1, line);
  std::string out;
  out.reserve(line * (num_rows_ + 1) + 64);
  size_t begin = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t column = i % headers_.size(), padding = widths[column] - cells[i].width;
    if (column > 0) out.append(padding, ' ');
    out.append(texts, begin, cells[i].end - begin);
    out.append(column == 0 ? padding + 2 : 2, ' ');
    if (column + 1 == headers_.size()) out += '\n';
    begin = cells[i].end;
  }
  out += "\nConfiguration\n-------------\n";
  for (const auto &[key, metric] : report_.configuration()) {
    append(out += key, ": ");
    append_metric(out, metric);
    out += '\n';
  }
  return out;
}

}  // namespace

std::string Report::to_table(bool sort, bool aggregate, bool col_sums) const {
  Table table(*this);
  table.add_calls(aggregate, sort ? SortOrder::kByDuration : SortOrder::kNone, col_sums);
  table.add_devices();
  return table.print();
}

}  // namespace opd
