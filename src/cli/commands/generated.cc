// Files generated from the table of commands when opdyno is built: man pages and shell completions.
#include <algorithm>

#include "cli/commands/command.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// ---- man pages, in the macros of man(7), for groff and mandoc

// Escapes text for roff: lines may break at hyphens, a dot or quote at a line's begin is a request, and letters beyond
// ASCII need their code points.
std::string roff(std::string_view text) {
  constexpr std::pair<char, std::string_view> special[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                                                           {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (out.empty() && (byte == '.' || byte == '\'')) out += "\\&";
    const auto found = std::ranges::find(special, text[i], [](const auto &one) { return one.first; });
    if (found != std::end(special)) out += found->second;
    else if (byte < 0x80) out += text[i];
    else {  // UTF-8
      const int more = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
      uint32_t code = byte & (0x3F >> more);
      for (int k = 0; k < more && i + 1 < text.size(); ++k)
        code = code << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F);
      constexpr char digits[] = "0123456789ABCDEF";
      std::string number;
      for (; code || number.size() < 4; code >>= 4) number.insert(number.begin(), digits[code & 15]);
      out += cat("\\[u", number, "]");
    }
  }
  return out;
}

std::string title(std::string_view name) {
  std::string upper;
  for (const char c : name) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return cat(".TH ", roff(upper), " 1 \"\" \"opdyno ", opdyno::version(), "\" \"opdyno\"\n");
}

// Formats paragraphs. Indented lines, and the line break before them, are kept.
std::string body(std::string_view text) {
  std::string out;
  bool is_fixed = false;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const bool is_indented = line.starts_with(' ');
    if (is_indented != is_fixed) out += is_indented ? ".RS 2\n.nf\n" : ".fi\n.RE\n";
    is_fixed = is_indented;
    if (line.empty()) out += ".PP\n";
    else out += cat(roff(is_indented ? line.substr(2) : line), "\n");
  }
  return out + (is_fixed ? ".fi\n.RE\n" : "");
}

std::string option_text(const Option &option) {
  std::string text = ".TP\n";
  if (option.letter) text += cat("\\fB\\-", option.letter, "\\fR, ");
  text += cat("\\fB\\-\\-", roff(option.name), "\\fR");
  if (option.may_lack_value) text += cat("[=\\fI", roff(option.value), "\\fR]");
  else if (!option.value.empty()) text += cat(" \\fI", roff(option.value), "\\fR");
  return cat(text, "\n", roff(option.help), option.repeatable ? " (may be repeated)" : "", "\n");
}

std::string exit_status() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCode &code : exit_codes()) text += cat(".TP\n\\fB", code.code, "\\fR\n", roff(code.meaning), "\n");
  return text;
}

std::string man_page() {
  std::string text =
      cat(title("opdyno"), ".SH NAME\nopdyno \\- runs compiled tensor programs and shows where the time goes\n",
          ".SH SYNOPSIS\n\\fBopdyno\\fR \\fICOMMAND\\fR \\[u2026]\n.SH COMMANDS\n");
  for (const Command &command : commands())
    text += cat(".TP\n\\fBopdyno\\-", roff(command.name), "\\fR(1)\n", roff(command.summary), "\n");
  text += cat(".TP\n\\fBopdyno help\\fR [\\fICOMMAND\\fR]\nshow how a command is used\n",
              ".TP\n\\fBopdyno \\-\\-version\\fR\nshow the version and what was built in\n", exit_status(),
              ".SH SEE ALSO\n");
  std::string names;
  for (const Command &command : commands())
    names += cat(names.empty() ? "" : " ,\n", ".BR opdyno\\-", roff(command.name), " (1)");
  return text + names + "\n";
}

std::string man_page(const Command &command) {
  std::string text = cat(title(cat("opdyno-", command.name)), ".SH NAME\nopdyno\\-", roff(command.name), " \\- ",
                         roff(command.summary), "\n.SH SYNOPSIS\n\\fBopdyno ", roff(command.name), "\\fR");
  if (!command.words.empty()) text += cat(" \\fI", roff(command.words), "\\fR");
  text += " [\\fIOPTION\\fR]\\[u2026]\n";
  if (!command.details.empty()) text += ".SH DESCRIPTION\n" + body(command.details);
  text += ".SH OPTIONS\n";
  for (const Option *option : command.options) text += option_text(*option);
  text += ".SH EXAMPLES\n";
  for (const Example &example : examples_of(command.name))
    text += cat(".TP\n\\fB", roff(example.line), "\\fR\n", example.what.empty() ? "\\&" : roff(example.what), "\n");
  return cat(text, exit_status(), ".SH SEE ALSO\n.BR opdyno (1)\n");
}

// ---- completions for bash, zsh and fish
//
// They complete commands, their options, and options that take a value. Other words complete to files, unless the table
// has choices.

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
  return mapped(split(list, ','), [](std::string_view form) { return std::string(trim(form)); });
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

// By default, bash breaks words at "=", so `--name=value` arrives as three words.
std::string bash_completion() {
  std::string options, values, files, words;
  for (const Command &command : commands()) {
    std::string names;
    for (const Option *option : command.options) {
      names += cat(names.empty() ? "" : " ", "--", option->name);
      if (option->letter) names += cat(" -", option->letter);
      if (option->value.empty() || option->may_lack_value) continue;
      const std::string pattern =
          option->letter ? cat("--", option->name, "|", command.name, ":-", option->letter) : cat("--", option->name);
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
      if (option->letter) add(cat("-", option->letter), option->value.empty() ? "" : "+");
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
      if (option->letter) text += cat(" -s ", option->letter);
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

}  // namespace

void write_generated(const std::string &directory) {
  write_file(directory + "/opdyno.1", man_page());
  for (const Command &command : commands())
    write_file(cat(directory, "/opdyno-", command.name, ".1"), man_page(command));
  write_file(directory + "/opdyno.bash", bash_completion());
  write_file(directory + "/_opdyno", zsh_completion());
  write_file(directory + "/opdyno.fish", fish_completion());
}

}  // namespace opd::cli
