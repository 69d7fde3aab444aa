// `opdyno trace`: shows the file of a recording, even if its process was killed.
#include <algorithm>
#include <numeric>

#include "cli/commands/command.h"
#include "cli/load/runs.h"
#include "cli/show/column.h"
#include "cli/show/forms.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::string summary(const std::string &path, const Trace &trace) {
  const size_t spans = trace.report(OPD_TRACE_EVENTS).count();
  std::string text = cat(path, ": ", counted(static_cast<int64_t>(spans), "span"));
  if (trace.dropped()) text += cat("; ", trace.dropped(), " more found no room, were overwritten or are damaged");
  return text + "\n";
}

enum class TraceOrder { self, total, mean, calls };

// The rows of a report of times by name, sorted by `order`.
Report rows_by(const Report &report, TraceOrder order) {
  const Column counts(report, "Count"), times(report, "Duration (us)"), selfs(report, "Self (us)");
  const auto largest = [&](size_t row) {
    return order == TraceOrder::self    ? selfs.number(row, 0)
           : order == TraceOrder::total ? times.number(row, 0)
           : order == TraceOrder::mean  ? times.number(row, 0) / counts.number(row, 1)
                                        : counts.number(row, 0);
  };
  std::vector<size_t> rows(report.count());
  std::iota(rows.begin(), rows.end(), size_t{0});
  std::ranges::stable_sort(rows, [&](size_t a, size_t b) { return largest(a) > largest(b); });
  const opdyno::ReportBuilder builder;
  const std::vector<std::string> columns = report.columns();
  for (const size_t row : rows) {
    builder.add_call();
    for (const std::string &column : columns)
      if (const Value value = report.value(OPD_REPORT_CALLS, row, column.c_str()); value.type() != OPD_NONE)
        builder.set_call(column.c_str(), report.kind(OPD_REPORT_CALLS, row, column.c_str()), value.view());
  }
  return builder.finish();
}

std::string times_by_name(const Args &args, const Trace &trace) {
  const auto order = static_cast<TraceOrder>(args.choice("sort", {"self", "total", "mean", "calls"}));
  const Report report = trace.report(OPD_TRACE_KEY_AVERAGES);
  const bool is_empty = report.count() == 0;  // then the table is empty, too, but the summary has its header
  if (wants_summary(args) || is_empty) {
    auto options = opdyno::defaults(opd_report_write_options_init);
    options.sort = !args.has("sort");
    return summary_of(options.sort ? report : rows_by(report, order), args, options) +
           (is_empty ? "No program, operator or range ran while this was recorded.\n" : "");
  }
  const char *const keys[] = {"self_cpu_time_total", "cpu_time_total", "cpu_time", "count"};  // order: TraceOrder
  auto options = opdyno::defaults(opd_trace_write_options_init);
  if (args.has("sort")) options.sort_by = keys[static_cast<size_t>(order)];
  options.row_limit = -1;
  return trace.table(&options);
}

void view(const Args &args, const std::string &file, const Trace &trace) {
  const auto output = args.value("output"), name = args.value("form");
  const std::string path = output.value_or(file + ".html");
  trace.save(path.c_str(), name ? trace_form(*name).format : OPD_TRACE_HTML);
  if (!output) print(summary(path, trace));
}

void recover(const Args &args, const std::string &file, const Trace &trace) {
  const std::string output = args.value("output").value_or(file + ".json.gz");
  const TraceForm &form = trace_form_of(args, output);
  if (output == "-") return print(trace.write(form.format));
  trace.save(output.c_str(), form.format);
  print(summary(output, trace));
}

Trace read_all(const Args &args, const std::vector<std::string> &files) {
  const std::vector<Trace> traces = mapped(files, read_recording);
  std::vector<const char *> labels = c_strings(args.all("label"));
  if (!labels.empty() && labels.size() != files.size())
    fail_usage(cat("there are ", files.size(), " files, but ", labels.size(), " --label; give each file one, or none"));
  auto options = opdyno::defaults(opd_trace_merge_options_init);
  options.labels = labels.data(), options.num_labels = static_cast<int32_t>(labels.size());
  return attempt(Exit::usage, "opdyno trace merge", [&] { return Trace::merge(traces, &options); });
}

void check_words(const Args &args, const std::vector<std::string> &files) {
  const std::string &action = args.words()[0];
  if (action != "view" && action != "recover" && action != "table" && action != "merge")
    fail_usage(cat("opdyno trace takes view, recover, table or merge, not '", action, "'"));
  if (action != "merge" && files.size() > 1)
    fail_usage(cat("opdyno trace ", action, " takes one file; merge takes several"));
  if (action != "merge" && args.has("label")) fail_usage(cat("opdyno trace ", action, " has no --label; merge has"));
  const auto output = args.value("output");
  if (action == "merge" && !output) fail_usage("opdyno trace merge needs --output");
  if (action == "table" && output) fail_usage("opdyno trace table has no --output; it prints");
  for (const char *option : {"sort", "top", "wide"})
    if (action != "table" && args.has(option))
      fail_usage(cat("opdyno trace ", action, " has no --", option, "; table has"));
  if (!output) return;
  for (const std::string &file : files)
    for (const std::string &read : {file, file + ".live"}) refuse_overwriting(read, *output);
}

}  // namespace

Exit run_trace(const Args &args) {
  const std::string &action = args.words()[0], &file = args.words()[1];
  const std::vector<std::string> files(args.words().begin() + 1, args.words().end());
  check_words(args, files);
  if (action == "merge") return recover(args, file, read_all(args, files)), Exit::ok;
  const Trace trace = read_recording(file);
  if (action == "view") view(args, file, trace);
  else if (action == "recover") recover(args, file, trace);
  else if (trace.dropped()) print(cat(summary(file, trace), times_by_name(args, trace)));  // the numbers lack these
  else print(cat(times_by_name(args, trace), summary(file, trace)));
  return Exit::ok;
}

}  // namespace opd::cli
