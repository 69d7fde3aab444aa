// Writes the report as a Markdown table, for issues and pull requests.
#include <cctype>

#include "report/metric_text.h"
#include "report/writers/report_summary.h"

namespace opd {
namespace {

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

}  // namespace

std::string Report::to_markdown(bool sort, bool aggregate, bool col_sums) const {
  return print_markdown(ReportRows(*this, sort, aggregate, col_sums));
}

}  // namespace opd
