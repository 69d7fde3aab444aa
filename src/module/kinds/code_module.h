// A module with machine code, which calls back for functions of other modules.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork_mutex.h"
#include "module/image/call_hooks.h"
#include "module/module.h"

namespace opd {

class CodeModule : public Module {
 public:
  // `called` names the module in messages, after "the library".
  explicit CodeModule(std::string called) : called_(std::move(called)) {}

  // Finds a function for the module's own code: of an imported module, else of the registry. The module then keeps it.
  // Throws if there is none.
  Function *look_up(std::string_view name);
  std::string looked_up_name(const Function &function);  // of a result of look_up(); "" for others
  // Hooks into the calls that its code makes to its own functions; null if these are not known.
  virtual CallHooks *call_hooks() { return nullptr; }
  // The functions that its code calls by name and that it does not have itself, as far as they are known.
  virtual std::vector<std::string_view> called_functions() const { return {}; }

 protected:
  void *context() { return static_cast<Object *>(this); }  // by which its code refers to it

 private:
  std::string called_;
  ForkMutex looked_up_guard_{LockRank::kLookedUp};
  std::map<std::string, Ref<Function>, std::less<>> looked_up_;
};

// The module whose address was written to a library's slot, and which its code passes back; throws for anything else.
CodeModule &code_of_context(void *context);

}  // namespace opd
