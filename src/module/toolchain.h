// The C compiler that options or the environment name, which is also the linker.
#pragma once
#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

#include "module/build_directory.h"
#include "module/child_process.h"
#include "module/content_hash.h"

namespace opd {

class Toolchain {
 public:
  // `compiler` and `flags` as in opd_module_options; "" means the usual ones. All that run() starts must end within
  // `timeout` from now; 0 means any time.
  Toolchain(const std::string &compiler, const std::string &flags, std::chrono::milliseconds timeout = {});

  const std::string &name() const { return compiler_[0]; }
  std::vector<std::string> command(std::initializer_list<std::string> more) const;  // compiler, flags, then these
  void add_libraries(std::vector<std::string> &command) const;  // what names libraries must follow what needs them
  // Runs a command(). Throws OPD_NOT_FOUND if there is no such compiler, OPD_DEADLINE_EXCEEDED after the timeout.
  ProcessResult run(const std::vector<std::string> &command, const BuildDirectory &build) const;

  // Adds all that decides about what it makes, but for the sources: compiler, flags, environment, and the content of
  // every file that the flags name. False if the flags may lead to files that this does not know: what is made with
  // them must not be kept for later.
  bool add_to(ContentHash &hash, const BuildDirectory &build) const;

 private:
  std::string identity(const BuildDirectory &build) const;
  bool add_library(ContentHash &hash, const std::string &name, const BuildDirectory &build) const;
  std::vector<std::string> library_directories() const;

  std::vector<std::string> compiler_, flags_, libraries_;
  Deadline deadline_;
};

// Whether the text, which the preprocessor wrote, may have the assembler read further files (.incbin, .include).
bool may_read_files(std::string_view preprocessed);

// A tool's messages as an error or a warning shows them: cut where they get long.
std::string shown_output(const std::string &output);

// What C sources that TVM generated include. Gives the flags that let a compiler find it, after everything else.
std::vector<std::string> write_tvm_headers(const BuildDirectory &build);

}  // namespace opd
