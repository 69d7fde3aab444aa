// The scope of a call: prepares a run of the VM for the call, and ends the call.
#include "trace/record/memory_event.h"
#include "trace/record/recording.h"
#include "vm/vm.h"

namespace opd {
namespace {

constexpr int32_t kMaxNativeDepth = 200;  // Runs and builtins nest on the C stack. Each takes some of it.

// The thread's default token also ends a call with a token of its own, because a signal must end all calls of its
// thread. A nested call inherits the tokens and the earlier deadline of the outer run. If both belong to one VM, it
// also inherits the instrument.
void inherit(Run &run, const Run *outer, const CallSettings &settings) {
  run.native_depth = outer ? outer->native_depth + 1 : 0;
  run.token = settings.cancel;
  run.deadline_ns = 0;
  run.instrument = nullptr;
  run.has_own_instrument = false;
  if (settings.timeout_ns > 0 &&
      __builtin_add_overflow(static_cast<int64_t>(monotonic_ns()), settings.timeout_ns, &run.deadline_ns))
    run.deadline_ns = 0;  // overflow: no deadline
  auto *const of_thread = static_cast<CancelToken *>(thread_state().cancel);
  run.thread_token = run.token && run.token != of_thread ? of_thread : nullptr;
  if (!run.token && outer) run.token = outer->token, run.thread_token = outer->thread_token;
  else if (!run.token) run.token = of_thread;
  if (!outer) return;
  if (outer->deadline_ns && (!run.deadline_ns || outer->deadline_ns < run.deadline_ns))
    run.deadline_ns = outer->deadline_ns;
  if (outer->vm != run.vm) return;
  if (!outer->showing) run.instrument = outer->instrument, run.has_own_instrument = outer->has_own_instrument;
}

}  // namespace

Run *CallScope::prepare(uint32_t function, const CallSettings &settings) {
  Run &run = *borrowed_.run;
  const Run *outer = Run::of_thread();
  inherit(run, outer, settings);
  // A call's own instrument replaces the VM's, even for nested calls.
  if (settings.instrument) run.instrument = settings.instrument, run.has_own_instrument = true;
  else if (instrument_ && !(outer && outer->showing) && !run.has_own_instrument) run.instrument = instrument_.get();
  run.recorder.reset();
  const RunRecorder *within = outer && outer->vm == run.vm ? &outer->recorder : nullptr;
  if (is_recording() || (within && within->is_recorded())) [[unlikely]]
    begin_recording(function, within);
  if (run.recorder.listens() || run.instrument) run.observe_calls();
  if (run.native_depth > kMaxNativeDepth)
    fail_as("RecursionError", OPD_OUT_OF_RANGE,
            "functions of programs call each other through foreign functions more than ", kMaxNativeDepth, " deep");
  return &run;
}

void CallScope::begin_recording(uint32_t function, const RunRecorder *outer) {
  Vm &vm = borrowed_.vm;
  Run &run = *borrowed_.run;
  const NameId *const names = vm.function_names();
  recorded_.begin(run.recorder, {&vm, vm.program_name(), function == kNoFunction ? kNoName : names[function]}, outer);
  run.callee_names = vm.callee_names();
  if (is_recording(Interest::kMemory) && run.recorder.listens()) run.record_bindings();
}

CallScope::CallScope(Vm &vm, uint32_t function, const CallSettings &settings)
    : borrowed_{vm, vm.acquire()},
      outer_(thread_state().run_pool),
      outer_lists_(thread_state().lists),
      outer_stop_(thread_state().stop),
      instrument_(vm.state().instrument()),
      cancel_(prepare(function, settings)),
      deadline_(borrowed_.run) {
  Run &run = *borrowed_.run;
  thread_state().run_pool = &run.pool;
  thread_state().lists = {};
  thread_state().stop = run.token || run.deadline_ns ? &run.stop : nullptr;  // parallel regions read it
}

}  // namespace opd
