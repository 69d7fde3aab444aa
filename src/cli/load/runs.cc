#include "cli/load/runs.h"

#include <algorithm>
#include <filesystem>

#include "cli/support/failure.h"
#include "cli/support/file.h"
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

// Whether the first line names the columns of a report.
bool is_report_csv(std::string_view text) {
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  const std::vector<std::string_view> columns = split(line, ',');
  const auto has = [&](std::string_view name) { return std::ranges::count(columns, name) == 1; };
  return has("Name") && has("Duration (us)");
}

// Reads the CSV form of a report, which has its rows, but neither the totals of devices nor the configuration. Fails
// with the name of the file and the line, if a line has another number of cells or is not CSV.
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

std::optional<Report> try_parse(std::string_view json) {
  try {
    return Report::from_json(json);
  } catch (const opdyno::Error &) { return std::nullopt; }
}

}  // namespace

// A report may span several lines; if the file has one report per line, its first line is a complete one.
std::vector<Report> read_reports(const std::string &path) {
  const std::string text = read_file(path), name = path == "-" ? "standard input" : path;
  const std::string_view all = trim(text);
  if (is_report_csv(all)) return {report_of_csv(all, name)};
  const size_t first_end = all.find('\n');
  if (first_end == std::string_view::npos || !try_parse(all.substr(0, first_end)))
    return {attempt(Exit::failed, name, [&] { return Report::from_json(all); })};
  std::vector<Report> reports;
  size_t number = 1;
  for (size_t begin = 0, end; begin < all.size(); begin = end + 1, ++number) {
    end = std::min(all.find('\n', begin), all.size());
    const std::string_view line = trim(all.substr(begin, end - begin));
    if (line.empty()) continue;
    reports.push_back(attempt(Exit::failed, cat(name, ", line ", number), [&] { return Report::from_json(line); }));
  }
  return reports;
}

// A killed process may have left no complete block except those in FILE.live.
bool are_recordings(const std::string &words) {
  const auto begins_so = [](const std::string &path) { return first_bytes(path).starts_with("opdynoE1"); };
  return std::ranges::all_of(split(words, ','), [&](std::string_view word) {
    const std::string path(word);
    return std::filesystem::is_regular_file(path) && (begins_so(path) || begins_so(path + ".live"));
  });
}

Trace read_recording(const std::string &path) {
  return attempt(Exit::refused, path, [&] { return Trace::load(path.c_str()); });
}

std::vector<Report> read_runs(const std::string &words, opd_trace_view view) {
  namespace fs = std::filesystem;
  std::vector<Report> reports;
  const auto add = [&](const std::string &path) {
    for (Report &report : read_reports(path)) reports.push_back(std::move(report));
  };
  for (const std::string_view word : split(words, ',')) {
    if (word.empty()) fail_usage(cat("'", words, "' has an empty file name; separate names by a comma alone"));
    if (are_recordings(std::string(word))) {
      reports.push_back(read_recording(std::string(word)).report(view));
      continue;
    }
    std::error_code error;
    if (!fs::is_directory(fs::path(word), error)) {
      add(std::string(word));
      continue;
    }
    std::vector<std::string> files;
    for (fs::directory_iterator entry(fs::path(word), error), end; !error && entry != end; entry.increment(error))
      if (const auto type = entry->path().extension(); type == ".json" || type == ".jsonl")
        files.push_back(entry->path().string());
    if (error) fail_errno("read", word, error.value());
    if (files.empty()) throw Failure(Exit::failed, cat("the directory ", word, " holds no .json or .jsonl files"));
    std::sort(files.begin(), files.end());
    for (const std::string &file : files) add(file);
  }
  return reports;
}

double share_of(const Args &args, std::string_view name, double otherwise) {
  const std::optional<std::string> text = args.value(name);
  if (!text) return otherwise;
  const bool in_percent = text->ends_with('%');
  const std::optional<double> number = read_double(trim(std::string_view(*text).substr(0, text->size() - in_percent)));
  if (!number || !(*number >= 0) || *number > 1e5)
    fail_usage(cat("option '--", name, "' takes a share as 3% or 0.03, not '", *text, "'"));
  if (!in_percent && *number >= 1)
    fail_usage(cat("option '--", name, "' takes a share as 3% or 0.03, and ", *text, " without a % would be ",
                   significant(*number * 100, 6), " %; write ", *text, "%, or ", significant(*number * 100, 6),
                   "% if that is meant"));
  return in_percent ? *number / 100 : *number;
}

opd_diff_options diff_options(const Args &args) {
  auto options = opdyno::defaults(opd_diff_options_init);
  options.min_effect = share_of(args, "min-effect", options.min_effect);
  options.min_share = share_of(args, "min-share", options.min_share);
  if (options.min_share > 1) fail_usage("option '--min-share' takes a share of the time, at most 100%");
  options.fail_above = share_of(args, "fail-above", options.fail_above);
  options.is_paired = args.has("paired");
  return options;
}

}  // namespace opd::cli
