// The rows shown by views of a report: calls joined by operator, sorted, summed; then a row per device.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <span>

#include "base/error.h"
#include "report/report.h"
#include "report/run_medians.h"

namespace opd {

// ---- metrics' numbers for people, independent of the locale

// Like printf's %.*g in the C locale.
inline void append_general(std::string &out, double number, int digits) {
  if (!std::isfinite(number)) return append_fixed(out, number, 0);
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, digits).ptr);
}

// Durations in µs have two decimals. A shorter one is shown as "<0.01", not as 0.
inline constexpr double kShortestShown = 0.01;
inline constexpr std::string_view kBelowShortest = "<0.01";

// Replaces control characters, including U+0080 to U+009F, by spaces: they would break rows and lines, and terminals
// interpret them.
inline void append_printable(std::string &out, std::string_view text) {
  const char *begin = text.data(), *const end = begin + text.size();
  for (const char *at = begin; at != end; ++at) {
    const auto c = static_cast<uint8_t>(*at);
    if (c >= 0x20 && c != 0x7F && c != 0xC2) [[likely]]
      continue;
    const bool is_late = c == 0xC2 && end - at > 1 && static_cast<uint8_t>(at[1]) < 0xA0;
    if (c == 0xC2 && !is_late) continue;
    out.append(begin, at) += ' ';
    at += is_late;
    begin = at + 1;
  }
  out.append(begin, end);
}

inline size_t width_of(std::string_view text) {  // counts code points
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// A text table pads each cell to the width of its column, so a hostile report could make a table far larger than
// itself.
inline void check_cells(size_t rows, size_t columns) {
  constexpr size_t kMost = size_t{1} << 26;
  if (columns && rows > kMost / columns)
    fail(OPD_UNSUPPORTED, "the report has ", rows, " rows and ", columns, " columns; tables have at most ", kMost,
         " cells");
}
inline void check_table_bytes(size_t rows, size_t bytes_per_row) {
  constexpr size_t kMost = size_t{1} << 31;
  if (rows > kMost / bytes_per_row)
    fail(OPD_UNSUPPORTED, "a table of ", rows, " rows of ", bytes_per_row, " characters exceeds ", kMost, " bytes");
}

// ---- rows

class ReportRows {
 public:
  static constexpr size_t kName = 0, kDuration = 1, kDevice = 3, kCount = 4, kShapes = 5;  // always present

  // `sorted`: longest duration first; else in the order of the report.
  ReportRows(const Report &report, bool sorted, bool aggregate, bool sums);

  const Report &report() const { return report_; }
  const std::vector<std::string_view> &headers() const { return headers_; }
  size_t num_rows() const { return num_rows_; }
  // Rows are in this order: calls, then a rule and the sums, if any, then the devices.
  size_t num_calls() const { return num_calls_; }
  size_t num_totals() const { return report_.devices().size(); }
  RowKind kind(size_t row) const { return row < num_calls_ ? kinds_[row] : RowKind::kCall; }
  // The typical run; its groups are the rows of calls. Null if the report is of one run, or calls are not joined.
  const RunMedians *run_medians() const { return runs_ ? &*runs_ : nullptr; }
  Metric cell(size_t row, size_t column) const { return columns_[column][row]; }
  bool is_text_column(size_t column) const;
  size_t find(std::string_view header) const;               // SIZE_MAX if not found
  void append_text(std::string &out, Metric metric) const;  // formats for people
  std::string text(size_t row, size_t column) const;

 private:
  // Texts that the report may lack; their indices follow those of the report's texts.
  enum OwnText : size_t { kRule, kSum, kTotal };

  void choose_headers(bool has_spread);
  void add_calls(bool sorted, std::span<const uint32_t> group_of_row, bool is_joined);
  void add_run_medians();
  void sort_by_duration();
  void add_sums();
  void add_devices();
  // Groups calls by operator, shapes and device. Groups are in the order of first appearance. Returns their number.
  size_t group_calls(std::vector<uint32_t> &group_of_row) const;
  std::vector<uint32_t> without(std::string_view column, std::span<const uint32_t> group_of_row) const;
  std::vector<uint32_t> device_works() const;
  static bool adds_up(const Column &column);
  Metric own(OwnText text) const { return {MetricKind::kString, report_.num_texts() + text}; }
  std::string_view text_of(Metric metric) const;

  const Report &report_;
  std::vector<std::string_view> headers_;
  std::map<std::string_view, size_t> places_;  // key: header
  std::vector<std::vector<Metric>> columns_;   // one per header, each with num_rows_ cells
  std::vector<RowKind> kinds_;                 // kinds of the calls' rows
  size_t num_rows_ = 0, num_calls_ = 0;
  bool has_spread_ = false;
  std::optional<RunMedians> runs_;
};

}  // namespace opd
