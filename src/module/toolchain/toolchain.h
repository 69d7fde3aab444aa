// The C compiler that options or the environment name, which is also the linker: runs it, and identifies it for the
// cache of results. Also writes headers for TVM's generated C sources.
#pragma once
#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/cache_directory.h"
#include "base/content_hash.h"

namespace opd {

struct ProcessResult {
  bool succeeded;
  std::string output;  // standard output and standard error
};

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Runs a program without a shell and waits for it. The program gets the environment, default signal handling and no
// input. `arguments[0]` is looked up in $PATH; throws OPD_NOT_FOUND if it is not there. The output is written to file
// `log` first.
// At the deadline the program and all that it started are killed: OPD_DEADLINE_EXCEEDED.
ProcessResult run_program(const std::vector<std::string> &arguments, const std::string &log, const Deadline &deadline);

class Toolchain {
 public:
  // `compiler` and `flags`: as in opd_module_options; "" means the default. Everything that run() starts must end
  // within `timeout` from now; 0 means no limit.
  Toolchain(const std::string &compiler, const std::string &flags, std::chrono::milliseconds timeout = {});

  const std::string &name() const { return compiler_[0]; }
  std::vector<std::string> command(std::initializer_list<std::string> more) const;  // compiler, flags, then `more`
  void add_libraries(std::vector<std::string> &command) const;  // call it after the files that need them
  // Runs a command(). Throws OPD_NOT_FOUND if there is no such compiler, OPD_DEADLINE_EXCEEDED after the timeout.
  ProcessResult run(const std::vector<std::string> &command, const BuildDirectory &build) const {
    try {
      return run_program(command, build.file("log"), deadline_);
    } catch (const Exception &e) {
      if (e.error()->code != OPD_NOT_FOUND) throw;
      fail(OPD_NOT_FOUND, "there is no C compiler \"", command[0], "\"; install one, or set CC or the option compiler");
    }
  }

  // Adds everything except the sources that determines the compiler's output: compiler, flags, environment, and the
  // content of every file that the flags name. Returns false if the flags may lead to other files. The output must then
  // not be cached.
  bool add_to(ContentHash &hash, const BuildDirectory &build) const;

 private:
  std::string identity(const BuildDirectory &build) const;
  bool add_library(ContentHash &hash, const std::string &name, const BuildDirectory &build) const;
  std::vector<std::string> library_directories() const;

  std::vector<std::string> compiler_, flags_, libraries_;
  Deadline deadline_;
};

// A tool's output for an error or a warning. Long output is cut.
std::string shown_output(const std::string &output);

// Writes the headers that TVM's generated C sources include. Returns the flags for a compiler to find them; these come
// after all others.
std::vector<std::string> write_tvm_headers(const BuildDirectory &build);

}  // namespace opd
