// The output of `opdyno help` and `--version`, from the table of commands.
#include <algorithm>

#include "cli/commands/command.h"
#include "cli/load/devices.h"
#include "cli/support/face.h"
#include "cli/support/json.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr size_t option_column = 30;

size_t help_width() {
  const Screen screen = output_screen();
  return screen.is_terminal ? static_cast<size_t>(std::clamp(screen.width, 60, 120)) : 120;
}

// Reflows lines of text. Indented lines, and lines after an empty one, are not joined to the line before.
std::string filled(std::string_view text) {
  std::string out;
  bool joins = false;
  for (const std::string_view line : split(text, '\n')) {
    const bool is_text = !line.empty() && line[0] != ' ';
    if (!out.empty()) out += joins && is_text ? ' ' : '\n';
    out += line;
    joins = is_text && !line.ends_with(':');
  }
  return fitted(out, help_width());
}

std::string option_line(const Option &option) {
  std::string left = option.letter ? cat("  -", option.letter, ", --", option.name) : cat("      --", option.name);
  if (option.may_lack_value) left += cat("[=", option.value, "]");
  else if (!option.value.empty()) left += cat(" ", option.value);
  const std::string gap = left.size() < option_column ? "" : cat("\n", std::string(option_column, ' '));
  return cat(pad_right(left, option_column), gap, wrapped(option.help, option_column, help_width()), "\n");
}

constexpr Example examples[] = {
    {"opdyno info --collectors", "what can be measured here, and what to do about the rest"},
    {"opdyno info weights.safetensors", "names, shapes and dtypes of a file's tensors"},
    {"opdyno doctor", "a line for each check, and the command that mends it"},
    {"opdyno doctor --require counters", "in CI, before counters are compared; exit code 1"},
    {"opdyno explain OPD_BAD_FORMAT", ""},
    {"opdyno explain exit-codes", ""},
    {"opdyno inspect model.so", "functions, parameters, constants, imports"},
    {"opdyno inspect model.so --signatures", "what to pass to each function"},
    {"opdyno run model.so", "on random input of the shapes that the program checks"},
    {"opdyno run model.so -i x:@input.npy -o out.npz", "on your input; the result goes to a file"},
    {"opdyno run model.so -i x:@io.npz:x --expect io.npz", "compares with out, out_0 … of the file; exit code 1"},
    {"opdyno run kernels.c scale -i 4xf32=1,2,3,4 -i f64=0.5 -i 4xf32=0", "a plain function of a C source"},
    {"opdyno run model.so --record call.opdrec", "keeps the call for opdyno replay"},
    {"opdyno bench model.so", "how long a call takes, once it is warm"},
    {"opdyno bench model.so --sweep n=1:64:x2", "for each size of n"},
    {"opdyno bench model.so --json > before.json", "to be compared later: --compare before.json"},
    {"opdyno bench llm.so --prefill 128 --decode 32 --batch 4", "a language model: time to first token, per token"},
    {"opdyno profile model.so", "where the time of a call goes"},
    {"opdyno profile model.so -i x:@input.npy --repeat 20 -o report.html", "a page with charts"},
    {"opdyno profile model.so --roofline", "how near each operator is to the machine's peak"},
    {"opdyno profile model.so --collector perf:page-faults --warmup 0", "counters, of the first call"},
    {"opdyno profile model.so --chrome trace.json", "a time line for ui.perfetto.dev"},
    {"opdyno profile model.so --view trace.html", "time line and flame graph as a page"},
    {"opdyno profile model.so --runs 20 -o before.jsonl", "one side of opdyno diff"},
    {"opdyno profile llm.so --prefill 128 --decode 32 --batch 4", "a language model: where a token's time goes"},
    {"opdyno ab old.so new.so --fail-above 3%", "which is faster; exit code 1 if the second one is slower by more"},
    {"opdyno ab old.so new.so main -i 1x3x224x224xf32 --budget 1m", "on your input, for a minute at most"},
    {"opdyno ab old.so new.so --as table", "what changed in each operator"},
    {"opdyno compare old.so new.so -i x:@input.npy", "where they part; exit code 1 if they do"},
    {"opdyno compare float.so half.so --rtol float16=1e-2 --atol float16=1e-2", "a build of another precision"},
    {"opdyno compare old.so new.so --as table --save around/", "all operators, and the tensors for numpy"},
    {"opdyno replay call.opdrec", "makes it again, here or elsewhere; exit code 1 if the result differs"},
    {"opdyno replay call.opdrec --minimise operator.opdrec", "only the operator that fails or differs"},
    {"opdyno replay call.opdrec --device opencl:0", "on another device that the program has kernels for"},
    {"opdyno serve --key board", "for clients on this machine, or through an ssh tunnel"},
    {"opdyno serve --listen 0.0.0.0:9090 --tracker host:9190 --key board", "handed out by TVM's tracker"},
    {"opdyno record /run/service.sock --seconds 30 -o trace.json.gz", "a time line for ui.perfetto.dev"},
    {"opdyno record /run/service.sock -o trace.html", "ten seconds, as a page"},
    {"opdyno top /run/service.sock", "refreshed each second, until Ctrl-C"},
    {"opdyno top /run/service.sock --interval 5 --once", "a table of five seconds"},
    {"opdyno trace view service.events", "the page of a recording, service.events.html"},
    {"opdyno trace table service.events --sort calls --top 5", "what was called most often"},
    {"opdyno trace recover service.events -o trace.pftrace", "for ui.perfetto.dev"},
    {"opdyno trace merge rank0.events rank1.events --label rank0 --label rank1 -o ranks.html",
     "two processes on one time line"},
    {"opdyno report run.json", "the table"},
    {"opdyno report run.json -o run.html", "in the form of the suffix: .html, .csv, .md, .json, .txt"},
    {"opdyno diff before.jsonl after.jsonl --fail-above 3%", "exit code 1 if something is slower by more"},
    {"opdyno diff before/ after/ --as markdown", "all reports of two directories, for a pull request"},
    {"opdyno diff before.events after.events --by path --flame changes.svg",
     "two recordings, and a picture of what changed"},
    {"opdyno as program.opdasm program.vmexec", ""},
    {"opdyno dis model.so", ""},
    {"opdyno export program.opdasm model.so --import kernels.c", "one file, for TVM, too"},
};

