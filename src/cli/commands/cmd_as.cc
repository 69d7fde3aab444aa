// `opdyno as`: assembles VM assembly to a VM executable.
#include "cli/commands/command.h"
#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

Exit run_as(const Args &args) {
  const std::string &in = args.words()[0], &out = args.words()[1];
  refuse_overwriting(in, out);
  const std::string text = read_file(in);
  const Executable executable =
      attempt(Exit::refused, in == "-" ? "standard input" : in, [&] { return Executable::assemble(text); });
  write_file(out, executable.save());
  return Exit::ok;
}

}  // namespace opd::cli
