// From the library's errors to exceptions of the program.
#include "failure.h"

#include <cstring>
#include <memory>

#include "text.h"

namespace opd::cli {

namespace {

std::string describe(const opd_error *error) {
  std::string text = opd_error_message(error);
  for (const opd_error *cause = opd_error_cause(error); cause; cause = opd_error_cause(cause)) {
    const std::string_view message = opd_error_message(cause);
    if (text.find(message) == std::string::npos)
      text += cat("\n  caused by: ", message);  // most messages quote their cause
  }
  const std::string_view frames = opd_error_backtrace(error);
  if (!frames.empty()) text += cat("\n", frames);
  return text;
}

}  // namespace

void check(opd_error *error, Exit code, std::string_view subject) {
  if (!error) return;
  const std::unique_ptr<opd_error, decltype(&opd_error_release)> owned(error, opd_error_release);
  const std::string text = describe(error);
  const bool is_named = text.find(subject) != std::string::npos;  // "" always is
  throw Failure(code, is_named ? text : cat(subject, ": ", text), opd_error_code(error));
}

void fail_usage(std::string message) { throw Failure(Exit::usage, std::move(message)); }

void fail_errno(std::string_view action, std::string_view path, int error_number) {
  throw Failure(Exit::failed, cat("cannot ", action, " ", path, ": ", std::strerror(error_number)));
}

}  // namespace opd::cli
