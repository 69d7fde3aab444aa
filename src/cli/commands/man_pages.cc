// Man pages, in the macros of man(7), for groff and mandoc.
#include "cli/commands/error_pages.h"
#include "cli/commands/generated.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// Escapes text for roff: lines may break at hyphens, a dot or quote at a line's begin is a request, and letters beyond
// ASCII need their code points.
std::string roff(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (out.empty() && (byte == '.' || byte == '\'')) out += "\\&";
    if (byte == '\\') out += "\\e";
    else if (byte == '-') out += "\\-";
    else if (byte == '\'') out += "\\(aq";
    else if (byte == '`') out += "\\(ga";
    else if (byte == '^') out += "\\(ha";
    else if (byte == '~') out += "\\(ti";
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
  if (option.letter) text += cat("\\fB\\-", std::string(1, option.letter), "\\fR, ");
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

}  // namespace

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
    names += cat(names.empty() ? "" : ",\n", ".BR opdyno\\-", roff(command.name), " (1)");
  for (size_t at = 0; (at = names.find(",\n", at)) != names.npos; at += 3) names.replace(at, 2, " ,\n");
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

void write_generated(const std::string &directory) {
  write_file(directory + "/opdyno.1", man_page());
  for (const Command &command : commands())
    write_file(cat(directory, "/opdyno-", command.name, ".1"), man_page(command));
  write_file(directory + "/opdyno.bash", bash_completion());
  write_file(directory + "/_opdyno", zsh_completion());
  write_file(directory + "/opdyno.fish", fish_completion());
}

}  // namespace opd::cli
