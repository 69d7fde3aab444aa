// A VM program as a module that can import kernels.
#pragma once
#include "module/module.h"
#include "program/executable.h"

namespace opd {

Ref<Module> make_executable_module(Ref<Executable> executable, std::string file);
Ref<Executable> executable_of(Module &module);  // throws unless the module's kind is relax.VMExecutable

// Makes libraries and files with embedded programs loadable. Idempotent.
void register_executable_format();

}  // namespace opd
