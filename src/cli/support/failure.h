// The program's five exit codes, and the exception that carries one to main().
#pragma once
#include <exception>
#include <string>
#include <string_view>

#include "cli/support/face.h"

namespace opd::cli {

enum class Exit {
  ok = 0,
  mismatch = 1,  // an expectation, comparison or check failed
  usage = 2,     // the command line is invalid, alone or for this module
  refused = 3,   // the module cannot be loaded
  failed = 4,    // all later errors: of a call, or of reading or writing a file
};

class Failure : public std::exception {
 public:
  Failure(Exit code, std::string message, opd_code library_code = OPD_OK, std::string next = {})
      : code_(code), message_(std::move(message)), library_code_(library_code), next_(std::move(next)) {}
  const char *what() const noexcept override { return message_.c_str(); }
  Exit code() const { return code_; }
  opd_code library_code() const { return library_code_; }  // code of the library's error; OPD_OK if there is none
  // The command that explains more than the code, such as "doctor"; else "".
  const std::string &next() const { return next_; }

 private:
  Exit code_;
  std::string message_;
  opd_code library_code_;
  std::string next_;
};

// The message of a library's error with its causes, as "subject: message" unless the message contains the subject.
std::string message_of(const opdyno::Error &error, std::string_view subject = {});

// The line that names a command to explain an error: the one of `failure`, else `explain` with the library's code. ""
// if there is none.
std::string next_step(const Failure &failure);
std::string next_step(opd_code code);

// Sets a line with a possible cause of a later failure. next_step() puts it before its own line.
void set_hint(std::string hint);

// Returns true if neither the command line nor the module caused the error: the connection to another machine ended, or
// the time was over.
bool is_of_circumstances(const opdyno::Error &error);

// Returns the result of `action`. A library error in it ends the program with `code`; elsewhere with Exit::failed.
template <class Action>
auto attempt(Exit code, std::string_view subject, Action action) {
  try {
    return action();
  } catch (const opdyno::Error &error) {
    throw Failure(is_of_circumstances(error) ? Exit::failed : code, message_of(error, subject), error.code());
  }
}

[[noreturn]] void fail_usage(std::string message);
[[noreturn]] void fail_errno(std::string_view action, std::string_view path, int error_number);

}  // namespace opd::cli
