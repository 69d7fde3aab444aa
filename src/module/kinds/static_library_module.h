// Object code as a module. It cannot run; an export of the module tree links it.
#pragma once
#include "module/module.h"

namespace opd {

// `names`: the functions in the object file. `file`: "" for object code that is embedded in a library.
Ref<Module> make_static_library(std::string object, std::vector<std::string> names, std::string file);

// Implements opd_module_load_static_library(). Checks that the file is an object file for this machine.
Ref<Module> load_static_library(const std::string &path, std::vector<std::string> names);

}  // namespace opd
