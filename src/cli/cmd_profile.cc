// `opdyno profile`: how long each operator of a call takes, as a table, JSON, CSV or on a time line.
#include "collectors.h"
#include "command.h"
#include "file.h"
#include "runner.h"
#include "text.h"

namespace opd::cli {

namespace {

struct Recording {
  Report report;
  Trace trace;
};

Recording record(Runner &runner, const Args &args) {
  opd_profile_options options;
  opd_profile_options_init(&options);
  options.warmup = static_cast<int32_t>(args.integer("warmup", 1, 0, 1'000'000));
  options.repeat = static_cast<int32_t>(args.integer("repeat", 1, 1, 1'000'000));
  std::vector<Collector> collectors;
  std::vector<opd_collector *> handles;
  for (const std::string &spec : args.all("collector")) collectors.push_back(make_collector(spec));
  for (const Collector &collector : collectors) handles.push_back(collector.get());
  options.collectors = handles.data();
  options.num_collectors = static_cast<int32_t>(handles.size());
  runner.start();
  const opd_call_options call = runner.call_options();
  const std::vector<opd_value> &arguments = runner.arguments();
  Recording recording;
  check(opd_vm_profile(runner.target().vm().get(), runner.target().name().c_str(), arguments.data(),
                       static_cast<int32_t>(arguments.size()), &call, &options, recording.report.out(),
                       recording.trace.out()),
        Exit::failed);
  return recording;
}

std::string to_text(opd_error *(*write)(const opd_report *, opd_buffer **), const Report &report) {
  Buffer text;
  check(write(report.get(), text.out()), Exit::failed);
  return std::string(bytes_of(text));
}

std::string table_text(const Report &report, const Args &args) {
  opd_table_options options;
  opd_table_options_init(&options);
  options.sort = !args.has("no-sort");
  options.aggregate = !args.has("no-aggregate");
  options.col_sums = !args.has("no-sums");
  Buffer text;
  check(opd_report_to_table(report.get(), &options, text.out()), Exit::failed);
  return std::string(bytes_of(text));
}

}  // namespace

Exit run_profile(const Args &args) {
  if (args.has("sort") && args.has("no-sort")) fail_usage("--sort and --no-sort exclude each other");
  Runner runner(args);
  if (!runner.target().is_program())
    fail_usage(cat(runner.target().name(),
                   " is a plain function; profile measures the operators of a VM program, bench a single function"));
  const Recording recording = record(runner, args);
  runner.progress().clear();
  if (const auto path = args.value("output")) write_file(*path, to_text(opd_report_to_json, recording.report) + "\n");
  if (const auto path = args.value("csv"); path && *path != "-")
    write_file(*path, to_text(opd_report_to_csv, recording.report));
  if (const auto path = args.value("chrome")) {
    Buffer json;
    check(opd_trace_to_chrome(recording.trace.get(), json.out()), Exit::failed);
    write_file(*path, bytes_of(json));
  }
  if (args.value("csv") == "-") print(to_text(opd_report_to_csv, recording.report));
  else if (args.has("json")) print(to_text(opd_report_to_json, recording.report) + "\n");
  else print(table_text(recording.report, args));
  if (const uint64_t dropped = opd_trace_dropped_count(recording.trace.get()))
    print_message(cat("opdyno profile: ", dropped, " calls found no room in the trace and are left out\n"));
  return Exit::ok;
}

}  // namespace opd::cli
