// `opdyno dis`: a VM program as assembly text, or as Python for TVM.
#include "cli/commands/command.h"
#include "cli/load/program.h"
#include "cli/support/file.h"

namespace opd::cli {

Exit run_dis(const Args &args) {
  const std::string output = args.value("output").value_or("-");
  refuse_overwriting(args.words()[0], output);
  const Executable executable = load_executable(args.words()[0]);
  const opd_executable_format format = args.has("python") ? OPD_EXECUTABLE_PYTHON : OPD_EXECUTABLE_ASSEMBLY;
  write_file(output, executable.write(format));
  return Exit::ok;
}

}  // namespace opd::cli
