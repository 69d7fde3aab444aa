// Functions of programs that TVM compiled to machine code (exec_mode="compiled"). The code reads and writes lists of
// values by the AnyList calls, and calls everything but kernels through TVMFFIFunctionCall; tvmffi/ hands both to here.
#pragma once
#include "vm/observe.h"

namespace opd {

size_t function_list_size(const Run &run, const void *list);

// Runs function `index`, whose body is machine code. `args` are checked; the result is owned. Throws.
View run_compiled(Run &run, uint32_t index, Args args);

// TVMFFIFunctionCall, wherever it is called from.
inline int call_packed(Function &function, const View *args, int32_t num_args, View *result) {
  Run *run = Run::of_thread();
  if (run && run->observing) [[unlikely]]
    return observe_call(*run, function, args, num_args, result);
  return function.safe_call(&function, args, num_args, result);
}

// How many items a list has that the running machine code was given; 0 if it was given no such list.
inline size_t list_size(const Run &run, const void *list) {
  const auto &constants = run.program->constants;
  if (list == run.registers.data()) return run.registers.size();
  return list == constants.data() ? constants.size() : function_list_size(run, list);
}

// Ends a list's reference to what it held, and stores another.
inline void store_in_list(View &place, View value) {
  const View old = std::exchange(place, value);
  if (!is_object(old)) return;
  if (RunPool *pool = RunPool::current()) pool->drop(object_of(old));
  else release(object_of(old));
}

// Throws if the run of the calling thread is to stop.
void stop_compiled(const Run &run, StopReason reason);
inline void check_compiled_stop() {
  const Run *run = Run::of_thread();
  if (!run || !run->compiled) return;
  if (const StopReason reason = run->stop.load(std::memory_order_relaxed); reason != StopReason::kNone) [[unlikely]]
    stop_compiled(*run, reason);
}

}  // namespace opd
