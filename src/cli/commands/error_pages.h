// The pages of `opdyno explain`, read from the text of docs/errors.md: the meaning of an error code, an example, the
// next step.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/support/face.h"

namespace opd::cli {

struct ErrorPage {
  opd_code code;
  std::string_view meaning;  // paragraphs; the first sentence is a summary
  std::string_view program;  // C; "" if the example needs none
  std::string_view session;  // a shell's session: "$ " begins a command; "…" stands for any output
  std::string_view next;
};

struct ExitCode {
  std::string_view code, meaning;
};
const std::vector<ExitCode> &exit_codes();

const std::vector<ErrorPage> &error_pages();  // in the order of the codes
std::vector<std::string> explained_names();   // arguments of explain: names of codes, and exit-codes
std::string exit_codes_text();                // one line per code

}  // namespace opd::cli
