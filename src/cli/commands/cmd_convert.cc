// `opdyno as`, `dis` and `export`: other forms of a module.
#include "cli/commands/command.h"
#include "cli/load/program.h"
#include "cli/support/file.h"

namespace opd::cli {

// Assembles VM assembly to a VM executable.
Exit run_as(const Args &args) {
  const std::string &in = args.words()[0], &out = args.words()[1];
  refuse_overwriting(in, out);
  const std::string text = read_file(in);
  const Executable executable =
      attempt(Exit::refused, in == "-" ? "standard input" : in, [&] { return Executable::assemble(text); });
  write_file(out, executable.save());
  return Exit::ok;
}

// A VM program as assembly text, or as Python for TVM.
Exit run_dis(const Args &args) {
  const std::string output = args.value("output").value_or("-");
  refuse_overwriting(args.words()[0], output);
  const Executable executable = load_executable(args.words()[0]);
  const opd_executable_format format = args.has("python") ? OPD_EXECUTABLE_PYTHON : OPD_EXECUTABLE_ASSEMBLY;
  write_file(output, executable.write(format));
  return Exit::ok;
}

// Writes a module and its imports to one file that opdyno and TVM can load.
Exit run_export(const Args &args) {
  const Program program = load_program(args.words()[0], args, Loading::inspect_only);
  std::vector<const char *> addons = c_strings(args.all("object"));
  const std::string c_flags = args.value("c-flags").value_or("");
  auto options = opdyno::defaults(opd_export_options_init);
  options.addons = addons.data();
  options.num_addons = static_cast<int32_t>(addons.size());
  if (!c_flags.empty()) options.c_flags = c_flags.c_str();
  attempt(Exit::refused, "", [&] { program.root.export_to(args.words()[1], &options); });
  return Exit::ok;
}

}  // namespace opd::cli
