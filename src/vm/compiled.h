// Functions of programs that TVM compiled to machine code (exec_mode="compiled"). The code accesses lists of values
// with the AnyList functions, and calls everything but kernels through TVMFFIFunctionCall. tvmffi/ forwards both to
// this file.
#pragma once
#include "vm/observe.h"

namespace opd {

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
void stop_compiled(Run &run, const Program::Func &function);

}  // namespace opd
