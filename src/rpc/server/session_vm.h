// The VM that TVM's clients use in another process: a module whose functions have fixed names.
#pragma once
#include <memory>

#include "module/module.h"
#include "rpc/server/work_folder.h"

namespace opd::rpc {

// The function `vm_load_executable` of a module with a program; null if the module has none.
Ref<Function> vm_loader(const Ref<Module> &module, const std::shared_ptr<WorkFolder> &files);

}  // namespace opd::rpc
