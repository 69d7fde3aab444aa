// Completions for bash, zsh and fish: commands, their options, and which options take a value. Other words complete to
// files, unless the table has choices.
#include "cli/commands/error_pages.h"
#include "cli/commands/generated.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// In fish, backslashes are special between quotes, too.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "\\'" : c == '\\' ? "\\\\" : std::string(1, c);
  return out + "'";
}

// The choices for the first word after a command; empty: any file.
std::vector<std::string> choices_of(const Command &command) {
  if (command.name == "explain") return explained_names();
  if (command.name == "trace") return {"view", "recover", "table", "merge"};
  return {};
}

// The forms in the help of an option, such as "table, csv, json or markdown; table". Each command has its own forms.
std::vector<std::string> forms_in(std::string_view help) {
  std::string list(help.substr(0, help.find(';')));
  if (const size_t last = list.rfind(" or "); last != list.npos) list.replace(last, 4, ",");
  std::vector<std::string> forms;
  for (const std::string_view form : split(list, ',')) forms.emplace_back(trim(form));
  return forms;
}

std::vector<std::string> choices_of(const Option &option) {
  if (option.name == "require") return doctor_names();
  if (option.name == "copy") return {"always", "when-shared", "never"};
  if (option.name == "allocator") return {"pooled", "naive"};
  if (option.name == "builtins") return {"with_tensors", "all", "folded"};
  if (option.name == "by") return {"name", "path"};
  if (option.name == "as") return forms_in(option.help);
  if (option.name == "collector") return {"time", "memory", "perf", "papi", "energy", "nvml", "device"};
  return {};
}

bool is_file(const Option &option) {
  return option.value.starts_with("FILE") || option.value == "PATH" || option.value == "SPEC";
}

std::string names_of_commands() {
  std::string names;
  for (const Command &command : commands()) names += cat(command.name, " ");
  return names + "help";
}

}  // namespace

// By default, bash breaks words at "=", so `--name=value` arrives as three words.
std::string bash_completion() {
  std::string options, values, files, words;
  for (const Command &command : commands()) {
    std::string names;
    for (const Option *option : command.options) {
      names += cat(names.empty() ? "" : " ", "--", option->name);
      if (option->letter) names += cat(" -", std::string(1, option->letter));
      if (option->value.empty() || option->may_lack_value) continue;
      const std::string pattern = option->letter
                                      ? cat("--", option->name, "|", command.name, ":-", std::string(1, option->letter))
                                      : cat("--", option->name);
      const std::vector<std::string> choices = choices_of(*option);
      values +=
          cat("    ", command.name, ":", pattern,
              ") kind=", choices.empty() ? is_file(*option) ? "files" : "nothing" : shell_quoted(join(choices, " ")),
              " ;;\n");
    }
    options += cat("    ", command.name, ") options=", shell_quoted(names), " ;;\n");
    if (const auto choices = choices_of(command); !choices.empty())
      words += cat("    ", command.name, ") [[ $place == 1 ]] && kind=", shell_quoted(join(choices, " ")), " ;;\n");
  }
  return cat(R"(# Completion of opdyno for bash. Made of its table of commands.
_opdyno() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options= kind= place=0 i
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W ')",
             names_of_commands(), R"( --version --help' -- "$word"))
    return
  fi
  if [[ $word == = ]]; then word= before=${COMP_WORDS[COMP_CWORD - 1]}
  elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
  if [[ $command == help ]]; then
    COMPREPLY=($(compgen -W ')",
             names_of_commands(), R"(' -- "$word"))
    return
  fi
  case $command in
)",
             options, R"(  esac
  case $command:$before in
)",
             values, R"(  esac
  if [[ -z $kind && $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    return
  fi
  if [[ -z $kind ]]; then
    for ((i = 2; i <= COMP_CWORD; ++i)); do [[ ${COMP_WORDS[i]} == -* ]] || ((++place)); done
    case $command in
)",
             words, R"(    esac
  fi
  case $kind in
    nothing) ;;
    '' | files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    *) COMPREPLY=($(compgen -W "$kind" -- "$word")) ;;
  esac
}
complete -F _opdyno opdyno
)");
}

