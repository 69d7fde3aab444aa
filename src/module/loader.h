// Loads modules from files and bytes. The first bytes determine the format, else the suffix of the name does.
#pragma once
#include <string>

#include "base/bytes.h"
#include "module/module.h"
#include "module/module_options.h"

namespace opd {

Ref<Module> load_module(const std::string &path, const ModuleOptions &options);
Ref<Module> load_module_bytes(Bytes bytes, const std::string &name, const ModuleOptions &options);

}  // namespace opd
