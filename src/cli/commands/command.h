// The commands: names, arguments, functions. The parser and the help both use this table.
#pragma once
#include <string_view>
#include <vector>

#include "cli/support/args.h"
#include "cli/support/failure.h"

namespace opd::cli {

struct Command {
  std::string_view name;
  std::string_view words;  // "MOD [FN]"
  size_t least_words, most_words;
  std::string_view summary;  // one line
  std::string_view details;  // for `help CMD`
  std::vector<const Option *> options;
  Exit (*run)(const Args &args);
};

const std::vector<Command> &commands();
const Command *find_command(std::string_view name);

// The commands' functions.
Exit run_info(const Args &args);
Exit run_doctor(const Args &args);
Exit run_explain(const Args &args);
Exit run_inspect(const Args &args);
Exit run_run(const Args &args);
Exit run_serve(const Args &args);
Exit run_bench(const Args &args);
Exit run_profile(const Args &args);
Exit run_record(const Args &args);
Exit run_replay(const Args &args);
Exit run_top(const Args &args);
Exit run_trace(const Args &args);
Exit run_report(const Args &args);
Exit run_diff(const Args &args);
Exit run_ab(const Args &args);
Exit run_compare(const Args &args);
Exit run_as(const Args &args);
Exit run_dis(const Args &args);
Exit run_export(const Args &args);

std::vector<std::string> doctor_names();     // names of doctor's checks
std::vector<std::string> explained_names();  // arguments of explain: names of error codes, and exit-codes

struct ExitCode {
  std::string_view code, meaning;
};
const std::vector<ExitCode> &exit_codes();

struct Example {
  std::string_view line, what;
};
std::vector<Example> examples_of(std::string_view command);

// Texts of the help, without a trailing empty line.
std::string help_text();
std::string help_text(const Command &command);
std::string version_text();

// Writes man pages and completions to an existing directory: `opdyno --generate-pages DIR`.
void write_generated(const std::string &directory);

}  // namespace opd::cli
