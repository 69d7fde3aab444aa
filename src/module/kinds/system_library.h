// A module of code that is linked into the program and that registered its symbols at start. It serves systems without
// dynamic loading.
#pragma once

#include "module/module.h"

namespace opd {

// Stores a symbol under its full name. A second address for a name replaces the first, with a warning.
void register_system_symbol(const char *name, void *address);

// The module for code with this prefix, with its embedded modules. Returns the same module each time. It is never
// destroyed.
Ref<Module> system_library(const std::string &prefix);

}  // namespace opd
