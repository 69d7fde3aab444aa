// Writes a report as text: a table in TVM's layout followed by the configuration, a Markdown table for issues and pull
// requests, and the calls as CSV.
#include <algorithm>
#include <cctype>

#include "report/writers/report_summary.h"

namespace opd {
namespace {

std::string print_table(const ReportRows &rows) {
  const auto &headers = rows.headers();
  struct Cell {
    size_t end, width;  // end of its text in `texts`; the text begins at the previous end
  };
  std::string texts;
  std::vector<Cell> cells;
  std::vector<size_t> widths(headers.size());
  size_t line = 1;
  cells.reserve((rows.num_rows() + 1) * headers.size());
  for (size_t row = 0; row <= rows.num_rows(); ++row)
    for (size_t i = 0; i < headers.size(); ++i) {
      const size_t begin = texts.size();
      if (row == 0) append_printable(texts, headers[i]);
      else rows.append_text(texts, rows.cell(row - 1, i));
      cells.push_back({texts.size(), width_of(std::string_view(texts).substr(begin))});
      widths[i] = std::max(widths[i], cells.back().width);
    }
  for (const size_t width : widths) line += width + 2;
  check_table_bytes(rows.num_rows() + 1, line);
  std::string out;
  out.reserve(line * (rows.num_rows() + 1) + 64);
  const std::vector<std::string> failures = collector_failures_of(rows.report());
  for (const std::string &failure : failures) (out += failure) += '\n';
  if (!failures.empty()) out += '\n';
  size_t begin = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t column = i % headers.size(), padding = widths[column] - cells[i].width;
    if (column > 0) out.append(padding, ' ');
    out.append(texts, begin, cells[i].end - begin);
    out.append(column == 0 ? padding + 2 : 2, ' ');
    if (column + 1 == headers.size()) out += '\n';
    begin = cells[i].end;
  }
  if (const std::string waits = wait_text_of(rows); !waits.empty()) ((out += '\n') += waits) += '\n';
  out += "\nConfiguration\n-------------\n";
  for (const auto &[key, metric] : rows.report().configuration()) {
    append_printable(out, key);
    out += ": ";
    rows.append_text(out, metric);
    out += '\n';
  }
  return out;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || static_cast<uint8_t>(c) >= 0x80; }

// Escapes brackets and underscores only where Markdown would interpret them, so that shapes and names of functions stay
// readable.
void append_escaped(std::string &out, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ', last = i ? text[i - 1] : ' ';
    if (c == '<') out += "&lt;";
    else if (c == '&') out += "&amp;";
    else if (std::string_view("\\`*|~$").find(c) != std::string_view::npos ||
             (c == ']' && std::string_view("([:").find(next) != std::string_view::npos) ||
             (c == '_' && !(is_word(last) && is_word(next))) ||
             (i == 0 && (c == '#' || c == '-' || c == '+' || c == '=' || c == '>')))
      out += '\\', out += c;
    else out += c;
  }
}

std::string print_markdown(const ReportRows &rows) {
  std::string out, text;
  for (const std::string &failure : collector_failures_of(rows.report())) {
    append_escaped(out, failure);
    out += "\n\n";
  }
  out += '|';
  const size_t columns = rows.headers().size();
  for (size_t i = 0; i < columns; ++i) {
    text.clear();
    append_printable(text, rows.headers()[i]);
    append_escaped(out += ' ', text);
    out += " |";
  }
  out += "\n|";
  for (size_t i = 0; i < columns; ++i) out += i == 0 || rows.is_text_column(i) ? " :--- |" : " ---: |";
  const size_t sums = rows.num_rows() - rows.num_totals();  // does not count the rule before the sums
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    if (row == rows.num_calls() && row != sums) continue;
    out += "\n|";
    for (size_t i = 0; i < columns; ++i) {
      append_escaped(out += ' ', rows.text(row, i));
      out += " |";
    }
  }
  out += '\n';
  if (const std::string waits = wait_text_of(rows); !waits.empty()) append_escaped(out += '\n', waits), out += '\n';
  if (!rows.report().configuration().empty()) out += "\nConfiguration\n\n";
  for (const auto &[key, metric] : rows.report().configuration()) {
    text.clear();
    append_printable(text, key);
    rows.append_text(text += ": ", metric);
    append_escaped(out += "- ", text);
    out += '\n';
  }
  return out;
}

void append_quoted(std::string &out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace

std::string Report::to_table(bool sort, bool aggregate, bool col_sums) const {
  return print_table(ReportRows(*this, sort, aggregate, col_sums));
}

std::string Report::to_markdown(bool sort, bool aggregate, bool col_sums) const {
  return print_markdown(ReportRows(*this, sort, aggregate, col_sums));
}

// One column per metric name, sorted; 6 significant digits, the default of C++ streams.
std::string Report::to_csv() const {
  std::vector<const Column *> sorted;
  for (const auto &column : columns_)
    if (column.size()) sorted.push_back(&column);
  std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) { return a->name() < b->name(); });
  check_cells(num_rows_, sorted.size());

  std::string out;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const std::string &name = sorted[i]->name();
    if (i) out += ',';
    if (name.find_first_of(",\"\r\n") == std::string::npos) out += name;
    else append_quoted(out, name);
  }
  out += '\n';
  std::vector<Cells> cells(sorted.begin(), sorted.end());
  for (size_t row = 0; row < num_rows_; ++row) {
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (i) out += ',';
      const Metric metric = cells[i].at(row);
      if (metric.is_text()) append_quoted(out, text(metric.text()));
      else if (metric.is_integer()) append(out, metric.count());
      else if (metric) append_general(out, metric.number(), 6);
    }
    out += '\n';
  }
  return out;
}

}  // namespace opd
