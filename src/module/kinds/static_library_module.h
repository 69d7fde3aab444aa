// Object code as a module. It cannot be run; an export of the module tree links it.
#pragma once
#include "module/module.h"

namespace opd {

// `names` are the functions that the object file implements; `file` is "" for one that was embedded in a library.
Ref<Module> make_static_library(std::string object, std::vector<std::string> names, std::string file);

// As opd_module_load_static_library(): checks that it is an object file of this machine.
Ref<Module> load_static_library(const std::string &path, std::vector<std::string> names);

}  // namespace opd
