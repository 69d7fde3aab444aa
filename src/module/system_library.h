// Code that is linked into the program, which registered its symbols when the program started, as a module: for places
// without dynamic loading.
#pragma once
#include <string_view>

#include "module/module.h"

namespace opd {

// Keeps `name` as it is; a second address for a name takes the place of the first, with a warning.
void register_system_symbol(const char *name, void *address);

// What was compiled with that prefix, its embedded modules included. The same module each time; it is never destroyed.
Ref<Module> system_library(const std::string &prefix);

}  // namespace opd
