// `opdyno diff`: which operators became slower between two sets of profiled runs.
#include "command.h"
#include "file.h"
#include "runs.h"
#include "text.h"

namespace opd::cli {

namespace {

enum class Form { table, json, markdown, csv };

Form form_of(const Args &args) {
  const std::string wanted = args.value("as").value_or("table");
  constexpr std::string_view names[] = {"table", "json", "markdown", "csv"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (wanted == names[i]) return static_cast<Form>(i);
  fail_usage(cat("option '--as' takes table, json, markdown or csv, not '", wanted, "'"));
}

Diff compare(const Args &args) {
  const opd_diff_options options = diff_options(args);
  const std::vector<Report> sides[] = {read_runs(args.words()[0]), read_runs(args.words()[1])};
  std::vector<const opd_report *> pointers[2];
  for (int side = 0; side < 2; ++side)
    for (const Report &report : sides[side]) pointers[side].push_back(report.get());
  Diff diff;
  check(opd_report_diff(pointers[0].data(), pointers[0].size(), pointers[1].data(), pointers[1].size(), &options,
                        diff.out()),
        Exit::failed);
  return diff;
}

}  // namespace

Exit run_diff(const Args &args) {
  const Form form = form_of(args);
  const double effect = share_of(args, "fail-above", diff_options(args).min_effect);
  const Diff diff = compare(args);
  if (form == Form::table || form == Form::markdown) {
    const TableStyle style = form == Form::table ? TableStyle::text : TableStyle::markdown;
    print(diff_table(diff, style) + open_text(diff, effect, style));
  } else {
    Report report;
    check(opd_diff_to_report(diff.get(), report.out()), Exit::failed);
    print(form == Form::json ? report.json() + "\n" : report.csv());
  }
  return judge(diff, args, "diff");
}

}  // namespace opd::cli
