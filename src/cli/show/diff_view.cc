#include "cli/show/diff_view.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>
#include <utility>

#include "cli/show/column.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::vector<DiffRow> read_rows(const Report &report) {
  const auto column = [&](const char *name) { return Column(report, name); };
  const Column names = column("Name"), shapes = column("Argument Shapes"), devices = column("Device"),
               kinds = column("Kind"), verdicts = column("Verdict"), before_us = column("Before (us)"),
               after_us = column("After (us)"), before = column("Before"), after = column("After"),
               changes = column("Change"), lows = column("Change Low"), highs = column("Change High"),
               effects = column("Effect"), shares = column("Share"), runs_before = column("Runs Before"),
               runs_after = column("Runs After"), calls_before = column("Calls Before"),
               calls_after = column("Calls After"), runs_needed = column("Runs Needed"),
               autocorrelations = column("Autocorrelation"), decide = column("Decides"), fail = column("Fails");
  std::vector<DiffRow> rows(report.count());
  for (size_t i = 0; i < rows.size(); ++i) {
    DiffRow &row = rows[i];
    row.name = names.text(i), row.shapes = shapes.text(i), row.device = devices.text(i);
    row.kind = kinds.text(i), row.verdict = verdicts.text(i);
    row.before = before_us.number(i, before.number(i)), row.after = after_us.number(i, after.number(i));
    row.change = changes.number(i), row.low = lows.number(i), row.high = highs.number(i);
    row.effect = effects.number(i), row.share = shares.number(i);
    row.runs_before = runs_before.number(i), row.runs_after = runs_after.number(i);
    row.calls_before = calls_before.number(i), row.calls_after = calls_after.number(i);
    row.runs_needed = runs_needed.number(i), row.autocorrelation = autocorrelations.number(i);
    row.decides = decide.number(i) > 0, row.fails = fail.number(i) > 0;
  }
  return rows;
}

// As in tables of reports, a time below 0.005 is not shown as 0.
std::string duration_text(double us) { return std::isnan(us) ? "-" : us < 0.005 ? "<0.01" : fixed(us, 2); }

std::string runs_text(const DiffRow &row) { return cat(fixed(row.runs_before, 0), " + ", fixed(row.runs_after, 0)); }

using Lines = std::vector<std::vector<std::string>>;
constexpr double resembling = 0.45;  // docs/diff.md, "Autocorrelation"
// A list below the table: at most ten entries, three on a terminal, then the number of further ones.
std::string list_text(std::string_view title, const Lines &entries, TableStyle style) {
  const size_t kMost = style == TableStyle::text && output_screen().is_terminal ? 3 : 10;
  if (entries.empty()) return "";
  const bool is_list = style == TableStyle::markdown;
  std::string text = cat("\n", title, "\n", is_list ? "\n" : "");
  for (size_t i = 0; i < std::min(kMost, entries.size()); ++i)
    text += is_list ? cat("- ", entries[i][0], ": ", markdown_text(entries[i][1]), "\n")
                    : cat("  ", pad_left(entries[i][0], 6), "  ", entries[i][1], "\n");
  if (entries.size() > kMost)
    text += cat(is_list ? "- and " : "  and ", entries.size() - kMost, " more, which take less time\n");
  return text;
}

TextTable rows_table(std::span<const DiffRow *const> rows) {
  constexpr size_t before = 1, after = 2, interval = 4, of_total = 5, verdict = 6, runs = 7;
  TextTable table{{{"Operator", "Before (us)", "After (us)", "Change", "95 % interval", "Of total", "Verdict", "Runs"}},
                  {verdict},
                  {runs, of_total, interval, before, after}};
  for (const DiffRow *row : rows)
    table.lines.push_back({row->shown, duration_text(row->before), duration_text(row->after), percent_text(row->change),
                           interval_text(*row), percent_text(row->effect), row->verdict, runs_text(*row)});
  return table;
}

std::string calls_text(const std::vector<DiffRow> &rows, TableStyle style) {
  Lines entries;
  for (const DiffRow &row : rows)
    if (row.kind == "operator" && row.decides && row.calls_before != row.calls_after)
      entries.push_back({cat(significant(row.calls_before, 6), " -> ", significant(row.calls_after, 6)), row.shown});
  return list_text("These are not called equally often; the times are sums over the calls of a run:", entries, style);
}

std::string open_text(const std::vector<DiffRow> &rows, double limit, TableStyle style) {
  std::vector<const DiffRow *> open;
  for (const DiffRow &row : rows) {
    const bool may_be_slower = std::isnan(row.high) || row.high > limit;
    if (row.decides && !row.is_changed() && may_be_slower) open.push_back(&row);
  }
  std::stable_sort(open.begin(), open.end(), [](const DiffRow *a, const DiffRow *b) { return a->share > b->share; });
  Lines entries;
  for (const DiffRow *row : open)
    entries.push_back({fixed(row->runs_needed, 0),
                       cat(row->shown, " (", runs_text(*row), " runs",
                           row->autocorrelation >= resembling ? ", which resemble their neighbours" : "", ")")});
  return list_text(cat("The data cannot tell whether these are slower by more than ", fixed(limit * 100, 1),
                       " %; so many runs on each side would:"),
                   entries, style);
}

}  // namespace

