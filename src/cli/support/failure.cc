// Converts the library's errors to the program's exceptions.
#include "cli/support/failure.h"

#include <cerrno>
#include <cstring>

#include "cli/support/text.h"

namespace opd::cli {

namespace {

std::string kept_hint;

}  // namespace

void set_hint(std::string hint) { kept_hint = std::move(hint); }

std::string message_of(const opdyno::Error &error, std::string_view subject) {
  std::string text = error.message();
  for (auto cause = error.cause(); cause; cause = cause->cause())
    if (text.find(cause->message()) == std::string::npos)
      text += cat("\n  caused by: ", cause->message());  // most messages quote their cause
  if (const std::string frames = error.backtrace(); !frames.empty()) text += cat("\n", frames);
  const bool is_named = text.find(subject) != std::string::npos;  // an empty subject counts as named
  return is_named ? text : cat(subject, ": ", text);
}

std::string next_step(opd_code code) {
  if (code == OPD_OK) return "";
  return cat(code == OPD_CALL_FAILED ? kept_hint : "", "Try 'opdyno explain ", opdyno::code_name(code), "'.\n");
}

std::string next_step(const Failure &failure) {
  return failure.next().empty() ? next_step(failure.library_code())
                                : cat("Try 'opdyno ", printable(failure.next()), "'.\n");
}

bool is_of_circumstances(const opdyno::Error &error) {
  return error.kind() == "ConnectionError" || error.code() == OPD_DEADLINE_EXCEEDED;
}

void fail_usage(std::string message) { throw Failure(Exit::usage, std::move(message)); }

void fail_errno(std::string_view action, std::string_view path, int error_number) {
  throw Failure(Exit::failed, cat("cannot ", action, " ", path, ": ", std::strerror(error_number)),
                error_number == ENOENT ? OPD_NOT_FOUND : OPD_IO);
}

}  // namespace opd::cli