// Colons and brackets are special in the specifications of _arguments.
std::string zsh_completion() {
  const auto escaped = [](std::string_view text) {
    std::string out;
    for (const char c : text) out += c == ':' || c == '[' || c == ']' || c == '\\' ? cat("\\", c) : std::string(1, c);
    return out;
  };
  std::string list, cases;
  for (const Command &command : commands()) {
    list += cat("    ", shell_quoted(cat(command.name, ":", escaped(command.summary))), "\n");
    std::string specs;
    for (const Option *option : command.options) {
      const std::vector<std::string> choices = choices_of(*option);
      std::string value;
      if (!option->value.empty())
        value = cat(option->may_lack_value ? "::" : ":", escaped(option->value), ":",
                    !choices.empty()   ? cat("(", join(choices, " "), ")")
                    : is_file(*option) ? "_files"
                                       : "");
      const auto add = [&](const std::string &name, std::string_view sign) {
        specs +=
            cat(" \\\n        ",
                shell_quoted(cat(option->repeatable ? "*" : "", name, sign, "[", escaped(option->help), "]", value)));
      };
      add(cat("--", option->name), option->value.empty() ? "" : option->may_lack_value ? "=-" : "=");
      if (option->letter) add(cat("-", std::string(1, option->letter)), option->value.empty() ? "" : "+");
    }
    const std::vector<std::string> choices = choices_of(command);
    if (!choices.empty()) specs += cat(" \\\n        ", shell_quoted(cat("1::word:(", join(choices, " "), ")")));
    if (command.most_words > (choices.empty() ? 0u : 1u)) specs += cat(" \\\n        ", shell_quoted("*:file:_files"));
    cases += cat("      ", command.name, ")\n        _arguments -s", specs, " ;;\n");
  }
  return cat(R"(#compdef opdyno
# Completion of opdyno for zsh. Made of its table of commands.
_opdyno() {
  local -a list
  list=(
)",
             list, R"(    'help:show how a command is used'
  )
  if ((CURRENT == 2)); then
    _describe command list
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
      help) _describe command list ;;
)",
             cases, R"(  esac
}
_opdyno "$@"
)");
}

std::string fish_completion() {
  std::string text =
      "# Completion of opdyno for fish. Made of its table of commands.\ncomplete -c opdyno -n __fish_use_subcommand "
      "-f\n";
  for (const Command &command : commands()) {
    text += cat("complete -c opdyno -n __fish_use_subcommand -a ", command.name, " -d ", fish_quoted(command.summary),
                "\n");
    const std::string condition = cat("complete -c opdyno -n '__fish_seen_subcommand_from ", command.name, "'");
    for (const Option *option : command.options) {
      text += cat(condition, " -l ", option->name);
      if (option->letter) text += cat(" -s ", std::string(1, option->letter));
      const std::vector<std::string> choices = choices_of(*option);
      if (!option->value.empty() && !option->may_lack_value)
        text += is_file(*option) && choices.empty() ? " -r -F" : " -x";
      if (!choices.empty()) text += cat(" -a ", fish_quoted(join(choices, " ")));
      text += cat(" -d ", fish_quoted(option->help), "\n");
    }
    if (const auto choices = choices_of(command); !choices.empty())
      text += cat(condition, " -a ", fish_quoted(join(choices, " ")), "\n");
  }
  return cat(text, "complete -c opdyno -n __fish_use_subcommand -a help -d 'show how a command is used'\n",
             "complete -c opdyno -n '__fish_seen_subcommand_from help' -f -a ", fish_quoted(names_of_commands()), "\n");
}

}  // namespace opd::cli
