// `opdyno diff`: which operators became slower between two sets of profiled runs.
#include "command.h"
#include "diff_view.h"
#include "file.h"
#include "runs.h"
#include "screen.h"
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

}  // namespace

Exit run_diff(const Args &args) {
  const Form form = form_of(args);
  const opd_diff_options options = diff_options(args);
  const std::vector<Report> before = read_runs(args.words()[0]), after = read_runs(args.words()[1]);
  const DiffView diff = DiffView::of_runs(before, after, options);
  if (form == Form::json) print(diff.report().json() + "\n");
  else if (form == Form::csv) print(diff.report().csv());
  else {
    const TableStyle style = form == Form::table ? TableStyle::text : TableStyle::markdown;
    const std::string text = diff.table(style) + diff.notes(style);
    style == TableStyle::text ? print_fitted(text) : print(text);
  }
  return diff.judge("diff");
}

}  // namespace opd::cli
