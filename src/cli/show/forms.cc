#include "cli/show/forms.h"

#include <algorithm>

#include "cli/support/failure.h"
#include "cli/support/file.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

struct NamedForm {
  std::string_view name;
  opd_report_format format;
  std::vector<std::string_view> suffixes;
};
const std::vector<NamedForm> report_forms = {
    {"table", OPD_REPORT_TABLE, {".txt"}},
    {"csv", OPD_REPORT_CSV, {".csv"}},
    {"json", OPD_REPORT_JSON, {".json", ".jsonl"}},
    {"markdown", OPD_REPORT_MARKDOWN, {".md", ".markdown"}},
    {"html", OPD_REPORT_HTML, {".html", ".htm"}}};  // in the order of ReportForm

constexpr int64_t usual_rows = 10;  // usual number of rows of a summary

const std::vector<TraceForm> trace_forms = {{"speedscope", OPD_TRACE_SPEEDSCOPE, {".speedscope.json", ".speedscope"}},
                                            {"memory_raw", OPD_TRACE_MEMORY_TIMELINE_RAW, {".memory.raw.json"}},
                                            {"memory", OPD_TRACE_MEMORY_TIMELINE, {".memory.json"}},
                                            {"memory_html", OPD_TRACE_MEMORY_TIMELINE_HTML, {".memory.html"}},
                                            {"chrome", OPD_TRACE_CHROME, {".json"}},
                                            {"perfetto", OPD_TRACE_PERFETTO, {".pftrace", ".perfetto-trace"}},
                                            {"pprof", OPD_TRACE_PPROF, {".pb", ".pprof"}},
                                            {"html", OPD_TRACE_HTML, {".html", ".htm"}},
                                            {"flame", OPD_TRACE_FLAME_SVG, {".svg"}},
                                            {"stacks", OPD_TRACE_STACKS, {".stacks", ".folded"}},
                                            {"table", OPD_TRACE_TABLE, {".txt"}}};

}  // namespace

ReportForm report_form(std::string_view name) {
  for (const NamedForm &form : report_forms)
    if (form.name == name) return static_cast<ReportForm>(&form - report_forms.data());
  fail_usage(cat("--as: '", name, "' is none of table, csv, json, markdown and html"));
}

ReportForm report_form_of_file(const std::string &path, ReportForm otherwise) {
  const std::string given = suffix_of(path);
  for (const NamedForm &form : report_forms)
    if (std::ranges::count(form.suffixes, given)) return report_form(form.name);
  if (!given.empty())
    print_message(cat("opdyno: no form of reports has the suffix ", given, ", so ", path, " is written as ",
                      report_forms[static_cast<size_t>(otherwise)].name, "\n"));
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
  return report.write(report_forms[static_cast<size_t>(form)].format, &options) +
         (form == ReportForm::json ? "\n" : "");
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

void write_profile(const Args &args, const Profile &profile) {
  if (const auto path = args.value("csv"))
    write_file(*path, written(profile.report, ReportForm::csv, write_options(args)));
  if (const auto path = args.value("chrome")) write_file(*path, profile.trace.chrome());
  if (const auto path = args.value("view")) write_file(*path, profile.trace.write(OPD_TRACE_HTML));
  if (const auto path = args.value("flame")) write_file(*path, profile.trace.write(OPD_TRACE_FLAME_SVG));
}

const TraceForm &trace_form(std::string_view name) {
  for (const TraceForm &form : trace_forms)
    if (form.name == name) return form;
  fail_usage(cat("--form: '", name, "' is none of ", join(names_of(trace_forms), ", ")));
}

const TraceForm &trace_form_of(const Args &args, const std::string &path) {
  if (const auto name = args.value("form")) return trace_form(*name);
  if (path == "-") return trace_form("chrome");
  std::string name = lower_case(path);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (const TraceForm &form : trace_forms)
    for (const std::string_view suffix : form.suffixes)
      if (name.ends_with(suffix)) return form;
  fail_usage(
      cat("the suffix of ", path, " names no form of a trace; name it by --form: ", join(names_of(trace_forms), ", ")));
}

}  // namespace opd::cli
