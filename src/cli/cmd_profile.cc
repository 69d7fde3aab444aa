// `opdyno profile`: how long each operator of a call takes, as a table, JSON, CSV or on a time line.
#include <filesystem>

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

opd_machine_peak measured_peak() {
  opd_machine_peak peak{};
  peak.struct_size = sizeof peak;
  check(opd_machine_measure_peak(&peak), Exit::failed);
  return peak;
}

Report with_roofline(const Report &report, const opd_machine_peak &peak) {
  Report made;
  check(opd_report_add_roofline(report.get(), peak.gflops, peak.bandwidth_gbps, made.out()), Exit::failed);
  return made;
}

int32_t builtins_of(const std::string &wanted) {
  constexpr std::string_view names[] = {"with_tensors", "all", "folded"};  // as opd_profile_builtins counts
  for (int32_t i = 0; i < 3; ++i)
    if (wanted == names[i]) return i;
  fail_usage(cat("option '--builtins' takes with_tensors, all or folded, not '", wanted, "'"));
}

// The last run; `lines` gets the reports of all, one a line.
Recording record(Runner &runner, const Args &args, std::string &lines) {
  opd_profile_options options;
  opd_profile_options_init(&options);
  options.warmup = static_cast<int32_t>(args.integer("warmup", 1, 0, 1'000'000));
  options.repeat = static_cast<int32_t>(args.integer("repeat", 1, 1, 1'000'000));
  options.builtins = builtins_of(args.value("builtins").value_or("with_tensors"));
  options.details = args.has("details");
  const bool roofline = args.has("roofline");
  const opd_machine_peak peak = roofline ? measured_peak() : opd_machine_peak{};
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
  for (int64_t run = args.integer("runs", 1, 1, 1'000'000); run > 0; --run) {
    check(opd_vm_profile(runner.target().vm().get(), runner.target().name().c_str(), arguments.data(),
                         static_cast<int32_t>(arguments.size()), &call, &options, recording.report.out(),
                         recording.trace.out()),
          Exit::failed);
    if (roofline) recording.report = with_roofline(recording.report, peak);
    if (args.has("output") || args.has("json")) lines += recording.report.json() + "\n";
  }
  return recording;
}

std::string to_text(opd_error *(*write)(const opd_report *, opd_buffer **), const Report &report) {
  Buffer text;
  check(write(report.get(), text.out()), Exit::failed);
  return std::string(bytes_of(text));
}

std::string table_text(const Report &report, const Args &args) {
  const opd_table_options options = table_options(args);
  Buffer text;
  check(opd_report_to_table(report.get(), &options, text.out()), Exit::failed);
  return std::string(bytes_of(text));
}

// Each output goes to a place of its own. Gives whether one goes to standard output, which is "-".
bool check_outputs(const Args &args) {
  std::map<std::string, std::string_view> options;  // by place
  if (args.has("json")) options["-"] = "json";
  for (const std::string_view name : {"output", "csv", "chrome"}) {
    const auto path = args.value(name);
    if (!path) continue;
    std::error_code error;
    const std::string whole = std::filesystem::absolute(*path, error).lexically_normal().string();
    const auto [other, is_new] = options.emplace(*path == "-" || error ? *path : whole, name);
    if (!is_new)
      fail_usage(cat("--", other->second, " and --", name, " would both be written to ",
                     *path == "-" ? "standard output" : *path));
  }
  return options.contains("-");
}

}  // namespace

Exit run_profile(const Args &args) {
  if (args.has("sort") && args.has("no-sort")) fail_usage("--sort and --no-sort exclude each other");
  const bool is_output_taken = check_outputs(args);
  Runner runner(args);
  if (!runner.target().is_program())
    fail_usage(cat(runner.target().name(),
                   " is a plain function; profile measures the operators of a VM program, bench a single function"));
  std::string lines;
  const Recording recording = record(runner, args, lines);
  runner.progress().clear();
  if (const auto path = args.value("output")) write_file(*path, lines);
  if (const auto path = args.value("csv")) write_file(*path, to_text(opd_report_to_csv, recording.report));
  if (const auto path = args.value("chrome")) {
    Buffer json;
    check(opd_trace_to_chrome(recording.trace.get(), json.out()), Exit::failed);
    write_file(*path, bytes_of(json));
  }
  if (args.has("json")) print(lines);
  if (!is_output_taken) print(table_text(recording.report, args));
  if (const uint64_t dropped = opd_trace_dropped_count(recording.trace.get()))
    print_message(cat("opdyno profile: ", dropped, " calls found no room in the trace and are left out\n"));
  return Exit::ok;
}

}  // namespace opd::cli
