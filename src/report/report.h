// A report: rows of metrics per call in typed columns, metrics per device, configuration. Immutable once built. Memory:
// 8 bytes a cell and 16 a distinct text; columns with gaps or mixed kinds take 4 and 1 bytes a cell more.
#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "value/metric.h"
#include "value/value.h"

struct ArrowArrayStream;

namespace opd {

// ---- columns. Files have only the names of columns. So a name is mapped to its meaning once, when its column is made.
// Readers of a report use the fields, never the names.

// The first columns of calls in TVM's reports.
inline constexpr std::string_view kTvmColumns[] = {"Name",   "Duration (us)", "Percent",
                                                   "Device", "Count",         "Argument Shapes"};

std::string_view kind_name(MetricKind kind);  // name in TVM's JSON; "" for kinds without a name

// The rule by which the cells of several calls are joined.
enum class Join : uint8_t {
  kByKind,  // adds counts, bytes, durations and percentages, averages ratios and hertz, keeps text if all agree
  kSame,    // keeps the value if all agree, such as the begin of a call or its run
  kMin,
  kMax,
  kRatio,  // the ratio of two columns' sums
};

struct ColumnMeaning {
  Join join = Join::kByKind;
  bool includes_inner = true;  // a call's cell includes its nested calls
  bool is_shown = true;        // shown in tables
  bool is_minor = false;       // shown in a summary only if there is room
  bool is_of_devices = false;  // rows of kDeviceWorkKind also have cells; if such rows exist, only they are summed
  // For kRatio: over all calls, scale * sum(over) / sum(under). If a call has no cell in `over`, its part of that sum
  // is ratio * under / scale. The column `over` may be absent.
  std::string_view over = {}, under = {};
  double scale = 1;
};
ColumnMeaning meaning_of_column(std::string_view name);
// Joins two metrics of one kind; kNone if they have no common value.
Metric joined(Metric a, Metric b, Join join);

// Columns of this library, in addition to TVM's.
inline constexpr std::string_view kRowKindColumn = "Row Kind", kDepthColumn = "Depth", kSelfColumn = "Self (us)",
                                  kRecursiveColumn = "Recursive Calls", kErrorColumn = "Error",
                                  kMedianColumn = "Median (us)", kMinColumn = "Min (us)", kMaxColumn = "Max (us)",
                                  kPeakShareColumn = "Percent of Peak", kRunMedianColumn = "Median per Run (us)",
                                  kWaitedColumn = "Waited (us)", kDeviceColumn = "Device Duration (us)",
                                  kSelfDeviceColumn = "Self Device Duration (us)", kKindColumn = "Kind";
// Number of the call in a profile of several calls. It is not "Run", by which a diff tells runs apart, because the calls
// of one profile are not independent of each other.
inline constexpr std::string_view kRepeatColumn = "Repeat";
// Value in kKindColumn: device work, which is also included in the row of the call that submitted it.
inline constexpr std::string_view kDeviceWorkKind = "device";

// Entries of the configuration that readers must see before the numbers, and a collector's note. If an entry ends with
// a colon, a collector's name follows.
inline constexpr std::string_view kCollectorErrorEntry = "Collector error: ", kDroppedEntry = "Dropped calls",
                                  kNoteEntry = "Note", kCollectorNoteEntry = "Collector note: ";

// Kinds of rows. All except kCall are computed by a profile.
enum class RowKind : uint8_t {
  kCall,
  kDispatch,  // the remainder of the total
  kProfiler,  // the time of recording
  kBuiltins,  // sum of all builtins
};
std::string_view row_kind_name(RowKind kind);  // text in kRowKindColumn; "" for calls
RowKind row_kind_of(std::string_view name);    // kCall for unknown names
// The row's name in a text table, which has no column for the kind.
std::string_view computed_row_title(RowKind kind);

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

// Shapes of tensors as written in reports: "float32[1, 64], int64[]".
struct ShapeText {
  std::string_view dtype, dims;  // "float32" and "[1, 64]"
};

// Removes the first shape from `rest` and returns it.
inline ShapeText take_shape(std::string_view &rest) {
  size_t end = 0;  // after the tensor's last bracket: "custom[12]8[2]" has two pairs
  do end = rest.find(']', end) + 1;
  while (end && end < rest.size() && rest[end] != ',');
  const std::string_view shape = rest.substr(0, end ? end : rest.size());
  rest.remove_prefix(std::min(rest.size(), shape.size() + 2));
  const size_t bracket = std::min(shape.rfind('['), shape.size());
  return {shape.substr(0, bracket), shape.substr(bracket)};
}

// Reads a column's cells row by row.
class Cells {
 public:
  explicit Cells(const Column *column) : column_(column) {}  // null: no row has the metric
  Metric at(size_t row) {                                    // `row` must not decrease
    if (!column_ || next_ >= column_->size() || column_->row_of(next_) != row) return {};
    return column_->cell(next_++);
  }

 private:
  const Column *column_;
  size_t next_ = 0;
};

using NamedMetrics = std::vector<std::pair<std::string, Metric>>;  // in their order

struct Report : Object {
  static int32_t type() { return registered_type<"opdyno.Report">(); }

  size_t num_rows() const { return num_rows_; }
  RowKind row_kind(size_t row) const;
  const std::vector<std::pair<size_t, RowKind>> &computed_rows() const { return computed_rows_; }  // not calls
  const std::vector<Column> &columns() const { return columns_; }
  const Column *find_column(std::string_view name) const;
  const std::vector<std::pair<std::string, NamedMetrics>> &devices() const { return devices_; }
  const NamedMetrics &configuration() const { return configuration_; }
  size_t num_texts() const { return texts_.size(); }
  std::string_view text(size_t place) const { return as_text(texts_[place], "text"); }
  const std::vector<std::pair<std::string, std::string>> &extras() const { return extras_; }

  // If a name is unknown, these functions throw and list the known names.
  Metric call_metric(size_t row, std::string_view column) const;
  const NamedMetrics &device(std::string_view name) const;
  Metric device_metric(std::string_view device, std::string_view metric) const;
  Metric configuration_metric(std::string_view key) const;
  View view_of(Metric metric) const;  // borrowed

  static Ref<Report> from_json(std::string_view text);  // throws OPD_BAD_FORMAT with the offset
  static Ref<Report> merge(std::span<const Report *const> reports);
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

// The calls as an Arrow stream of one batch. `out` is only written. Throws OPD_UNSUPPORTED if the text exceeds Arrow's
// 32-bit offsets.
void report_to_arrow(Ref<Report> report, ArrowArrayStream *out);

// The arithmetic operations and bytes of an operator, estimated from its name and the shapes of its arguments.
struct OperatorCost {
  std::optional<double> flop;  // none: unknown operator
  double bytes = 0;            // sum over all tensors, each counted once
};

// `name` as TVM writes it, `shapes` as in reports. Throws the errors of the user's own functions.
OperatorCost operator_cost(std::string_view name, std::string_view shapes);

}  // namespace opd
