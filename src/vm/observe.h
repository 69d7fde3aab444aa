// Observes the calls of compiled functions: records them, publishes the current one's name, and refuses the next one if
// the run must stop. Hooks in their library's slots observe kernels, and TVMFFIFunctionCall observes all other
// functions. Both do so only while the run is attentive (Run::observe_calls).
#pragma once
#include <functional>
#include <unordered_map>

#include "base/fork_mutex.h"
#include "module/image/call_hooks.h"
#include "vm/run.h"

namespace opd {

// The names of the functions that compiled code calls. Thread-safe.
class OperatorNames {
 public:
  // While this object lives, no other function may get the address of `callee`. `name` is called only when the function
  // is first seen.
  NameId id_of(const void *callee, const std::function<std::string()> &name);

 private:
  ForkMutex guard_{LockRank::kOperatorNames};
  std::unordered_map<const void *, NameId> ids_;
};

// A call from compiled code through TVMFFIFunctionCall.
int observe_call(Run &run, Function &function, const View *args, int32_t num_args, View *result) noexcept;

// Calls a kernel that the program gave to a builtin. The call is recorded within the builtin's own call, also in
// bytecode. It is neither shown to the instrument nor published.
void call_inner_kernel(Function &kernel, Args args);

// The function that hooks of kernels call (module/image/call_hooks.h).
int observe_kernel(const HookedCall &call, void *self, const View *args, int32_t num_args, View *result);

}  // namespace opd
