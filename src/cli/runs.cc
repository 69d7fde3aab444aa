// Sets of runs on the command line, and what is said of their differences.
#include "runs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "file.h"
#include "text.h"

namespace opd::cli {

namespace {

opd_error *parse(std::string_view json, Report &report) {
  return opd_report_from_json(json.data(), json.size(), report.out());
}

// JSON begins with a brace, which no table does. A report may be spread over lines; a file of one report a line has a
// whole one in the first.
void read_into(std::vector<Report> &reports, const std::string &path) {
  const std::string text = read_file(path), name = path == "-" ? "standard input" : path;
  const std::string_view all = trim(text);
  Report first;
  if (const size_t begin = all.find_first_not_of("\xEF\xBB\xBF"); begin == all.npos || all[begin] != '{') {
    check(opd_report_from_table(text.data(), text.size(), first.out()), Exit::failed, name);
    return reports.push_back(std::move(first));
  }
  const size_t first_end = all.find('\n');
  opd_error *error = parse(all.substr(0, first_end), first);
  if (error || first_end == std::string_view::npos) {
    if (error && first_end != std::string_view::npos) {
      opd_error_release(error);
      error = parse(all, first);
    }
    check(error, Exit::failed, name);
    reports.push_back(std::move(first));
    return;
  }
  size_t number = 1;
  for (size_t begin = 0, end; begin < all.size(); begin = end + 1, ++number) {
    end = std::min(all.find('\n', begin), all.size());
    const std::string_view line = trim(all.substr(begin, end - begin));
    if (line.empty()) continue;
    check(parse(line, first), Exit::failed, cat(name, ", line ", number));
    reports.push_back(std::move(first));
  }
}

std::string label(const opd_diff_operator &one) {
  std::string text = one.name;
  if (*one.shapes) text += cat(" (", one.shapes, ")");
  if (*one.device && std::string_view(one.device) != "cpu0") text += cat(" on ", one.device);
  return printable(text);
}

std::string time_text(double value) { return std::isnan(value) ? "-" : fixed(value, 2); }

std::string interval_text(const opd_diff_operator &one) {
  if (std::isnan(one.change)) return "-";
  if (!std::isfinite(one.high)) return std::min(one.before_runs, one.after_runs) < 4 ? "too few runs" : "unknown";
  return cat(percent_text(one.low), " to ", percent_text(one.high));
}

size_t width_of(std::string_view text) {  // in code points
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string markdown(const std::vector<std::vector<std::string>> &rows) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const std::string &cell : rows[i]) text += cat("| ", markdown_text(cell), " ");
    text += "|\n";
    if (i == 0) text += "|---|---:|---:|---:|---:|---|---:|\n";
  }
  return text;
}

