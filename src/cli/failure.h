// How the program ends: five exit codes, and the exception that carries one to main().
#pragma once
#include <exception>
#include <string>
#include <string_view>

#include "face.h"

namespace opd::cli {

enum class Exit {
  ok = 0,
  mismatch = 1,  // an expectation, comparison or check failed
  usage = 2,     // the command line does not make sense, alone or for this module
  refused = 3,   // the module cannot be loaded
  failed = 4,    // everything later: a call, a file read or written
};

class Failure : public std::exception {
 public:
  Failure(Exit code, std::string message, opd_code library_code = OPD_OK)
      : code_(code), message_(std::move(message)), library_code_(library_code) {}
  const char *what() const noexcept override { return message_.c_str(); }
  Exit code() const { return code_; }
  opd_code library_code() const { return library_code_; }  // of the library's error; OPD_OK if there was none

 private:
  Exit code_;
  std::string message_;
  opd_code library_code_;
};

// What an error of the library says with its causes, as "subject: message" unless the message names the subject itself.
std::string message_of(const opdyno::Error &error, std::string_view subject = {});

// Gives what `action` gives. An error of the library ends the program with `code`; outside of this it is Exit::failed.
template <class Action>
auto attempt(Exit code, std::string_view subject, Action action) {
  try {
    return action();
  } catch (const opdyno::Error &error) { throw Failure(code, message_of(error, subject), error.code()); }
}

[[noreturn]] void fail_usage(std::string message);
[[noreturn]] void fail_errno(std::string_view action, std::string_view path, int error_number);

}  // namespace opd::cli