std::string examples_text(std::string_view command) {
  std::string text;
  for (const Example &example : examples_of(command)) {
    text += cat(text.empty() ? "\nExamples:\n" : "", "  ", example.line, "\n");
    if (!example.what.empty()) text += cat("      ", example.what, "\n");
  }
  return text;
}

}  // namespace

std::vector<Example> examples_of(std::string_view command) {
  std::vector<Example> found;
  for (const Example &one : examples)
    if (cat(one.line, " ").starts_with(cat("opdyno ", command, " "))) found.push_back(one);
  return found;
}

std::string help_text() {
  std::string text =
      "Usage: opdyno COMMAND …\n\nRuns compiled tensor programs and shows where the time goes.\n\nCommands:\n";
  const auto add = [&](const std::string &usage, std::string_view summary) {
    constexpr size_t column = 20;  // column of the summaries; the longest usage has 18 letters
    text += cat("  ", pad_right(usage, column - 1), " ", summary, "\n");
  };
  for (const Command &command : commands())
    add(cat(command.name, command.words.empty() ? "" : " ", command.words), command.summary);
  add("help [COMMAND]", "show how a command is used");
  text += "\n'opdyno --version' shows the version and what was built in.\n\n";
  text +=
      "Exit codes: 0 ok, 1 a comparison or check failed, 2 wrong usage, 3 the module was refused, 4 an error while "
      "running.\n";
  return text;
}

std::string help_text(const Command &command) {
  std::string text = cat("Usage: opdyno ", command.name, command.words.empty() ? "" : " ", command.words,
                         " [OPTION]…\n\n", command.summary, "\n");
  text[text.find("\n\n") + 2] -= 'a' - 'A';  // capitalizes the sentence
  if (!command.details.empty()) text += cat("\n", filled(command.details), "\n");
  text += "\nOptions:\n";
  for (const Option *option : command.options) text += option_line(*option);
  return text + examples_text(command.name);
}

std::string version_text() {
  const Json json = parse_json(opdyno::build_info(), "the build");
  std::vector<std::string> on, off;
  for (const cJSON *feature : json_items(json_member(json.get(), "features")))
    (cJSON_IsTrue(feature) ? on : off).emplace_back(feature->string);
  std::string text = cat("opdyno ", opdyno::version(), "\nbuilt by ", json_string(json.get(), "compiler"), ", ",
                         json_string(json.get(), "build_type"), "\n");
  std::erase(off, "papi");  // not part of a build
  const std::string why_no_papi = collector_problem("papi");
  text += cat("features: ", on.empty() ? "none" : join(on, ", "), "\nloaded when asked for: papi (",
              why_no_papi.empty() ? "counts here" : cat("cannot count here: ", why_no_papi), ")\n");
  if (!off.empty()) text += cat("not built in: ", join(off, ", "), "\n");
  return text;
}

}  // namespace opd::cli
