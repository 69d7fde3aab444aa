// `opdyno explain`: the page of an error code.
#include <algorithm>

#include "cli/commands/command.h"
#include "cli/commands/error_pages.h"
#include "cli/support/file.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// The full name of a code: "OPD_NOT_FOUND" for "not-found" and "2".
std::string full_name(std::string_view word) {
  if (const auto number = read_int(word))
    for (const ErrorPage &page : error_pages())
      if (page.code == *number) return opdyno::code_name(page.code);
  std::string name;
  for (const char c : word)
    name += c == '-' || c == ' ' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name.starts_with("OPD_") ? name : "OPD_" + name;
}

std::string indented(std::string_view text) {
  std::string out;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    out += cat(end == begin ? "" : "  ", text.substr(begin, end - begin), "\n");
  }
  return out;
}

// Lines of the example are not broken, so that users can copy them.
std::string page_text(const ErrorPage &page, size_t width) {
  std::string text = cat(opdyno::code_name(page.code), " (", static_cast<int>(page.code), ")\n\n",
                         wrapped(page.meaning, 0, width), "\n\nExample:\n");
  if (!page.program.empty()) text += indented(page.program) + "\n";
  text += cat(indented(page.session), "\nNext step:\n  ", wrapped(page.next, 2, width), "\n");
  std::erase(text, '`');  // Markdown's marks of code
  return text;
}

std::string overview(size_t width) {
  std::string text = "Error codes:\n";
  for (const ErrorPage &page : error_pages()) {
    const std::string_view first = page.meaning.substr(0, page.meaning.find(". "));
    text += cat("  ", pad_left(cat(static_cast<int>(page.code)), 2), "  ", pad_right(opdyno::code_name(page.code), 25),
                wrapped(first.substr(0, first.find_last_not_of('.') + 1), 31, width), "\n");
  }
  return cat(text, "\nExit codes of the program:\n", exit_codes_text());
}

}  // namespace

Exit run_explain(const Args &args) {
  const Screen screen = output_screen();
  const size_t width = screen.is_terminal ? static_cast<size_t>(std::clamp(screen.width, 40, 100)) : 100;
  if (args.words().empty()) {
    print(overview(width));
    return Exit::ok;
  }
  const std::string &word = args.words()[0], name = full_name(word);
  if (name == "OPD_EXIT_CODES" || name == "OPD_EXIT_CODE") {
    print("Exit codes of the program:\n" + exit_codes_text());
    return Exit::ok;
  }
  for (const ErrorPage &page : error_pages())
    if (name == opdyno::code_name(page.code)) {
      print(page_text(page, width));
      return Exit::ok;
    }
  const std::string meant = read_int(word) ? "" : suggest(name, explained_names());
  fail_usage(cat("there is no error code '", word, "'.", meant, " There are ", join(explained_names(), ", ")));
}

}  // namespace opd::cli
