// Writes the report as one HTML page: charts, a sortable table, the configuration. Foreign text is escaped. The page
// loads nothing else, and its content policy forbids it.
#include "report/writers/report_charts.h"
#include "report/writers/report_page.h"
#include "report/writers/report_summary.h"

namespace opd {
namespace {

class Page {
 public:
  Page(const ReportRows &rows, bool sorted) : rows_(rows), sorted_(sorted) {
    for (size_t i = 0; i < rows.headers().size(); ++i) is_text_.push_back(i == 0 || rows.is_text_column(i));
  }

  std::string write() {
    out_ =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>opdyno "
        "report</title>\n<style>";
    append(out_, kPageStyle);
    out_ += "</style></head><body>\n<h1>Where the time went</h1>\n";
    for (const std::string &warning : warnings_of(rows_.report())) {
      append_html(out_ += "<p class=\"warning\">", warning);
      out_ += "</p>\n";
    }
    write_summary();
    if (const std::string conclusion = conclusion_of(rows_); !conclusion.empty()) {
      append_html(out_ += "<p class=\"conclusion\">", conclusion);
      out_ += "</p>\n";
    }
    out_ += "<h2>Time per operator</h2>\n";
    append_bars(out_, rows_);
    append_roofline(out_, rows_);
    out_ += "<h2>All operators</h2>\n<div class=\"scroll\">";
    write_table();
    out_ += "</div>\n";
    write_configuration();
    append(out_ += "<script>", kPageScript);
    out_ += "</script></body></html>\n";
    return std::move(out_);
  }

 private:
  void write_summary() {
    out_ += "<p class=\"soft\">";
    for (const auto &[device, metrics] : rows_.report().devices())
      for (const auto &[name, metric] : metrics)
        if (name == "Duration (us)" && metric.is_number()) {
          append_time(out_, metric.number());
          append_html(out_ += " on ", device);
          out_ += ", ";
        }
    append(out_, counted(num_operator_calls(), "call"));
    if (rows_.num_calls() != rows_.report().num_rows()) append(out_ += " in ", counted(rows_.num_calls(), "row"));
    out_ += "</p>\n";
  }

  // Does not count the rows that a profile adds for time outside of operators.
  size_t num_operator_calls() const { return rows_.report().num_rows() - rows_.report().computed_rows().size(); }

  void write_table() {
    out_ += "<table><thead><tr>";
    for (size_t i = 0; i < is_text_.size(); ++i) {
      out_ += is_text_[i] ? "<th scope=\"col\" class=\"text\"" : "<th scope=\"col\"";
      if (sorted_ && i == ReportRows::kDuration) out_ += " aria-sort=\"descending\"";
      append_html(out_ += '>', rows_.headers()[i]);
      out_ += "</th>";
    }
    out_ += "</tr></thead>\n<tbody>\n";
    for (size_t row = 0; row < rows_.num_calls(); ++row) write_row(row);
    out_ += "</tbody>\n<tfoot>\n";
    const bool sums = rows_.num_rows() > rows_.num_calls() + rows_.num_totals();  // the rule before the sums is not
                                                                                  // shown
    for (size_t row = rows_.num_calls() + sums; row < rows_.num_rows(); ++row) write_row(row);
    out_ += "</tfoot></table>";
  }

  void write_row(size_t row) {
    out_ += "<tr>";
    for (size_t i = 0; i < is_text_.size(); ++i) {
      append_html(out_ += is_text_[i] ? "<td class=\"text\">" : "<td>", rows_.text(row, i));
      out_ += "</td>";
    }
    out_ += "</tr>\n";
  }

  void write_configuration() {
    if (rows_.report().configuration().empty()) return;
    out_ += "<h2>Configuration</h2>\n<dl>\n";
    for (const auto &[key, metric] : rows_.report().configuration()) {
      std::string text;
      rows_.append_text(text, metric);
      append_html(out_ += "<dt>", key);
      append_html(out_ += "</dt><dd>", text);
      out_ += "</dd>\n";
    }
    out_ += "</dl>\n";
  }

  const ReportRows &rows_;
  bool sorted_;
  std::vector<bool> is_text_;
  std::string out_;
};

}  // namespace

std::string Report::to_html(bool sort, bool aggregate, bool col_sums) const {
  const auto order = sort ? ReportRows::Order::kByDuration : ReportRows::Order::kProgram;
  return Page(ReportRows(*this, order, aggregate, col_sums), sort).write();
}

}  // namespace opd
