// `opdyno report`: a report's file in another form.
#include "command.h"
#include "file.h"
#include "handle.h"
#include "text.h"

namespace opd::cli {

namespace {

// JSON begins with a brace, which no table does.
Report read_report(const std::string &path) {
  const std::string text = read_file(path);
  const size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const auto read = first != std::string::npos && text[first] == '{' ? opd_report_from_json : opd_report_from_table;
  Report report;
  check(read(text.data(), text.size(), report.out()), Exit::failed, path == "-" ? "standard input" : path);
  return report;
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
