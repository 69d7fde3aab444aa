// `opdyno dis`: a VM program as assembly text, or as Python for TVM.
#include "command.h"
#include "file.h"
#include "program.h"

namespace opd::cli {

Exit run_dis(const Args &args) {
  const Executable executable = load_executable(args.words()[0]);
  Buffer text;
  const auto write = args.has("python") ? opd_executable_to_python : opd_executable_disassemble;
  check(write(executable.get(), text.out()), Exit::failed);
  write_file(args.value("output").value_or("-"), bytes_of(text));
  return Exit::ok;
}

}  // namespace opd::cli
