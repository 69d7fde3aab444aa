// `opdyno export`: writes a module and its imports to one file that opdyno and TVM can load.
#include "cli/commands/command.h"
#include "cli/load/program.h"
#include "cli/support/failure.h"

namespace opd::cli {

Exit run_export(const Args &args) {
  const Program program = load_program(args.words()[0], args, Loading::inspect_only);
  const std::vector<std::string> objects = args.all("object");
  std::vector<const char *> addons;
  for (const std::string &object : objects) addons.push_back(object.c_str());
  const std::string c_flags = args.value("c-flags").value_or("");
  auto options = opdyno::defaults(opd_export_options_init);
  options.addons = addons.data();
  options.num_addons = static_cast<int32_t>(addons.size());
  if (!c_flags.empty()) options.c_flags = c_flags.c_str();
  attempt(Exit::refused, "", [&] { program.root.export_to(args.words()[1], &options); });
  return Exit::ok;
}

}  // namespace opd::cli
