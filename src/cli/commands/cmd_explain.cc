// `opdyno explain`: the page of an error code, read from the text of docs/errors.md. tests/docs/errors_test.py reads
// that text independently, compares the pages, and executes the examples.
#include <algorithm>

#include "cli/commands/command.h"
#include "cli/commands/error_text.h"
#include "cli/support/file.h"
#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

struct ErrorPage {
  opd_code code;
  std::string_view meaning;  // paragraphs; the first sentence is a summary
  std::string_view program;  // C; "" if the example needs none
  std::string_view session;  // a shell's session: "$ " begins a command; "…" stands for any output
  std::string_view next;
};

// Takes the text between `begin` and `end` from the front of `rest`; "" if `rest` does not start with `begin`.
std::string_view take(std::string_view &rest, std::string_view begin, std::string_view end) {
  if (!rest.starts_with(begin)) return "";
  rest.remove_prefix(begin.size());
  const std::string_view taken = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(taken.size() + end.size(), rest.size()));
  return taken;
}

std::string_view behind(std::string_view mark) { return error_text.substr(error_text.find(mark) + mark.size()); }

std::vector<ExitCode> read_exit_codes() {
  std::vector<ExitCode> codes;
  std::string_view rest = behind("| code | meaning |\n|---|---|\n");
  for (std::string_view code; !(code = take(rest, "| ", " | ")).empty();)
    codes.push_back({code, take(rest, "", " |\n")});
  return codes;
}

std::vector<ErrorPage> read_pages() {
  std::vector<ErrorPage> pages;
  std::string_view rest = behind("\n\n## OPD_OK\n\n");
  do {
    ErrorPage page{};
    page.code = static_cast<opd_code>(pages.size());
    page.meaning = take(rest, "", "\n\n");
    page.program = take(rest, "```c\n", "```\n\n");
    page.session = take(rest, "```console\n", "```\n\n");
    page.next = take(rest, "Next: ", "\n");
    pages.push_back(page);
  } while (!take(rest, "\n## ", "\n\n").empty());
  return pages;
}

const std::vector<ErrorPage> &error_pages() {
  static const std::vector<ErrorPage> pages = read_pages();
  return pages;
}

std::string exit_codes_text() {
  std::string text;
  for (const auto &[code, meaning] : exit_codes()) text += cat("  ", code, "  ", wrapped(meaning, 5, 100), "\n");
  return text;
}

// Returns the full name of a code: "OPD_NOT_FOUND" for "not-found" and "2".
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

std::string explanation_of(const std::string &word, size_t width) {
  const std::string name = full_name(word);
  if (name == "OPD_EXIT_CODES" || name == "OPD_EXIT_CODE") return "Exit codes of the program:\n" + exit_codes_text();
  for (const ErrorPage &page : error_pages())
    if (name == opdyno::code_name(page.code)) return page_text(page, width);
  const std::string meant = read_int(word) ? "" : suggest(name, explained_names());
  fail_usage(cat("there is no error code '", word, "'.", meant, " There are ", join(explained_names(), ", ")));
}

}  // namespace

const std::vector<ExitCode> &exit_codes() {
  static const std::vector<ExitCode> codes = read_exit_codes();
  return codes;
}

std::vector<std::string> explained_names() {
  auto names = mapped(error_pages(), [](const ErrorPage &page) { return std::string(opdyno::code_name(page.code)); });
  names.emplace_back("exit-codes");
  return names;
}

Exit run_explain(const Args &args) {
  const Screen screen = output_screen();
  const size_t width = screen.is_terminal ? static_cast<size_t>(std::clamp(screen.width, 40, 100)) : 100;
  print(args.words().empty() ? overview(width) : explanation_of(args.words()[0], width));
  return Exit::ok;
}

}  // namespace opd::cli
