#include "cli/load/report_csv.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

struct Cell {
  std::string text;
  bool is_quoted = false;  // a text, even if its characters are digits
};

class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  bool has_more() const { return at_ < text_.size(); }
  size_t line() const { return line_; }

  std::vector<Cell> read_line() {
    std::vector<Cell> cells;
    ++line_;
    do cells.push_back(read_cell());
    while (take(','));
    take('\r');
    if (has_more() && !take('\n')) fail(cat("has \"", text_.substr(at_, 1), "\" behind a cell"));
    return cells;
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw Failure(Exit::failed, cat(file_, ", line ", line_, " ", what), OPD_BAD_FORMAT);
  }

 private:
  bool take(char c) { return has_more() && text_[at_] == c ? (++at_, true) : false; }

  Cell read_cell() {
    Cell cell;
    if (!take('"')) {
      const size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
      cell.text = text_.substr(at_, end - at_);
      at_ = end;
      return cell;
    }
    cell.is_quoted = true;
    for (;;) {
      const size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) fail("has a quoted cell without an end");
      cell.text += text_.substr(at_, end - at_);
      at_ = end + 1;
      if (!take('"')) return cell;
      cell.text += '"';  // two quotes stand for one
    }
  }

  std::string_view text_, file_;
  size_t at_ = 0, line_ = 0;
};

// The form has no kinds, so the name of the column decides, as it does for readers.
opd_metric_kind kind_of(std::string_view column, bool is_integer) {
  if (column.ends_with("(us)")) return OPD_METRIC_DURATION;
  if (column.starts_with("Percent")) return OPD_METRIC_PERCENT;
  return is_integer ? OPD_METRIC_COUNT : OPD_METRIC_RATIO;
}

void set_cell(const opdyno::ReportBuilder &builder, const std::string &column, const Cell &cell, const CsvReader &csv) {
  if (cell.is_quoted) return builder.set_call(column.c_str(), OPD_METRIC_STRING, opdyno::arg(cell.text));
  if (cell.text.empty()) return;
  const std::optional<int64_t> integer = read_int(cell.text);
  const std::optional<double> number = read_double(cell.text);
  if (!integer && !number)
    csv.fail(cat("has \"", cell.text, "\" as ", column, ", which is neither a number nor quoted"));
  const opd_metric_kind kind = kind_of(column, integer.has_value());
  builder.set_call(column.c_str(), kind, kind == OPD_METRIC_COUNT ? opdyno::arg(*integer) : opdyno::arg(*number));
}

}  // namespace

bool is_report_csv(std::string_view text) {
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  const std::vector<std::string_view> columns = split(line, ',');
  const auto has = [&](std::string_view name) { return std::ranges::count(columns, name) == 1; };
  return has("Name") && has("Duration (us)");
}

Report report_of_csv(std::string_view text, std::string_view file) {
  CsvReader csv(text, file);
  const std::vector<Cell> columns = csv.read_line();
  const opdyno::ReportBuilder builder;
  while (csv.has_more()) {
    const std::vector<Cell> cells = csv.read_line();
    if (cells.size() != columns.size())
      csv.fail(cat("has ", counted(static_cast<int64_t>(cells.size()), "cell"), ", but the first line has ",
                   columns.size()));
    builder.add_call();
    for (size_t i = 0; i < cells.size(); ++i) set_cell(builder, columns[i].text, cells[i], csv);
  }
  return attempt(Exit::failed, file, [&] { return builder.finish(); });
}

}  // namespace opd::cli