std::string percent_text(double share) {
  if (std::isnan(share)) return "-";
  if (share >= 100) return ">+9999 %";  // bounds of times near the clock's resolution
  const std::string text = fixed(share * 100, std::abs(share) < 1 ? 2 : 1);
  return cat(text == "-0.00" ? "+0.00" : share < 0 ? text : "+" + text, " %");
}

std::string interval_text(const DiffRow &row) {
  if (std::isnan(row.change)) return "-";
  if (std::isnan(row.high)) return std::min(row.runs_before, row.runs_after) < 4 ? "too few runs" : "unknown";
  return cat(percent_text(row.low), " to ", percent_text(row.high));
}

std::string DiffRow::label() const {
  std::string text = name;
  if (!shapes.empty()) text += cat(" (", shapes, ")");
  if (!device.empty() && device != "cpu0") text += cat(" on ", device);
  return printable(text);
}

DiffView::DiffView(Report diff, const opd_diff_options &options)
    : report_(std::move(diff)),
      rows_(read_rows(report_)),
      limit_(options.fail_above >= 0 ? options.fail_above : options.min_effect),
      is_judged_(options.fail_above >= 0) {
  // On a terminal, a unique name is shown without its shapes, because width is scarce.
  const bool is_terminal = output_screen().is_terminal;
  std::unordered_map<std::string_view, size_t> num_rows;
  for (const DiffRow &row : rows_) ++num_rows[row.name];
  for (DiffRow &row : rows_) row.shown = is_terminal && num_rows[row.name] == 1 ? printable(row.name) : row.label();
}

std::string DiffView::table(TableStyle style) const {
  return rows_table(mapped(rows_, [](const DiffRow &row) { return &row; })).written(style);
}

std::string DiffView::on_screen(std::string_view sentence) const {
  const Screen screen = output_screen();
  const auto width = static_cast<size_t>(screen.width);
  std::string above = fitted(notes(TableStyle::text), width);  // each note has an empty line before it
  if (!above.empty()) above = cat(above.substr(1), "\n");
  const std::string last = fitted(cat(sentence, "\n"), width);
  // The lines that remain for rows, without the head, the number of further rows, the total and the shell's next
  // prompt.
  const auto used = std::ranges::count(above, '\n') + std::ranges::count(last, '\n') + 4;
  const size_t room = static_cast<size_t>(std::max<std::ptrdiff_t>(3, screen.height - used));
  std::vector<const DiffRow *> shown;
  for (const DiffRow &row : rows_)
    if (&row != &total()) shown.push_back(&row);
  const size_t more = shown.size() > room ? shown.size() - room : 0;
  shown.resize(shown.size() - more);
  if (!rows_.empty()) shown.push_back(&total());
  std::string text = rows_table(shown).written(TableStyle::text);
  if (more)
    text.insert(text.rfind('\n', text.size() - 2) + 1,
                cat("and ", counted(static_cast<int64_t>(more), "row"),
                    more == 1 ? ", which changes" : ", which change", " the total less\n"));
  return cat(above, text, last);
}

std::string DiffView::notes(TableStyle style) const {
  std::string text = calls_text(rows_, style) + open_text(rows_, limit_, style);
  if (configured(report_, "Per call").view().u.int64 != 0)
    text += "\nThe runs have different numbers of calls of the program; times are per call of it.\n";
  for (const char *name : {"Note", "Condition"})
    if (const Value sentence = configured(report_, name); sentence.type() != OPD_NONE)
      text += cat("\n", sentence.string(), "\n");
  return text;
}

std::string DiffView::obstacle() const {
  const bool has_before = !rows_.empty() && total().runs_before != 0;
  const bool has_after = !rows_.empty() && total().runs_after != 0;
  if (has_before && has_after) return "";
  const char *const side = has_before ? "the second side has" : has_after ? "the first side has" : "both sides have";
  return cat("nothing to compare: ", side, " no runs in which an operator ran");
}

Exit DiffView::judge(std::string_view command) const {
  Exit code = Exit::ok;
  if (!is_judged_) return code;
  if (const std::string why = obstacle(); !why.empty()) {
    print_message(cat("opdyno ", command, ": --fail-above has ", why, "\n"));
    return Exit::usage;
  }
  for (const DiffRow &row : rows_) {
    if (!row.fails) continue;
    print_message(cat("opdyno ", command, ": ", row.label(), " is slower by ", percent_text(row.change), " (",
                      interval_text(row), "), more than ", fixed(limit_ * 100, 1), " %\n"));
    code = Exit::mismatch;
  }
  return code;
}

}  // namespace opd::cli
