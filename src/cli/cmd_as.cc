// `opdyno as`: VM assembly to a VM executable.
#include "command.h"
#include "file.h"
#include "handle.h"
#include "text.h"

namespace opd::cli {

Exit run_as(const Args &args) {
  const std::string &in = args.words()[0], &out = args.words()[1];
  const std::string text = read_file(in);
  Executable executable;
  check(opd_executable_assemble(text.data(), text.size(), executable.out()), Exit::refused,
        in == "-" ? "standard input" : in);
  Buffer bytes;
  check(opd_executable_save_bytes(executable.get(), bytes.out()), Exit::failed);
  write_file(out, bytes_of(bytes));
  return Exit::ok;
}

}  // namespace opd::cli
