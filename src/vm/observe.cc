#include "vm/observe.h"

#include <opdyno/vm.h>

#include <algorithm>

#include "module/kinds/library_module.h"
#include "trace/record/run_recorder_inl.h"
#include "vm/vm.h"

namespace opd {
namespace {

// Returns the callee's name. The run caches it, because asking the VM takes a lock.
template <class Name>
NameId name_of(Run &run, const void *callee, const Name &name) {
  auto &known = run.known_callees[reinterpret_cast<uintptr_t>(callee) / 16 % std::size(run.known_callees)];
  if (known.callee != callee) [[unlikely]]
    known = {callee, run.vm->operators().id_of(callee, name)};
  return known.name;
}

// Records a call. `error` is null if the call returned.
void record(Run &run, NameId name, uint64_t begin, uint64_t end, Args args, const Error *error, uint32_t depth) {
  run.recorder.add({begin, end, name, Event::kNoLocation, depth}, args, name, error);
}

// Marks that the callee runs. The callee's own calls are not calls of the program, so they are not observed.
struct Observed {
  Run &run;
  explicit Observed(Run &r) : run(r) { run.in_callee = true; }
  ~Observed() { run.in_callee = false; }
};

void check_stop(Run &run) {
  if (run.stop.load(std::memory_order_relaxed) != CancelReason::kNone) [[unlikely]]
    stop_compiled(run, *run.compiled);
}

// Makes a call, shows it to the instrument, and publishes its name for CancelToken::current_operator(). The instrument
// gets `callee` as the function.
template <class Call>
int show(Run &run, NameId name, const View &callee, Args args, View *result, Call call) {
  if (!run.recorder.listens()) run.operator_name.store(name_text(name).c_str(), std::memory_order_relaxed);
  if (!run.instrument) return call();
  std::vector<View> shown = {callee, opd_cstring(name_text(name).c_str()), {}, {}};
  shown.insert(shown.end(), args.begin(), args.end());
  if (!instrument_before(run, shown)) {
    if (result) *result = opd_none();
    return 0;
  }
  const int failed = call();
  if (!failed) {
    // frees the result if the instrument throws
    Value kept = Value::take(result ? std::exchange(*result, opd_none()) : opd_none());
    instrument_after(run, shown, kept.view());
    if (result) *result = kept.detach();
  }
  return failed;
}

// The fast case of a profile: no instrument, and no reason to stop.
bool is_only_recorded(const Run &run) {
  return run.recorder.listens() && !run.instrument && run.stop.load(std::memory_order_relaxed) == CancelReason::kNone;
}

// Makes a call and records it. The error is taken before collectors run, because they may raise others. `result`: null,
// or where the call writes its result.
template <class Name, class Call>
int time_call(Run &run, const Name &name_of_callee, Args args, View *result, const Call &call, uint32_t depth = 1) {
  const uint64_t begin = run.recorder.begin_call(args);
  int failed = call();
  if (!failed && run.recorder.syncs() && run.vm->is_asynchronous()) {
    failed = run.vm->wait_for_device(args);
    if (failed && result) Value::take(std::exchange(*result, opd_none()));  // ends the result's reference
  }
  Ref<Error> error = failed ? take_raised() : nullptr;
  const uint64_t end = run.recorder.end_call();
  record(run, name_of_callee(), begin, end, args, error.get(), depth);
  if (failed) set_raised(std::move(error));
  return failed;
}

template <class Name, class Call>
int record_call(Run &run, const Name &name_of_callee, Args args, View *result, const Call &call) {
  const Observed observed(run);
  return time_call(run, name_of_callee, args, result, call);
}

// Makes all other calls: there is an instrument, a reason to stop, or only the operator's name to publish.
template <class Name, class Call>
int observe(Run &run, const Name &name_of_callee, const View &callee, Args args, View *result, Call call) {
  check_stop(run);
  const Observed observed(run);
  const bool recorded = run.recorder.listens() && run.recorder.wants(args);
  const NameId name = name_of_callee();
  const auto timed = [&] {
    return recorded ? time_call(
                          run, [name] { return name; }, args, result, call)
                    : call();
  };
  return show(run, name, callee, args, result, timed);
}

// Whether the instrument answers SKIP_RUN.
bool ask_instrument(Run &run, Args shown) {
  struct Showing {
    Run &run;
    explicit Showing(Run &r) : run(r) { run.showing = true; }
    ~Showing() { run.showing = false; }
  } showing(run);
  // Only single fields of the answer are read, because a 16-byte load right after smaller stores waits for them.
  View answer = opd_none();
  if (run.instrument->safe_call(run.instrument, shown.data(), static_cast<int32_t>(shown.size()), &answer)) [[unlikely]]
    throw Exception(take_raised());
  if (is_object(answer)) [[unlikely]]
    release(object_of(answer));
  return answer.type == OPD_INT && answer.u.int64 == OPD_INSTRUMENT_SKIP_RUN;
}

}  // namespace

bool instrument_before(Run &run, std::span<View> shown) {
  shown[2] = opd_bool(true);
  shown[3] = opd_none();
  return !ask_instrument(run, shown);
}

void instrument_after(Run &run, std::span<View> shown, const View &result) {
  shown[2] = opd_bool(false);
  shown[3] = result;
  ask_instrument(run, shown);
}

NameId OperatorNames::id_of(const void *callee, const std::function<std::string()> &name) {
  std::scoped_lock lock(guard_);
  const auto place = ids_.try_emplace(callee, kNoName).first;
  if (place->second == kNoName) place->second = name_id(name());
  return place->second;
}

int observe_call(Run &run, Function &function, const View *args, int32_t num_args, View *result) noexcept {
  const Args views(args, static_cast<size_t>(num_args));
  const auto make = [&] { return function.safe_call(&function, args, num_args, result); };
  if (!run.observes_calls()) return make();
  if (is_only_recorded(run) && !run.recorder.wants(views)) [[likely]] {
    const Observed observed(run);
    return make();
  }
  return raising([&] {
    const auto name = [&] { return name_of(run, &function, [&] { return run.vm->looked_up_name(function); }); };
    if (is_only_recorded(run)) return record_call(run, name, views, result, make);
    return observe(run, name, view_of(&function), views, result, make);
  });
}

void call_inner_kernel(Function &kernel, Args args) {
  Run *const run = Run::of_thread();
  if (!run || !run->recorder.listens()) [[likely]]
    return static_cast<void>(call(kernel, args));
  const auto name = [&] { return name_of(*run, &kernel, [&] { return run->vm->looked_up_name(kernel); }); };
  const auto make = [&] { return raising([&] { call(kernel, args); }); };
  const auto depth = static_cast<uint32_t>(std::max<size_t>(1, run->depth) + 1);
  if (time_call(*run, name, args, nullptr, make, depth)) throw Exception(take_raised());
}

int observe_kernel(const HookedCall &call, void *self, const View *args, int32_t num_args, View *result) {
  Run *run = Run::of_thread();
  if (!run || !run->observes_calls()) return call.code(self, args, num_args, result);
  return raising([&] {
    const auto name = [&] { return call.name; };
    const auto make = [&] { return call.code(self, args, num_args, result); };
    const Args views(args, static_cast<size_t>(num_args));
    if (is_only_recorded(*run)) [[likely]]
      return record_call(*run, name, views, nullptr, make);
    // A direct call of a kernel leaves `result` undefined, so it is not used.
    return observe(*run, name, opd_none(), views, nullptr, make);
  });
}

}  // namespace opd
