// A report: rows of metrics per call in typed columns, metrics per device, configuration. Immutable once built. Memory:
// 8 bytes a cell and 16 a distinct text; columns with gaps or mixed kinds take 4 and 1 bytes a cell more.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/report_columns.h"
#include "value/value.h"

namespace opd {

// The metrics of one name, by row. Row numbers and kinds are stored only when they cannot be derived.
class Column {
 public:
  explicit Column(std::string_view name)
      : name_(name),
        meaning_(meaning_of_column(name)),
        count_(kind_with_unit(name, MetricKind::kCount)),
        ratio_(kind_with_unit(name, MetricKind::kRatio)) {}

  const std::string &name() const { return name_; }
  const ColumnMeaning &meaning() const { return meaning_; }
  size_t size() const { return bits_.size(); }  // cells
  size_t row_of(size_t cell) const { return rows_.empty() ? cell : rows_[cell]; }
  Metric cell(size_t i) const { return {kinds_.empty() ? kind_ : kinds_[i], bits_[i]}; }
  Metric at(size_t row) const;  // kNone if the row has no such metric
  bool has_last(size_t row) const { return size() && row_of(size() - 1) == row; }
  [[gnu::always_inline]] void append(size_t row, Metric metric) {  // `row` must increase
    const bool is_obvious = rows_.empty() && kinds_.empty() && row == bits_.size() && metric.kind == kind_;
    if (is_obvious) [[likely]]
      bits_.push_back(metric.bits);
    else append_slowly(row, metric);
  }
  void reserve(size_t cells) { bits_.reserve(cells); }
  // The kind of all cells (kNone if they differ), and the raw cells.
  MetricKind common_kind() const { return kinds_.empty() ? kind_ : MetricKind::kNone; }
  const std::vector<uint64_t> &bits() const { return bits_; }

 private:
  void append_slowly(size_t row, Metric metric);

  std::string name_;
  ColumnMeaning meaning_;
  MetricKind count_, ratio_;  // the kinds for counts and ratios in this column
  MetricKind kind_ = MetricKind::kNone;
  std::vector<uint64_t> bits_;
  std::vector<uint32_t> rows_;     // empty while there is no gap
  std::vector<MetricKind> kinds_;  // empty while all cells have kind_
};

using NamedMetrics = std::vector<std::pair<std::string, Metric>>;  // in order

struct Report : Object {
  static int32_t type();  // "opdyno.Report"

  size_t num_rows() const { return num_rows_; }
  RowKind row_kind(size_t row) const;
  const std::vector<std::pair<size_t, RowKind>> &computed_rows() const { return computed_rows_; }  // not calls
  const std::vector<Column> &columns() const { return columns_; }
  const Column *find_column(std::string_view name) const;
  const std::vector<std::pair<std::string, NamedMetrics>> &devices() const { return devices_; }
  const NamedMetrics &configuration() const { return configuration_; }
  size_t num_texts() const { return texts_.size(); }
  std::string_view text(size_t place) const { return as_text(texts_[place], "text"); }
  const View &text_value(size_t place) const { return texts_[place]; }
  const std::vector<std::pair<std::string, std::string>> &extras() const { return extras_; }

  // These throw if a name is unknown, and list the known names.
  Metric call_metric(size_t row, std::string_view column) const;
  const NamedMetrics &device(std::string_view name) const;
  Metric device_metric(std::string_view device, std::string_view metric) const;
  Metric configuration_metric(std::string_view key) const;
  View view_of(Metric metric) const;  // borrowed, like the next results
  View get_call(size_t row, std::string_view column) const { return view_of(call_metric(row, column)); }
  View get_device(std::string_view device, std::string_view metric) const {
    return view_of(device_metric(device, metric));
  }
  View get_configuration(std::string_view key) const { return view_of(configuration_metric(key)); }

  static Ref<Report> from_json(std::string_view text);  // throws OPD_BAD_FORMAT with the offset
  std::string to_json() const;
  std::string devices_json() const;
  std::string configuration_json() const;
  std::string to_csv() const;
  std::string to_table(bool sort, bool aggregate, bool col_sums) const;
  std::string to_markdown(bool sort, bool aggregate, bool col_sums) const;
  std::string to_html(bool sort, bool aggregate, bool col_sums) const;  // a self-contained page

 private:
  friend class ReportBuilder;

  size_t num_rows_ = 0;
  std::vector<Column> columns_;
  std::vector<std::pair<size_t, RowKind>> computed_rows_;  // sorted by row
  std::deque<Value> texts_;                                // distinct; a deque, because short texts are viewed in place
  std::vector<std::pair<std::string, NamedMetrics>> devices_;
  NamedMetrics configuration_;
  std::vector<std::pair<std::string, std::string>> extras_;  // other JSON members: key, JSON text
};

// Builds a report. If a name exists already, add and set functions return false and change nothing.
class ReportBuilder {
 public:
  ReportBuilder() : report_(make_object<Report>()) {}

  Metric text(std::string_view text, MetricKind kind = MetricKind::kString);
  size_t column(std::string_view name);  // created on first use
  size_t column(std::string_view name, MetricKind kind) { return column(name_with_unit(name, kind)); }
  void reserve(size_t rows) {  // reserves rows in the existing columns
    for (Column &column : report_->columns_) column.reserve(rows);
  }
  void begin_row();
  // Sets a cell of the current row. Always inlined: otherwise the linker keeps a copy optimized for size, with 50
  // instructions a cell instead of 20.
  [[gnu::always_inline]] bool set(size_t column, Metric metric) {
    Column &target = report_->columns_[column];
    const size_t row = report_->num_rows_ - 1;
    if (target.has_last(row)) return false;
    target.append(row, metric);
    return true;
  }
  bool begin_device(std::string_view name);
  bool set_device(std::string_view name, Metric metric);  // for the current device
  bool configure(std::string_view name, Metric metric);
  void add_extra(std::string key, std::string json) { report_->extras_.emplace_back(std::move(key), std::move(json)); }
  void set_row_kind(RowKind kind);  // for the current row
  Ref<Report> finish();

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Places = std::unordered_map<std::string, size_t, Hash, std::equal_to<>>;

  Ref<Report> report_;
  Places texts_, columns_, devices_, device_metrics_, configuration_;
  size_t likely_ = 0;  // a guess: most rows have the same columns in the same order
};

}  // namespace opd
