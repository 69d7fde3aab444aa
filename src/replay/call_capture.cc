#include "replay/call_capture.h"

#include <atomic>

#include "base/log.h"
#include "replay/host_functions.h"
#include "replay/operator_observer.h"

namespace opd {
namespace {

// The capture of one call. Errors with the file do not affect the call: the first one is kept.
class CallCapture final : public OperatorObserver {
 public:
  CallCapture(Vm &vm, const std::vector<std::string> &hosts, const CaptureOptions &options)
      : OperatorObserver(vm, hosts, vm.state().instrument()),
        hosts_(hosts),
        options_(options),
        values_(Keeping::kArguments, names_in(vm, hosts)) {}

  // Writes the blocks before the call: the process, the program, the arguments. `modules`: blocks of the program, or
  // empty if there are none yet.
  void write_begin(const std::string &path, uint32_t function, Args args, const CallSettings &settings,
                   const std::vector<std::string> &modules) {
    attempt([&] {
      file_.emplace(path);
      file_->add(BlockKind::kAbout, CapturedProcess::of_this(options_.with_paths).write());
      const auto add_module = [this](std::string_view block) { file_->add(BlockKind::kModule, block); };
      // All of this happens before the call, and the file gets its path last. If the process crashes in the call, the
      // file has everything that a replay needs. If it crashes here, the path keeps the file of an earlier call, if
      // there is one.
      if (modules.empty()) write_program(*vm().module(), options_.with_program, options_.with_paths, add_module);
      for (const std::string &block : modules) add_module(block);
      file_->add(BlockKind::kCall, call_of(function, args, settings).write());
      for (size_t i = 0; i < args.size(); ++i) {
        file_->add(BlockKind::kValue, values_.write(args[i]));
        note_opaque(concat("argument ", i));
      }
      file_->add(BlockKind::kReady, {});
      file_->place();
    });
  }

  bool is_observed() const { return options_.with_operators || !hosts_.empty(); }

  void write_end_of_call(const Error *error, const View &result) {
    attempt([&] {
      // An instrument does not see the end of a call that fails. So if a host function is still open, it is the one
      // that failed.
      if (error && host_) file_->add(BlockKind::kHostCall, host_->write_failure(*error));
      file_->add(BlockKind::kEnd, write_end(error, result, options_.with_outputs));
    });
  }

  // A file with an opaque value is complete: it can be shown, but not replayed.
  // Null if the file is complete and can be replayed.
  Ref<Error> problem() const {
    if (failure_ || opaque_.empty()) return failure_;
    return make_error(OPD_UNSUPPORTED,
                      concat("the recorded call cannot be made again: ", opaque_, ", cannot be kept in a recording"));
  }

 private:
  template <class Action>
  void attempt(Action action) noexcept {
    // A call must not fail because of its capture. Most of this runs in an instrument, whose errors end the call.
    if (failure_) return;
    try {
      action();
    } catch (...) {
      failure_ = current_error();
      if (file_) file_->remove();  // a partial capture would look like a call that did not end
      file_.reset();
    }
  }

  KeptCall call_of(uint32_t function, Args args, const CallSettings &settings) const {
    KeptCall call;
    call.function = vm().program_name(function);
    call.vm = vm().settings();
    call.timeout_ns = settings.timeout_ns;
    call.num_args = args.size();
    for (const char *name : settings.names) call.names.emplace_back(name ? name : "");
    call.host_functions = hosts_;
    call.has_operators = options_.with_operators, call.is_observed = is_observed();
    return call;
  }

  void note_opaque(const std::string &what) {
    if (opaque_.empty() && !values_.opaque().empty()) opaque_ = concat(what, ", of type ", values_.opaque().front());
  }

  // A function may write into its arguments, so their hashes are taken before it runs.
  void begin(const ObservedCall &call) override {
    if (call.is_host) attempt([&] { host_.emplace(call.name, call.args); });
  }

  void end(const ObservedCall &call, const View &result) override {
    attempt([&] {
      if (call.is_host) {
        file_->add(BlockKind::kHostCall, host_->write_return(call.args, result, values_));
        host_.reset();
        note_opaque("the result of " + call.name);
      } else if (call.is_operator && options_.with_operators) {
        file_->add(BlockKind::kOperator, KeptOperator{call.name, hash_of_call(call, result)}.write());
      }
    });
  }

  // The caller's list, which outlives the capture.
  const std::vector<std::string> &hosts_;
  const CaptureOptions options_;
  std::optional<CaptureFile> file_;
  Ref<Error> failure_;
  ValueWriter values_;
  std::string opaque_;                // type of the first value that could not be kept; "": none
  std::optional<OpenHostCall> host_;  // the running host function
};

// An instrument slows the call down: the VM then does not use its memory plan, and the observer fills memory that the
// program allocates. So only a call that is observed gets an instrument. run() would ask the keeper again, so this
// function calls run_here().
Ref<Error> run_captured(Vm &vm, uint32_t function, Args args, const CallSettings &settings, Value &result,
                        CallCapture &capture) {
  CallSettings own = settings;
  const Ref<Function> instrument = capture.is_observed() ? capture.make_instrument() : nullptr;
  if (instrument) own.instrument = instrument.get();
  try {
    Ref<Error> error = vm.run_here(function, args, own, result);
    capture.write_end_of_call(error.get(), result);
    return error;
  } catch (...) {
    const Ref<Error> error = current_error();
    capture.write_end_of_call(error.get(), opd_none());
    throw Exception(error);
  }
}

// Captures one call. If calls begin on several threads at once, the exchange of the state selects one of them, and the
// others run without a capture.
class NextCall final : public CallKeeper {
 public:
  NextCall(std::string path, const CaptureOptions &options, Ref<CallKeeper> before)
      : path_(std::move(path)), options_(options), before_(std::move(before)) {}

