// Runs a program without a shell and waits for it. The program gets the environment, default signal handling and no
// input.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace opd {

struct ProcessResult {
  bool succeeded;
  std::string output;  // standard output and standard error
};

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// `arguments[0]` is looked up in $PATH; throws OPD_NOT_FOUND if it is not there. The output is written to file `log`
// first.
// At the deadline the program and all that it started are killed: OPD_DEADLINE_EXCEEDED.
ProcessResult run_program(const std::vector<std::string> &arguments, const std::string &log, const Deadline &deadline);

}  // namespace opd
