// `opdyno doctor`: lists what works on this machine, why the rest does not, and the command that fixes it.
#include <algorithm>
#include <functional>

#include "cli/commands/command.h"
#include "cli/doctor/doctor.h"
#include "cli/support/file.h"
#include "cli/support/json.h"
#include "cli/support/screen.h"

namespace opd::cli {

namespace {

using Clock = std::chrono::steady_clock;

// The names of the checks in the order of the table. --require takes them.
constexpr std::string_view names[] = {"counters", "kernel-events", "papi",     "energy", "clock",  "governor",
                                      "quota",    "cache",         "compiler", "cuda",   "opencl", "vulkan",
                                      "nvml",     "tls",           "python",   "tvm",    "tvm-ffi"};

constexpr char kField = '\x1f', kRecord = '\x1e';  // separators in answers; printable() removes them from texts

std::string packed(const Check &check) {
  return cat(check.name, kField, static_cast<int>(check.state), kField, printable(check.cause), kField,
             printable(check.remedy), kRecord);
}

Check unpacked(const std::string &name, const Probe::Answer &answer) {
  const std::string_view text = std::string_view(answer.text).substr(0, answer.text.find(kRecord));
  const auto fields = mapped(split(text, kField, "", ""), [](std::string_view field) { return std::string(field); });
  const int64_t state = fields.size() == 4 ? read_int(fields[1]).value_or(-1) : -1;
  if (answer.is_whole && state >= 0 && state <= 2) return {name, static_cast<State>(state), fields[2], fields[3]};
  const std::string_view where =
      answer.why.starts_with("could not") ? "" : ", perhaps in a driver or program that it needs";
  return {name, State::limited, cat("the check ", answer.why.empty() ? "had no result" : answer.why, where),
          remedy_of(answer)};
}

// Checks of drivers and programs run at the same time, each in its own process.
Checks examine(std::chrono::nanoseconds within) {
  const Clock::time_point deadline = Clock::now() + within;
  // The limit is shorter than the probe's, so that the check itself reports what took so long and removes its files.
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(within * 9 / 10);
  const std::pair<std::string, std::function<Check()>> slow[] = {
      {"papi", check_papi},
      {"cache", [&] { return check_cache(limit); }},
      {"compiler", [&] { return check_compiler(limit); }},
      {"cuda", [] { return check_device("cuda"); }},
      {"opencl", [] { return check_device("opencl"); }},
      {"vulkan", [] { return check_device("vulkan"); }},
      {"nvml", check_nvml},
      {"tls", check_tls},
  };
  const std::string python = active_python();
  std::optional<Probe> packages;
  if (!python.empty()) packages.emplace(ask_python(python));
  std::vector<Probe> probes;
  for (const auto &[name, check] : slow)
    probes.push_back(Probe::of_function([&check = check] { return packed(check()); }));

  Checks found = judge_counters(counter_facts());
  found.push_back(judge_energy(energy_facts()));
  for (const auto &check : {check_clock, check_governor, check_quota}) found.push_back(check());
  for (size_t i = 0; i < probes.size(); ++i) found.push_back(unpacked(slow[i].first, probes[i].wait(deadline)));
  const Json build = parse_json(opdyno::build_info(), "the build");
  const Probe::Answer answer = packages ? packages->wait(deadline) : Probe::Answer{};
  for (Check &check : judge_python(python, answer, json_strings(build.get(), "tvm_artifacts"),
                                   json_strings(build.get(), "tvm_tested")))
    found.push_back(std::move(check));
  const auto place = [](const Check &check) { return std::ranges::find(names, check.name) - std::begin(names); };
  std::ranges::stable_sort(found, {}, place);
  return found;
}

std::string_view state_name(State state) {
  return state == State::ok ? "ok" : state == State::limited ? "limited" : "missing";
}

std::string doctor_text(const Checks &checks) {
  const Screen screen = output_screen();
  // If the output goes to a pipe, each cause is one line, so that grep can find it.
  const size_t column = 24,
               width = screen.is_terminal ? std::max<size_t>(static_cast<size_t>(screen.width), column + 16) : SIZE_MAX;
  std::string text;
  size_t counts[3] = {};
  for (const Check &check : checks) {
    ++counts[static_cast<size_t>(check.state)];
    text += cat(pad_right(check.name, 14), " ", pad_right(state_name(check.state), 8), " ",
                wrapped(printable(check.cause), column, width), "\n");
    if (!check.remedy.empty()) text += cat(std::string(column, ' '), "mend: ", printable(check.remedy), "\n");
  }
  return text + cat(counts[0], " ok, ", counts[1], " limited, ", counts[2], " missing\n");
}

std::string doctor_json(const Checks &checks) {
  JsonWriter json;
  json.begin_object().key("version").string(opdyno::version()).key("checks").begin_array();
  for (const Check &check : checks) {
    json.begin_object().key("name").string(check.name).key("state").string(state_name(check.state));
    json.key("cause").string(printable(check.cause)).key("remedy").string(printable(check.remedy)).end_object();
  }
  return json.end_array().end_object().take() + "\n";
}

}  // namespace

std::vector<std::string> doctor_names() { return {std::begin(names), std::end(names)}; }

Exit run_doctor(const Args &args) {
  constexpr int64_t usual_ns = 800'000'000, most_ns = 600'000'000'000;
  const int64_t within = args.duration_ns("within").value_or(usual_ns);
  if (within > most_ns) fail_usage("option '--within' takes a time of at most 10m");
  for (const std::string &name : args.all("require"))
    if (!std::ranges::count(names, name))
      fail_usage(cat("option '--require' takes the name of a check, not '", name, "'.", suggest(name, doctor_names()),
                     " There are ", join(doctor_names(), ", ")));
  const Checks checks = examine(std::chrono::nanoseconds(within));
  print(args.has("json") ? doctor_json(checks) : doctor_text(checks));
  for (const Check &check : checks)
    if (check.state != State::ok && std::ranges::count(args.all("require"), check.name))
      throw Failure(Exit::mismatch, cat("the check ", check.name, " is ", state_name(check.state), ": ", check.cause));
  return Exit::ok;
}

}  // namespace opd::cli
