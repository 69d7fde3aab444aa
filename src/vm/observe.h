// Observes the calls of compiled functions: records them, publishes the current one's name, and refuses the next one if
// the run must stop. Hooks in their library's slots observe kernels, and TVMFFIFunctionCall observes all other
// functions. Both do so only while the run is attentive (Run::observe_calls).
#pragma once
#include <functional>
#include <span>
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

// Calls a kernel that the program gave to a builtin. The call is recorded within the builtin's own call, even in
// bytecode. It is neither shown to the instrument nor published.
void call_inner_kernel(Function &kernel, Args args);

// ---- showing a call to the VM's instrument, as TVM does: f(function, name, before, result, arguments …)

// `shown` are the instrument's arguments: kInstrumentHead values, of which the first two name the called function, then
// the call's arguments. Both functions throw the instrument's error.
bool instrument_before(Run &run, std::span<View> shown);  // false if the call must be skipped
void instrument_after(Run &run, std::span<View> shown, const View &result);

// The function that hooks of kernels call (module/image/call_hooks.h).
int observe_kernel(const HookedCall &call, void *self, const View *args, int32_t num_args, View *result);

// ---- compiled.cc: functions of programs that TVM compiled to machine code (exec_mode="compiled"). The code accesses
// lists of values with the AnyList functions, and calls everything but kernels through TVMFFIFunctionCall. tvmffi/
// forwards both to this file.

// Runs function `index`, whose body is machine code. `args` are already checked. The result is owned. Throws.
View run_compiled(Run &run, uint32_t index, Args args);

// TVMFFIFunctionCall for all callers, with or without a run.
inline int call_packed(Function &function, const View *args, int32_t num_args, View *result) {
  Run *run = Run::of_thread();
  if (run && run->attentive.load(std::memory_order_relaxed)) [[unlikely]]
    return observe_call(*run, function, args, num_args, result);
  return function.safe_call(&function, args, num_args, result);
}

// Ends a list's reference to an overwritten value. `run`: the run that uses the list, or null.
inline void drop_from_list(Run *run, const View &old) {
  if (!is_object(old)) return;
  if (run) [[likely]]
    run->pool.drop(object_of(old));
  else release(object_of(old));
}

// Throws unless the call goes on. Call it if the run's stop flag is set.
inline void stop_compiled(Run &run, const Program::Func &function) {
  throw_if_stopped(run, concat("in ", function.info->name));
}

}  // namespace opd
