// The rows shown by views of a report: calls joined by operator, sorted, summed; then a row per device.
#pragma once
#include <array>
#include <map>
#include <span>

#include "report/report.h"

namespace opd {

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
};

}  // namespace opd
