// `opdyno profile`: the time of each operator of a call, as a table, JSON, CSV or on a time line.
#include <filesystem>

#include "cli/bench/machine_quality.h"
#include "cli/commands/command.h"
#include "cli/language/language.h"
#include "cli/load/devices.h"
#include "cli/load/runner.h"
#include "cli/show/forms.h"
#include "cli/support/file.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

struct Recording : Profile {
  std::optional<Failure> failure;  // failure of the call
  std::vector<std::string> hints;  // hints below the table
};

// Names the counters that are all 0 because the counted events happened in a warm-up: it touched pages and made
// buffers, which are kept.
std::string hint_at_zeros(const Report &report) {
  std::vector<std::string> zeros;
  for (const std::string &name : report.columns()) {
    bool is_counter = true, is_zero = false;
    for (size_t row = 0; row < report.count() && is_counter; ++row) {
      const Value cell = report.value(OPD_REPORT_CALLS, row, name.c_str());
      if (cell.type() == OPD_NONE) continue;
      is_counter = is_zero = cell.type() == OPD_INT && cell.view().u.int64 == 0;
    }
    if (is_counter && is_zero) zeros.push_back(name);
  }
  if (zeros.empty()) return {};
  return cat(join(zeros, ", "), zeros.size() > 1 ? " are 0 in" : " is 0 in",
             " all calls, which come after a warm-up; --warmup 0 measures the first call");
}

// If a profiled call fails, there is no report, and a failed warm-up recorded nothing. So the call is made once more
// and recorded like an application's calls.
void record_failure(const Runner &runner, const opd_profile_options &options, Recording &recording) {
  const Vm &vm = runner.target().vm();
  if (recording.failure->library_code() == OPD_DEADLINE_EXCEEDED) throw *recording.failure;  // no time is left
  vm.profile_start(&options);
  try {
    vm.call_with(runner.call_options(), runner.target().name().c_str(), runner.arguments());
    recording.hints.push_back("the call failed; when it was repeated for this report, it did not fail");
  } catch (const opdyno::Error &) {
    recording.hints.push_back("the call failed; the report is of one more call, up to where it failed");
  }
  static_cast<Profile &>(recording) = vm.profile_stop();
}

// The time limit of calls that are repeated until the result is stable; 0: their number is fixed.
double budget_of(const Args &args) {
  // A run that is compared with others has one call, and without a warm-up the first call is meant.
  const bool is_single =
      args.has("repeat") || args.has("runs") || args.has("turn") || args.integer("warmup", 1, 0, 1'000'000) == 0;
  if (is_single) return 0;
  constexpr int64_t usual = 10'000'000'000;
  int64_t ns = args.duration_ns("budget").value_or(usual);
  // The warm-up, one more call and the program's start must fit, too.
  if (const auto timeout = args.duration_ns("timeout")) ns = std::min(ns, *timeout / 2);
  return static_cast<double>(ns) / 1e9;
}

// Returns the last run; `lines` gets the reports of all runs, one per line.
Recording record(Runner &runner, const Args &args, std::string &lines) {
  auto options = opdyno::defaults(opd_profile_options_init);
  options.warmup = static_cast<int32_t>(args.integer("warmup", 1, 0, 1'000'000));
  options.repeat = static_cast<int32_t>(args.integer("repeat", 1, 1, 1'000'000));
  options.budget_s = budget_of(args);
  options.builtins = static_cast<opd_profile_builtins>(args.choice("builtins", {"with_tensors", "all", "folded"}));
  options.details = args.has("details");
  const bool roofline = args.has("roofline");
  const opd_machine_peak peak = roofline ? opdyno::measure_peak() : opd_machine_peak{};
  Recording recording;
  if (std::string noise = noise_of(peak); !noise.empty()) recording.hints.push_back(std::move(noise));
  std::vector<Collector> collectors;
  for (const std::string &spec : args.all("collector")) collectors.push_back(make_collector(spec, args.has("on")));
  const std::vector<opd_collector *> handles = opdyno::handles_of(collectors);
  options.collectors = handles.data();
  options.num_collectors = static_cast<int32_t>(handles.size());
  runner.start();
  const Vm &vm = runner.target().vm();
  const std::string &name = runner.target().name();
  options.turn = static_cast<int32_t>(args.integer("turn", 0, 1, 1'000'000'000));
  for (int64_t run = args.integer("runs", 1, 1, 1'000'000); run > 0; --run) {
    try {
      const opd_call_options call = runner.call_options();
      static_cast<Profile &>(recording) = vm.profile(name.c_str(), runner.arguments(), &options, &call);
    } catch (const opdyno::Error &error) {
      recording.failure.emplace(Exit::failed, message_of(error), error.code());
      if (runner.machine()) throw *recording.failure;
      record_failure(runner, options, recording);
    }
    if (roofline) recording.report = recording.report.with_roofline(peak.gflops, peak.bandwidth_gbps);
    if (args.has("output") || args.has("json")) lines += recording.report.json() + "\n";
    if (recording.failure) return recording;
    if (options.turn) ++options.turn;
  }
  if (!collectors.empty() && options.warmup > 0)
    if (std::string zeros = hint_at_zeros(recording.report); !zeros.empty())
      recording.hints.push_back(std::move(zeros));
  return recording;
}

// Checks that each output has its own place. Returns whether one goes to standard output, "-".
bool check_outputs(const Args &args) {
  std::map<std::string, std::string_view> options;  // option by place
  if (args.has("json")) options["-"] = "json";
  for (const std::string_view name : {"output", "csv", "chrome", "view", "flame"}) {
    const auto path = args.value(name);
    if (!path) continue;
    refuse_overwriting(args.words()[0], *path);
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
  write_options(args);  // checks the options before anything runs
  for (const std::string_view other : {"repeat", "runs", "turn"})
    if (args.has("budget") && args.has(other)) fail_usage(cat("--budget and --", other, " exclude each other"));
  if (args.has("budget") && args.value("warmup") == "0")
    fail_usage("--budget does not go with --warmup 0, which measures the first call");
  const bool is_output_taken = check_outputs(args);
  if (GenerationPlan::is_wanted(args)) return profile_language(args, is_output_taken);
  const ReportForm form = report_form_of_file(args.value("output").value_or(""), ReportForm::json);
  if (form != ReportForm::json && args.has("runs"))
    fail_usage(cat("--runs writes a report a line, which only JSON can hold; name the output .json, not ",
                   *args.value("output")));
  Runner runner(args);
  if (!runner.target().is_program())
    fail_usage(cat(runner.target().name(),
                   " is a plain function; profile measures the operators of a VM program, bench a single function"));
  std::string lines;
  const Recording recording = record(runner, args, lines);
  runner.progress().clear();
  if (const auto path = args.value("output"))
    write_file(*path, form == ReportForm::json ? lines : written(recording.report, form, write_options(args)));
  write_profile(args, recording);
  if (args.has("json")) print(lines);
  if (!is_output_taken) {
    print(shown_table(recording.report, args));
    for (const std::string &hint : recording.hints)
      print_fitted(cat("Hint: ", hint, "\n"));  // same form as an entry of the configuration
  }
  if (const uint64_t dropped = recording.trace.dropped())
    print_message(cat("opdyno profile: ", dropped, " calls found no room in the trace and are left out\n"));
  if (recording.failure) throw *recording.failure;
  return Exit::ok;
}

}  // namespace opd::cli
