// `opdyno dis`: a VM program as assembly text.
#include "command.h"
#include "file.h"
#include "program.h"

namespace opd::cli {

Exit run_dis(const Args &args) {
  const Executable executable = load_executable(args.words()[0]);
  Buffer text;
  check(opd_executable_disassemble(executable.get(), text.out()), Exit::failed);
  write_file(args.value("output").value_or("-"), bytes_of(text));
  return Exit::ok;
}

}  // namespace opd::cli