std::string columns(const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string text;
  for (const auto &row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - width_of(row[i]), ' ');
      const bool is_word = i == 0 || i == 5;
      text += cat(i ? "  " : "", is_word ? row[i] : gap, is_word ? gap : row[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::vector<Report> read_reports(const std::string &path) {
  std::vector<Report> reports;
  read_into(reports, path);
  return reports;
}

std::vector<Report> read_runs(const std::string &words) {
  namespace fs = std::filesystem;
  std::vector<Report> reports;
  for (const std::string_view word : split(words, ',')) {
    std::error_code error;
    if (!fs::is_directory(fs::path(word), error)) {
      read_into(reports, std::string(word));
      continue;
    }
    std::vector<std::string> files;
    for (fs::directory_iterator entry(fs::path(word), error), end; !error && entry != end; entry.increment(error))
      if (const auto type = entry->path().extension(); type == ".json" || type == ".jsonl")
        files.push_back(entry->path().string());
    if (error) fail_errno("read", word, error.value());
    if (files.empty()) throw Failure(Exit::failed, cat("the folder ", word, " holds no .json or .jsonl files"));
    std::sort(files.begin(), files.end());
    for (const std::string &file : files) read_into(reports, file);
  }
  return reports;
}

double share_of(const Args &args, std::string_view name, double otherwise) {
  const std::optional<std::string> text = args.value(name);
  if (!text) return otherwise;
  const bool in_percent = text->ends_with('%');
  const std::optional<double> number = read_double(trim(std::string_view(*text).substr(0, text->size() - in_percent)));
  if (number && *number >= 0 && *number <= 1e5) return in_percent ? *number / 100 : *number;
  fail_usage(cat("option '--", name, "' takes a share as 3% or 0.03, not '", *text, "'"));
}

opd_diff_options diff_options(const Args &args) {
  opd_diff_options options;
  opd_diff_options_init(&options);
  options.min_effect = share_of(args, "min-effect", options.min_effect);
  return options;
}

opd_diff_operator operator_of(const Diff &diff, size_t index) {
  opd_diff_operator one{};
  one.struct_size = sizeof one;
  check(opd_diff_get_operator(diff.get(), index, &one), Exit::failed);
  return one;
}

std::string percent_text(double share) {
  if (std::isnan(share)) return "-";
  return cat(share < 0 ? "" : "+", fixed(share * 100, std::abs(share) < 1 ? 2 : 1), " %");
}

// What changed comes first, then what takes longest.
std::string diff_table(const Diff &diff, TableStyle style) {
  std::vector<opd_diff_operator> operators;
  for (size_t i = 0; i < opd_diff_operator_count(diff.get()); ++i) operators.push_back(operator_of(diff, i));
  const auto place = [](const opd_diff_operator &one) {
    constexpr int places[] = {3, 0, 1, 2, 4, 5};
    return places[one.verdict];
  };
  const auto time = [](const opd_diff_operator &one) { return std::isnan(one.after) ? one.before : one.after; };
  std::stable_sort(operators.begin(), operators.end(), [&](const auto &a, const auto &b) {
    return place(a) != place(b) ? place(a) < place(b) : time(a) > time(b);
  });
  std::vector<std::vector<std::string>> rows = {
      {"Operator", "Before (us)", "After (us)", "Change", "95 % interval", "Verdict", "Runs"}};
  for (const opd_diff_operator &one : operators)
    rows.push_back({label(one), time_text(one.before), time_text(one.after), percent_text(one.change),
                    interval_text(one), opd_verdict_name(one.verdict), cat(one.before_runs, " + ", one.after_runs)});
  return style == TableStyle::markdown ? markdown(rows) : columns(rows);
}

std::string open_text(const Diff &diff, double effect, TableStyle style) {
  constexpr size_t kMost = 10;
  std::vector<std::pair<int64_t, std::string>> open;
  for (size_t i = 0; i < opd_diff_operator_count(diff.get()); ++i) {
    const opd_diff_operator one = operator_of(diff, i);
    const bool is_tested = one.before_runs && one.after_runs;
    const bool is_decided = one.verdict == OPD_VERDICT_REGRESSION || one.verdict == OPD_VERDICT_IMPROVEMENT;
    if (is_tested && !is_decided && one.high > effect)
      open.emplace_back(opd_diff_runs_needed(diff.get(), i, effect),
                        cat(label(one), " (", one.before_runs, " + ", one.after_runs, " runs)"));
  }
  if (open.empty()) return "";
  std::stable_sort(open.begin(), open.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
  std::string text = cat("\nThe data cannot tell whether these are slower by more than ", fixed(effect * 100, 1),
                         " %; so many runs on each side would:\n");
  const bool is_list = style == TableStyle::markdown;
  if (is_list) text += '\n';
  for (size_t i = 0; i < std::min(kMost, open.size()); ++i)
    text += is_list ? cat("- ", open[i].first, ": ", markdown_text(open[i].second), "\n")
                    : cat("  ", pad_left(cat(open[i].first), 6), "  ", open[i].second, "\n");
  if (open.size() > kMost) text += cat(is_list ? "- and " : "  and ", open.size() - kMost, " more that need fewer\n");
  return text;
}

Exit judge(const Diff &diff, const Args &args, std::string_view command) {
  if (!args.has("fail-above")) return Exit::ok;
  const double limit = share_of(args, "fail-above", 0);
  Exit code = Exit::ok;
  for (size_t i = 0; i < opd_diff_operator_count(diff.get()); ++i) {
    const opd_diff_operator one = operator_of(diff, i);
    if (one.verdict != OPD_VERDICT_REGRESSION || !(one.change > limit)) continue;
    print_message(cat("opdyno ", command, ": ", label(one), " is slower by ", percent_text(one.change), " (",
                      interval_text(one), "), more than ", fixed(limit * 100, 1), " %\n"));
    code = Exit::mismatch;
  }
  return code;
}

}  // namespace opd::cli
