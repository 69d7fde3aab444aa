// The C compiler that options or the environment name, which is also the linker.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "module/build_folder.h"
#include "module/child_process.h"
#include "module/content_hash.h"

namespace opd {

class Toolchain {
 public:
  // `compiler` and `flags` as in opd_module_options; "" means the usual ones.
  Toolchain(const std::string &compiler, const std::string &flags);

  const std::string &name() const { return compiler_[0]; }
  const std::vector<std::string> &flags() const { return flags_; }
  std::vector<std::string> command(std::initializer_list<std::string> more) const;  // compiler, flags, then these
  void add_libraries(std::vector<std::string> &command) const;  // what names libraries must follow what needs them
  // All of it that decides about what it makes. Throws OPD_NOT_FOUND if there is no such compiler.
  void add_to(ContentHash &hash, const BuildFolder &build) const;

 private:
  std::vector<std::string> compiler_, flags_, libraries_;
};

// Runs a command() of a toolchain; throws OPD_NOT_FOUND if there is no such compiler.
ProcessResult run_compiler(const std::vector<std::string> &command, const BuildFolder &build);

// A tool's messages as an error or a warning shows them: cut where they get long.
std::string shown_output(const std::string &output);

// What C sources that TVM generated include. Gives the flags that let a compiler find it, after everything else.
std::vector<std::string> write_tvm_headers(const BuildFolder &build);

}  // namespace opd
