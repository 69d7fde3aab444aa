#include "module/kinds/code_module.h"

namespace opd {

Function *CodeModule::look_up(std::string_view name) {
  {
    std::scoped_lock lock(looked_up_guard_);
    if (const auto found = looked_up_.find(name); found != looked_up_.end()) return found->second.get();
  }
  Ref<Function> function;
  for (const auto &module : imports())
    if (!function) function = module->find_with_imports(name);
  if (!function) function = find_function(name);
  if (!function)
    fail_as("RuntimeError", OPD_NOT_FOUND, "the library ", called_, " calls the function \"", name,
            "\", which neither its imported modules nor the global registry have.", suggestion(name, function_names()));
  std::scoped_lock lock(looked_up_guard_);  // of two threads, the first one wins: its function is in use
  return looked_up_.try_emplace(std::string(name), std::move(function)).first->second.get();
}

std::string CodeModule::looked_up_name(const Function &function) {
  std::scoped_lock lock(looked_up_guard_);
  for (const auto &[name, known] : looked_up_)
    if (known.get() == &function) return name;
  return {};
}

CodeModule &code_of_context(void *context) {
  auto *object = static_cast<Object *>(context);
  require(object && object->type_index == OPD_MODULE,
          "a library's context is not a module; was the library loaded by something else too?");
  auto *code = dynamic_cast<CodeModule *>(static_cast<Module *>(object));
  require(code, "a library's context is a module of another kind");
  return *code;
}

}  // namespace opd
