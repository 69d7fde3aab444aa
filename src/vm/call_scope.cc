#include "vm/call_scope.h"

namespace opd {
namespace {

constexpr int32_t kMaxNativeDepth = 200;  // runs inside builtins inside runs: each takes some C stack

// A call from within another run inherits the token and the earlier deadline of that run; if both belong to one VM,
// also the recording and the instrument.
void inherit(Run &run, const Run *outer, const CallSettings &settings) {
  run.native_depth = outer ? outer->native_depth + 1 : 0;
  run.token = settings.cancel;
  run.deadline_ns = 0;
  run.records = nullptr;
  run.instrument = nullptr;
  if (settings.timeout_ns > 0 &&
      __builtin_add_overflow(static_cast<int64_t>(monotonic_ns()), settings.timeout_ns, &run.deadline_ns))
    run.deadline_ns = 0;  // overflow: no deadline
  if (!run.token) run.token = outer ? outer->token : static_cast<CancelToken *>(thread_state().cancel);
  if (!outer) return;
  if (outer->deadline_ns && (!run.deadline_ns || outer->deadline_ns < run.deadline_ns))
    run.deadline_ns = outer->deadline_ns;
  if (outer->vm != run.vm) return;
  if (outer->records && !outer->records->is_observer_busy())
    run.records = outer->records, run.record_run = outer->record_run;
  if (!outer->showing) run.instrument = outer->instrument;
}

}  // namespace

Run *CallScope::prepare(uint32_t function, const CallSettings &settings, CallEventBuffer *records,
                        uint64_t record_run) {
  Run &run = *borrowed_.run;
  const Run *outer = Run::of_thread();
  inherit(run, outer, settings);
  if (instrument_ && !(outer && outer->showing)) run.instrument = instrument_.get();
  if (records) run.records = records, run.record_run = record_run;
  else if (!run.records)
    if (Ref<RecordingSession> session = borrowed_.vm.state().session())
      recorded_.begin(std::move(session), function == kNoFunction ? kNoName : borrowed_.vm.function_names()[function]);
  if (recorded_.records()) run.records = recorded_.records(), run.record_run = recorded_.run();
  if (run.records) run.callee_names = borrowed_.vm.callee_names();
  if (run.records || run.instrument) run.observe_calls();
  if (run.native_depth > kMaxNativeDepth)
    fail_as("RecursionError", OPD_OUT_OF_RANGE,
            "functions of programs call each other through foreign functions more than ", kMaxNativeDepth, " deep");
  return &run;
}

CallScope::CallScope(Vm &vm, uint32_t function, const CallSettings &settings, CallEventBuffer *records,
                     uint64_t record_run)
    : borrowed_{vm, vm.acquire()},
      outer_(thread_state().run_pool),
      outer_stop_(thread_state().stop),
      instrument_(vm.state().instrument()),
      cancel_(prepare(function, settings, records, record_run)),
      deadline_(borrowed_.run) {
  Run &run = *borrowed_.run;
  thread_state().run_pool = &run.pool;
  thread_state().stop = run.token || run.deadline_ns ? &run.stop : nullptr;  // parallel regions read it
}

}  // namespace opd
