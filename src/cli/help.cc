// What `opdyno help` and `--version` print, out of the table of commands.
#include "command.h"
#include "handle.h"
#include "json.h"
#include "text.h"

namespace opd::cli {

namespace {

constexpr size_t option_column = 30, width = 120;

// `text` in lines of at most `width`, the later ones indented to `column`.
std::string wrapped(std::string_view text, size_t column) {
  std::string out;
  size_t used = column;
  for (const std::string_view word : split(text, ' ')) {
    if (used > column && used + 1 + word.size() > width) {
      out += cat("\n", std::string(column, ' '));
      used = column;
    } else if (used > column) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out;
}

std::string option_line(const Option &option) {
  std::string left = option.letter ? cat("  -", option.letter, ", --", option.name) : cat("      --", option.name);
  if (option.may_lack_value) left += cat("[=", option.value, "]");
  else if (!option.value.empty()) left += cat(" ", option.value);
  const std::string gap = left.size() < option_column ? "" : cat("\n", std::string(option_column, ' '));
  return cat(pad_right(left, option_column), gap, wrapped(option.help, option_column), "\n");
}

}  // namespace

std::string help_text() {
  std::string text =
      "Usage: opdyno COMMAND …\n\nRuns compiled tensor programs and shows where the time goes.\n\nCommands:\n";
  for (const Command &command : commands())
    text += cat("  ", pad_right(cat(command.name, command.words.empty() ? "" : " ", command.words), 18),
                command.summary, "\n");
  text += cat("  ", pad_right("help [COMMAND]", 18), "show how a command is used\n");
  text += "\n'opdyno --version' shows the version and what was built in.\n\n";
  text +=
      "Exit codes: 0 ok, 1 a comparison or check failed, 2 wrong usage, 3 the module was refused, 4 an error while "
      "running.\n";
  return text;
}

std::string help_text(const Command &command) {
  std::string text = cat("Usage: opdyno ", command.name, command.words.empty() ? "" : " ", command.words,
                         " [OPTION]…\n\n", command.summary, "\n");
  text[text.find("\n\n") + 2] -= 'a' - 'A';  // the summary becomes a sentence
  if (!command.details.empty()) text += cat("\n", command.details, "\n");
  text += "\nOptions:\n";
  for (const Option *option : command.options) text += option_line(*option);
  return text;
}

std::string version_text() {
  Buffer info;
  check(opd_build_info(info.out()), Exit::failed);
  const Json json = parse_json(info, "the build");
  std::vector<std::string> on, off;
  const cJSON *feature = nullptr;
  cJSON_ArrayForEach(feature, json_member(json.get(), "features"))(cJSON_IsTrue(feature) ? on : off)
      .emplace_back(feature->string);
  std::string text = cat("opdyno ", opd_version(), "\nbuilt by ", json_string(json.get(), "compiler"), ", ",
                         json_string(json.get(), "build_type"), "\n");
  text += cat("features: ", on.empty() ? "none" : join(on, ", "), "\n");
  if (!off.empty()) text += cat("not built in: ", join(off, ", "), "\n");
  return text;
}

}  // namespace opd::cli