  enum class State { kWaiting, kRunning, kDone };
  State state() const { return state_.load(std::memory_order_acquire); }
  bool stop_waiting() { return move(State::kWaiting, State::kDone); }
  const Ref<CallKeeper> &before() const { return before_; }
  const Ref<Error> &problem() const { return problem_; }  // valid once the state is kDone

  Ref<Error> run(Vm &vm, uint32_t function, Args args, const CallSettings &settings, Value &result) override {
    if (!move(State::kWaiting, State::kRunning))
      return before_ ? before_->run(vm, function, args, settings, result)
                     : vm.run_here(function, args, settings, result);
    // `done` is declared first, so it is destroyed last: when another thread sees kDone, `problem_` is set and the file
    // is closed.
    struct Done {
      std::atomic<State> &state;
      ~Done() { state.store(State::kDone, std::memory_order_release); }
    } const done{state_};
    // The keeper stays, because it has the outcome. Later calls need to ask it only if there is a keeper before it.
    vm.set_keeper(Ref<CallKeeper>::share(this), static_cast<bool>(before_));
    const std::vector<std::string> hosts = host_functions_of(vm);
    CallCapture capture(vm, hosts, options_);
    capture.write_begin(path_, function, args, settings, {});
    struct Problem {
      NextCall &of;
      CallCapture &capture;
      ~Problem() { of.problem_ = capture.problem(); }
    } const problem{*this, capture};
    return run_captured(vm, function, args, settings, result, capture);
  }

 private:
  bool move(State from, State to) { return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel); }

  const std::string path_;
  const CaptureOptions options_;
  const Ref<CallKeeper> before_;
  std::atomic<State> state_{State::kWaiting};
  Ref<Error> problem_;
};

// Captures each call in the same file. The program's blocks are made once, because they are the larger part and do not
// change.
class EachCall final : public CallKeeper {
 public:
  EachCall(Vm &vm, std::string path) : path_(std::move(path)), hosts_(host_functions_of(vm)) {
    write_program(*vm.module(), true, false, [this](std::string_view block) { modules_.emplace_back(block); });
  }

  Ref<Error> run(Vm &vm, uint32_t function, Args args, const CallSettings &settings, Value &result) override {
    // A nested call of the same VM is not captured: its file would replace that of the outer call, whose replay repeats
    // the nested call anyway.
    const Run *const outer = Run::of_thread();
    const bool is_within = outer && outer->vm == &vm && (outer->depth > 0 || outer->compiled);
    if (is_within) return vm.run_here(function, args, settings, result);
    CallCapture capture(vm, hosts_, {});
    capture.write_begin(path_, function, args, settings, modules_);
    // Warn once for each VM: otherwise a service would log a warning for each call.
    if (const Ref<Error> problem = capture.problem(); problem && !has_warned_.exchange(true))
      log_variable_warning("OPDYNO_RECORD_LAST: " + problem->message);
    return run_captured(vm, function, args, settings, result, capture);
  }

 private:
  const std::string path_;
  const std::vector<std::string> hosts_;
  std::vector<std::string> modules_;
  std::atomic<bool> has_warned_{false};
};

Ref<NextCall> next_call_of(const Vm &vm) {
  const Ref<CallKeeper> keeper = vm.state().keeper();
  auto *const next = dynamic_cast<NextCall *>(keeper.get());
  return next ? Ref<NextCall>::share(next) : nullptr;
}

}  // namespace

void capture_next_call(Vm &vm, const std::string &path, const CaptureOptions &options) {
  const std::string whole = checked_capture_path(path);
  const Ref<NextCall> last = next_call_of(vm);
  if (last && last->state() != NextCall::State::kDone)
    fail(OPD_FAILED_PRECONDITION, "a recording of the next call of this VM is already requested or in progress");
  // If the last keeper is done, the new one skips it. Otherwise each capture would lengthen the chain.
  const Ref<CallKeeper> before = last ? last->before() : vm.state().keeper();
  vm.set_keeper(make_object<NextCall>(whole, options, before), true);
}

void end_capture_next_call(Vm &vm) {
  const Ref<NextCall> last = next_call_of(vm);
  if (!last) fail(OPD_FAILED_PRECONDITION, "no recording of a call of this VM was requested");
  // Stop waiting first, so that no further call begins to be captured.
  const bool was_waiting = last->stop_waiting();
  if (last->state() == NextCall::State::kRunning)
    fail(OPD_FAILED_PRECONDITION, "the call that is being recorded has not ended");
  vm.set_keeper(last->before(), true);
  if (was_waiting) fail(OPD_FAILED_PRECONDITION, "this VM was not called after the recording was requested");
  if (last->problem()) throw Exception(last->problem());
}

// OPDYNO_RECORD_LAST is set from outside the program, so VMs must work even if nothing can be captured.
void capture_each_call(Vm &vm, const std::string &path) {
  try {
    vm.set_keeper(make_object<EachCall>(vm, checked_capture_path(path)), true);
  } catch (const Exception &e) { log_variable_warning(std::string("OPDYNO_RECORD_LAST: ") + e.what()); }
}

}  // namespace opd
