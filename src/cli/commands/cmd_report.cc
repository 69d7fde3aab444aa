// `opdyno report` and `opdyno diff`: files of reports in another form, and which operators became slower between two
// sets of them.
#include <filesystem>

#include "cli/ab/ab_rule.h"
#include "cli/commands/command.h"
#include "cli/load/runs.h"
#include "cli/show/diff_view.h"
#include "cli/show/forms.h"
#include "cli/support/face.h"
#include "cli/support/file.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

Report read_report(const std::string &path) {
  std::vector<Report> reports = read_reports(path);
  if (reports.size() > 1)
    throw Failure(Exit::failed, cat(path == "-" ? "standard input" : path, " holds ", reports.size(),
                                    " reports, one a line; give one of the lines. 'opdyno diff' compares such files"));
  return std::move(reports[0]);
}

// Writes the flame graph of the changes between two recordings.
void draw(const Args &args, const std::string &output) {
  const std::string &before = args.words()[0], &after = args.words()[1];
  for (const std::string &read : {before, before + ".live", after, after + ".live"}) refuse_overwriting(read, output);
  const Trace earlier = read_recording(before);
  auto options = opdyno::defaults(opd_trace_write_options_init);
  options.before = earlier.get();
  read_recording(after).save(output.c_str(), OPD_TRACE_FLAME_SVG, &options);
}

void check_recordings(const Args &args) {
  for (const char *option : {"by", "flame"})
    for (const std::string &words : args.words()) {
      if (!args.has(option) || are_recordings(words)) continue;
      for (const std::string_view file : split(words, ','))
        if (std::error_code error; !std::filesystem::exists(file, error)) read_recording(std::string(file));  // throws
      fail_usage(cat("option '--", option, "' is for files of recordings, and ", words, " is none"));
    }
  for (const std::string &words : args.words())
    if (args.has("flame") && words.find(',') != std::string::npos)
      fail_usage(cat("option '--flame' takes one recording on each side, not ", words));
}

}  // namespace

Exit run_report(const Args &args) {
  const std::string path = args.value("output").value_or("-");
  const ReportForm form =
      args.has("as") ? report_form(*args.value("as")) : report_form_of_file(path, ReportForm::table);
  const Report report = read_report(args.words()[0]);
  if (path == "-" && form == ReportForm::table) print(shown_table(report, args));
  else write_file(path, written(report, form, write_options(args)));
  return Exit::ok;
}

Exit run_diff(const Args &args) {
  const std::string form = args.chosen("as", {"table", "json", "markdown", "csv"});
  const opd_diff_options options = diff_options(args);
  const bool by_path = args.chosen("by", {"name", "path"}) == "path";
  const opd_trace_view view = by_path ? OPD_TRACE_PATHS_BY_PART : OPD_TRACE_KEY_AVERAGES_BY_PART;
  check_recordings(args);
  const std::vector<Report> before = read_runs(args.words()[0], view), after = read_runs(args.words()[1], view);
  const DiffView diff(Report::diff(before, after, &options), options);
  if (form == "json") print(diff.report().json() + "\n");
  else if (form == "csv") print(diff.report().csv());
  else {
    const TableStyle style = form == "table" ? TableStyle::text : TableStyle::markdown;
    const std::string sentence = ab_sentence(diff, options);
    if (style == TableStyle::text && output_screen().is_terminal) print(diff.on_screen(sentence));
    else print(cat(diff.table(style), diff.notes(style), "\n", sentence, "\n"));
  }
  if (const auto flame = args.value("flame")) draw(args, *flame);
  return diff.judge("diff");
}

}  // namespace opd::cli
