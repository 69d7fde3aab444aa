// Reads the pages of `opdyno explain` from the text of docs/errors.md. tests/docs/errors_test.py reads that text
// independently, compares the pages, and executes the examples.
#include "cli/commands/error_pages.h"

#include "cli/commands/error_text.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

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

}  // namespace

const std::vector<ExitCode> &exit_codes() {
  static const std::vector<ExitCode> codes = read_exit_codes();
  return codes;
}

const std::vector<ErrorPage> &error_pages() {
  static const std::vector<ErrorPage> pages = read_pages();
  return pages;
}

std::vector<std::string> explained_names() {
  std::vector<std::string> names;
  for (const ErrorPage &page : error_pages()) names.emplace_back(opdyno::code_name(page.code));
  names.emplace_back("exit-codes");
  return names;
}

std::string exit_codes_text() {
  std::string text;
  for (const auto &[code, meaning] : exit_codes()) text += cat("  ", code, "  ", wrapped(meaning, 5, 100), "\n");
  return text;
}

}  // namespace opd::cli
