// A module with machine code that calls functions of other modules.
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
  // `called`: the module's name in messages, after "the library".
  explicit CodeModule(std::string called) : called_(std::move(called)) {}

  // Finds a function for the module's own code, in an imported module or else in the registry. The module then keeps
  // it. Throws if there is none.
  Function *look_up(std::string_view name);
  std::string looked_up_name(const Function &function);  // name of a result of look_up(); "" for other functions
  // Hooks into the calls that its code makes to its own functions. Null if these calls are unknown.
  virtual CallHooks *call_hooks() { return nullptr; }
  // Known functions that its code calls by name and does not contain itself.
  virtual std::vector<std::string_view> called_functions() const { return {}; }

 protected:
  void *context() { return static_cast<Object *>(this); }  // address by which its code refers to it

 private:
  std::string called_;
  ForkMutex looked_up_guard_{LockRank::kLookedUp};
  std::map<std::string, Ref<Function>, std::less<>> looked_up_;
};

// The module for an address that was written to a library's slot, and that its code passes back. Throws for any other
// address.
CodeModule &code_of_context(void *context);

}  // namespace opd
