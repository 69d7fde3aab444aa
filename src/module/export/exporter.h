// Exports a module tree as one file that opdyno and TVM can load: a shared library, or an archive of objects that is
// linked later.
#pragma once
#include <string>
#include <vector>

#include "module/module.h"

namespace opd {

struct ExportOptions {  // opd_export_options with defaults filled in
  std::string compiler, c_flags, workspace;
  std::vector<std::string> addons;
};

void export_module(Module &root, const std::string &path, const ExportOptions &options);

}  // namespace opd
