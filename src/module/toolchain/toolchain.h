// The C compiler that options or the environment name. It is also used as the linker.
#pragma once
#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/build_directory.h"
#include "base/content_hash.h"
#include "module/toolchain/child_process.h"

namespace opd {

class Toolchain {
 public:
  // `compiler` and `flags`: as in opd_module_options; "" means the default. Everything that run() starts must end
  // within `timeout` from now; 0 means no limit.
  Toolchain(const std::string &compiler, const std::string &flags, std::chrono::milliseconds timeout = {});

  const std::string &name() const { return compiler_[0]; }
  std::vector<std::string> command(std::initializer_list<std::string> more) const;  // compiler, flags, then `more`
  void add_libraries(std::vector<std::string> &command) const;  // call it after the files that need them
  // Runs a command(). Throws OPD_NOT_FOUND if there is no such compiler, OPD_DEADLINE_EXCEEDED after the timeout.
  ProcessResult run(const std::vector<std::string> &command, const BuildDirectory &build) const;

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
