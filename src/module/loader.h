// Loads modules from files and bytes, and exports them. The first bytes determine the format, else the suffix of the
// name does.
#pragma once
#include <string>
#include <vector>

#include "base/bytes.h"
#include "module/module.h"

namespace opd {

Ref<Module> load_module(const std::string &path, const ModuleOptions &options);
Ref<Module> load_module_bytes(Bytes bytes, const std::string &name, const ModuleOptions &options);
// Implements opd_module_load_static_library(). Checks that the file is an object file for this machine. `names`: the
// functions in it.
Ref<Module> load_static_library(const std::string &path, std::vector<std::string> names);

struct ExportOptions {  // opd_export_options with defaults filled in
  std::string compiler, c_flags, workspace;
  std::vector<std::string> addons;
};

void export_module(Module &root, const std::string &path, const ExportOptions &options);

}  // namespace opd
