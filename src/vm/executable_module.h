// A VM program as a module, so that kernels can be its imports.
#pragma once
#include "module/module.h"
#include "program/executable.h"

namespace opd {

Ref<Module> make_executable_module(Ref<Executable> executable, std::string file);
Ref<Executable> executable_of(Module &module);  // throws unless its kind is relax.VMExecutable

// Lets libraries and files with embedded programs be loaded. Idempotent.
void register_executable_format();

}  // namespace opd
