// A module with machine code, which calls back for functions of other modules.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork_mutex.h"
#include "module/call_hooks.h"
#include "module/module.h"

namespace opd {

class CodeModule : public Module {
 public:
  // `called` names it in messages: "the library" goes before.
  explicit CodeModule(std::string called) : called_(std::move(called)) {}

  // For the module's own code: a function of an imported module or of the registry, which the module then keeps.
  // Throws.
  Function *look_up(std::string_view name);
  std::string looked_up_name(const Function &function);  // of a function it gave; "" for others
  // Through which its code calls its own functions; null if nothing is known of that.
  virtual CallHooks *call_hooks() { return nullptr; }
  // The builtins of VM programs that its code calls by name; none if that cannot be told.
  virtual std::vector<std::string_view> called_builtins() const { return {}; }

 protected:
  void *context() { return static_cast<Object *>(this); }  // by which its code names it

 private:
  std::string called_;
  ForkMutex looked_up_guard_{LockRank::kLookedUp};
  std::map<std::string, Ref<Function>, std::less<>> looked_up_;
};

// The module that machine code calls back with, as it was written to its slot; throws for anything else.
CodeModule &code_of_context(void *context);

// What follows the prefix of functions where a name is for loaders or describes another function: not offered to call.
inline bool is_special_name(std::string_view name) {
  return name.starts_with("_metadata_") || name.starts_with("_doc_") || name.starts_with("_library_");
}

}  // namespace opd
