// A module of code that is linked into the program and registered its symbols at start: for systems without dynamic
// loading.
#pragma once
#include <string_view>

#include "module/module.h"

namespace opd {

// Stores a symbol by its full name. A second address for a name replaces the first, with a warning.
void register_system_symbol(const char *name, void *address);

// The code compiled with that prefix, with its embedded modules. The same module each time; it is never destroyed.
Ref<Module> system_library(const std::string &prefix);

}  // namespace opd
