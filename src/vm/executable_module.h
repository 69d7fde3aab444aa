// A VM program as a module that can import kernels.
#pragma once
#include "module/module.h"
#include "program/executable.h"

namespace opd {

Ref<Module> make_executable_module(Ref<Executable> executable, std::string file);
Ref<Executable> executable_of(Module &module);  // throws unless the module's kind is relax.VMExecutable
// For users' handles of a program: a module that is made from one imports what the program's module imported.
Ref<Executable> executable_with_imports(Module &module);
Ref<Module> module_with_imports(Ref<Executable> executable);

// Makes libraries and files with embedded programs loadable. Idempotent.
void register_executable_format();

}  // namespace opd
