#include "cli/show/report_form.h"

#include <algorithm>

#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

struct NamedForm {
  ReportForm form;
  std::string_view name;
  std::vector<std::string_view> suffixes;
};
const std::vector<NamedForm> &forms() {
  static const std::vector<NamedForm> all = {// in the order of ReportForm
                                             {ReportForm::table, "table", {".txt"}},
                                             {ReportForm::csv, "csv", {".csv"}},
                                             {ReportForm::json, "json", {".json", ".jsonl"}},
                                             {ReportForm::markdown, "markdown", {".md", ".markdown"}},
                                             {ReportForm::html, "html", {".html", ".htm"}}};
  return all;
}

constexpr int64_t usual_rows = 10;  // usual number of rows of a summary

}  // namespace

ReportForm report_form(std::string_view name) {
  for (const NamedForm &form : forms())
    if (form.name == name) return form.form;
  fail_usage(cat("--as: '", name, "' is none of table, csv, json, markdown and html"));
}

ReportForm report_form_of_file(const std::string &path, ReportForm otherwise) {
  const std::string given = suffix_of(path);
  for (const NamedForm &form : forms())
    for (const std::string_view suffix : form.suffixes)
      if (given == suffix) return form.form;
  if (!given.empty())
    print_message(cat("opdyno: no form of reports has the suffix ", given, ", so ", path, " is written as ",
                      forms()[static_cast<size_t>(otherwise)].name, "\n"));
  return otherwise;
}

opd_report_write_options write_options(const Args &args) {
  if (args.has("sort") && args.has("no-sort")) fail_usage("--sort and --no-sort exclude each other");
  auto options = opdyno::defaults(opd_report_write_options_init);
  options.sort = !args.has("no-sort");
  options.aggregate = !args.has("no-aggregate");
  options.col_sums = !args.has("no-sums");
  return options;
}

std::string written(const Report &report, ReportForm form, const opd_report_write_options &options) {
  const opd_report_format formats[] = {OPD_REPORT_TABLE, OPD_REPORT_CSV, OPD_REPORT_JSON, OPD_REPORT_MARKDOWN,
                                       OPD_REPORT_HTML};  // in the order of ReportForm
  return report.write(formats[static_cast<size_t>(form)], &options) + (form == ReportForm::json ? "\n" : "");
}

bool wants_summary(const Args &args) {
  if (args.has("top") && args.has("wide")) fail_usage("--top and --wide exclude each other");
  return !args.has("wide") && (output_screen().is_terminal || args.has("top"));
}

std::string summary_of(const Report &report, const Args &args, opd_report_write_options options) {
  const Screen screen = output_screen();
  constexpr int32_t least_width = 40;  // least width of a summary
  options.width = std::max(least_width, screen.width);
  options.max_rows = static_cast<int32_t>(args.integer("top", usual_rows, 1, 1'000'000));
  options.colored = screen.has_colors;
  return written(report, ReportForm::table, options);
}

std::string shown_table(const Report &report, const Args &args) {
  const opd_report_write_options options = write_options(args);
  return wants_summary(args) ? summary_of(report, args, options) : written(report, ReportForm::table, options);
}

}  // namespace opd::cli
