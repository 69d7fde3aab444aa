// `opdyno report`: a report's file in another form.
#include "command.h"
#include "file.h"
#include "handle.h"
#include "runs.h"
#include "text.h"

namespace opd::cli {

namespace {

Report read_report(const std::string &path) {
  std::vector<Report> reports = read_reports(path);
  if (reports.size() > 1)
    throw Failure(Exit::failed, cat(path == "-" ? "standard input" : path, " holds ", reports.size(),
                                    " reports, one a line; give one of the lines. 'opdyno diff' compares such files"));
  return std::move(reports[0]);
}

std::string written(const Report &report, const std::string &form, const Args &args) {
  const opd_table_options options = table_options(args);
  Buffer text;
  opd_error *error = nullptr;
  if (form == "table") error = opd_report_to_table(report.get(), &options, text.out());
  else if (form == "markdown") error = opd_report_to_markdown(report.get(), &options, text.out());
  else if (form == "html") error = opd_report_to_html(report.get(), &options, text.out());
  else if (form == "json") error = opd_report_to_json(report.get(), text.out());
  else if (form == "csv") error = opd_report_to_csv(report.get(), text.out());
  else fail_usage(cat("--as: '", form, "' is none of table, csv, json, markdown and html"));
  check(error, Exit::failed);
  return std::string(bytes_of(text)) + (form == "json" ? "\n" : "");
}

}  // namespace

opd_table_options table_options(const Args &args) {
  opd_table_options options;
  opd_table_options_init(&options);
  options.sort = !args.has("no-sort");
  options.aggregate = !args.has("no-aggregate");
  options.col_sums = !args.has("no-sums");
  return options;
}

Exit run_report(const Args &args) {
  const std::string form = args.value("as").value_or("table");
  write_file(args.value("output").value_or("-"), written(read_report(args.words()[0]), form, args));
  return Exit::ok;
}

}  // namespace opd::cli
