// Makes the sentence that sums up a report, and the warnings that a reader must see first.
#include <algorithm>
#include <map>

#include "report/metric_text.h"
#include "report/writers/report_charts.h"
#include "report/writers/report_summary.h"

namespace opd {
namespace {

constexpr double kFarFromPeak = 30, kNearPeak = 60;  // percent; a kernel has much room below, little above
constexpr double kMuchDispatch = 20;                 // percent of the time

void append_percent(std::string &out, double percent) {
  append_fixed(out, percent, percent < 9.95 ? 1 : 0);
  out += " %";
}

// The calls of one operator, for all shapes together.
struct Leader {
  std::string name;
  double us = 0;
  double peak_us = 0, peak_sum = 0;  // time of calls with a known share of the peak; sum of time times share
};

Leader leader_of(const ReportRows &rows) {
  const size_t peak_column = rows.find(kPeakShareColumn);
  std::map<std::string, Leader> operators;
  const Leader *longest = nullptr;
  for (size_t row = 0; row < rows.num_calls(); ++row) {
    if (rows.kind(row) != RowKind::kCall) continue;
    std::string name = rows.text(row, ReportRows::kName);
    Leader &each = operators[name];
    const double us = self_time_of(rows, row);
    each.name = std::move(name);
    each.us += us;
    if (const auto peak = peak_column == SIZE_MAX ? std::nullopt : number_of(rows.cell(row, peak_column)))
      each.peak_us += us, each.peak_sum += *peak * us;
    if (!longest || each.us > longest->us) longest = &each;
  }
  return longest ? *longest : Leader();
}

double dispatch_time_of(const ReportRows &rows) {
  double us = 0;
  for (size_t row = 0; row < rows.num_calls(); ++row)
    if (rows.kind(row) == RowKind::kDispatch) us += self_time_of(rows, row);
  return us;
}

}  // namespace

std::string conclusion_of(const ReportRows &rows) {
  const Leader leader = leader_of(rows);
  const double total = total_time_of(rows), dispatch_us = dispatch_time_of(rows);
  if (!(leader.us > 0) || !(total > 0)) return {};
  std::string out = leader.name;
  append_percent(out += " takes ", leader.us / total * 100);
  out += " of the time";
  const double peak = leader.peak_us > 0 ? std::min(100.0, leader.peak_sum / leader.peak_us) : 0;
  const bool is_far = peak > 0 && peak < kFarFromPeak;
  if (peak > 0) {
    append_percent(out += is_far ? " but reaches " : " at ", peak);
    out += " of peak";
  }
  const double dispatch = dispatch_us / total * 100;
  if (dispatch >= kMuchDispatch) {
    append_percent(out += "; dispatch ", dispatch);
    return out += ": fewer and larger operators would help";
  }
  if (is_far) out += ": a faster kernel would help";
  if (peak >= kNearPeak) out += ": only less work would help";
  if (dispatch_us > 0) append_percent(out += "; dispatch ", dispatch);
  return out;
}

std::vector<std::string> collector_failures_of(const Report &report) {
  std::vector<std::string> lines;
  for (const auto &[name, metric] : report.configuration()) {
    if (!name.starts_with(kCollectorErrorEntry)) continue;
    std::string &line = lines.emplace_back("collector ");
    append_printable(line, std::string_view(name).substr(kCollectorErrorEntry.size()));
    line += " failed: ";
    if (metric.is_text()) append_printable(line, report.text(metric.text()));
  }
  return lines;
}

std::vector<std::string> warnings_of(const Report &report) {
  std::vector<std::string> warnings = collector_failures_of(report);
  const auto text_of = [&](Metric metric) {
    std::string text;
    if (metric.is_text()) append_printable(text, report.text(metric.text()));
    else if (metric.is_integer()) append(text, metric.count());
    return text;
  };
  for (const auto &[name, metric] : report.configuration()) {
    if (name == kDroppedEntry) warnings.push_back(concat(text_of(metric), " calls found no room and have no row"));
    if (name == kNoteEntry) warnings.push_back(text_of(metric));
  }
  // A nested call ends before its callers, so the first error is the cause of theirs.
  Cells errors(report.find_column(kErrorColumn)), names(report.find_column("Name"));
  for (size_t row = 0; row < report.num_rows() && report.find_column(kErrorColumn); ++row) {
    const Metric error = errors.at(row), name = names.at(row);
    if (!error.is_text()) continue;
    warnings.push_back(concat(text_of(name), " failed: ", text_of(error)));
    break;
  }
  return warnings;
}

}  // namespace opd
