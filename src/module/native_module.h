// C functions of a shared library as a module: each by its name and its signature.
#pragma once
#include "module/module.h"

namespace opd {

struct NativeEntry {
  std::string name, signature;  // of the C function, and as opd_function_create_native() takes it
};

// Throws OPD_NOT_FOUND for a symbol that the library lacks, OPD_INVALID_ARGUMENT for a signature that cannot be read.
Ref<Module> make_native_module(Ref<Module> library, std::vector<NativeEntry> entries);

}  // namespace opd
