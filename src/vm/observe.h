// Observes the calls of compiled functions: records them, publishes the name of the current one, and refuses the next
// one if the run must stop. Kernels are observed by hooks in their library's slots, all other functions in
// TVMFFIFunctionCall. Both happen only while the run is attentive (Run::observe_calls).
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
  // No other function may have the address of `callee` while this lives. `name` is called once, when the function is
  // first seen.
  NameId id_of(const void *callee, const std::function<std::string()> &name);

 private:
  ForkMutex guard_{LockRank::kOperatorNames};
  std::unordered_map<const void *, NameId> ids_;
};

// A call from compiled code through TVMFFIFunctionCall.
int observe_call(Run &run, Function &function, const View *args, int32_t num_args, View *result) noexcept;

// A call that a builtin makes of a kernel that the program gave it. Recorded as a call within the builtin's own, also
// in bytecode. Neither shown to the instrument nor published.
void call_inner_kernel(Function &kernel, Args args);

// The function that hooks of kernels call (module/image/call_hooks.h).
int observe_kernel(const HookedCall &call, void *self, const View *args, int32_t num_args, View *result);

}  // namespace opd
