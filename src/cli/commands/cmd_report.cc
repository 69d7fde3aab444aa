// `opdyno report`: converts a report file to another form.
#include "cli/commands/command.h"
#include "cli/load/runs.h"
#include "cli/show/forms.h"
#include "cli/support/face.h"
#include "cli/support/file.h"
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

}  // namespace opd::cli
