// A program bound to devices and allocators. Any number of threads may call it: a call changes only its Run.
#pragma once
#include <opdyno/vm.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fork_mutex.h"
#include "device/device.h"
#include "module/module.h"
#include "value/function.h"
#include "vm/any_vm.h"
#include "vm/observe.h"

namespace opd {

// ---- a VM's state between calls: saved functions, inputs and outputs of stateful functions, the instrument. Readers
// get snapshots. If there is no such state, a call costs two loads.

// Replaces the VM's way to make calls. The keeper calls Vm::run_here(). The capture of calls (replay/) uses it.
class CallKeeper : public Object {
 public:
  static int32_t type() { return OPD_OBJECT; }
  virtual ~CallKeeper() = default;
  // Like Vm::run(). Called for every call, including nested ones.
  [[nodiscard]] virtual Ref<Error> run(Vm &vm, uint32_t function, Args args, const CallSettings &settings,
                                       Value &result) = 0;
};

struct SavedFunction : Object {  // a function of the program with its arguments
  static int32_t type() { return registered_type<"opdyno.vm.SavedFunction">(); }
  uint32_t function = 0;
  std::vector<Value> args;
  bool include_return = true;
};

// Thread-safe, but a user must call set_input(), set_output() and output() of one function in this order.
class VmState {
 public:
  // replaces an existing one
  void save(std::string name, Ref<SavedFunction> function) {
    std::scoped_lock lock(guard_);
    std::swap(saved_[std::move(name)], function);  // a replaced function ends after the lock is released
  }

  // null if there is none
  Ref<SavedFunction> saved(std::string_view name) const {
    std::scoped_lock lock(guard_);
    const auto found = saved_.find(name);
    return found == saved_.end() ? nullptr : found->second;
  }

  // clears the output
  void set_input(uint32_t function, std::vector<Value> args) {
    Stateful fresh{std::move(args), {}, false};
    std::scoped_lock lock(guard_);
    std::swap(stateful_[function], fresh);
    any_stateful_.store(true, std::memory_order_release);
  }

  bool has_input(uint32_t function) const {
    if (!any_stateful_.load(std::memory_order_acquire)) [[likely]]
      return false;
    std::scoped_lock lock(guard_);
    return stateful_.contains(function);
  }

  // call it only if has_input()
  std::vector<Value> input(uint32_t function) const {
    std::scoped_lock lock(guard_);
    return stateful_.at(function).args;
  }

  void set_output(uint32_t function, Value output) {
    std::scoped_lock lock(guard_);
    Stateful &state = stateful_.at(function);
    std::swap(state.output, output);
    state.ran = true;
  }

  // false: the function did not run since set_input()
  bool output(uint32_t function, Value &out) const {
    std::scoped_lock lock(guard_);
    const auto found = stateful_.find(function);
    if (found == stateful_.end() || !found->second.ran) return false;
    out = found->second.output;
    return true;
  }

  void set_instrument(Ref<Function> instrument) {
    std::scoped_lock lock(guard_);
    any_instrument_.store(static_cast<bool>(instrument), std::memory_order_release);
    std::swap(instrument_, instrument);
  }

  Ref<Function> instrument() const {
    if (!any_instrument_.load(std::memory_order_acquire)) [[likely]]
      return nullptr;
    std::scoped_lock lock(guard_);
    return instrument_;
  }

  // The keeper stays here even if it is not listening, because it has the result of its call.
  void set_keeper(Ref<CallKeeper> keeper, bool listens) {
    std::scoped_lock lock(guard_);
    keeper_listens_.store(keeper && listens, std::memory_order_release);
    std::swap(keeper_, keeper);
  }

  Ref<CallKeeper> keeper() const {
    std::scoped_lock lock(guard_);
    return keeper_;
  }

  bool has_listening_keeper() const { return keeper_listens_.load(std::memory_order_acquire); }

  // Calls visit for each value kept here: instrument, saved functions, inputs, outputs. The lock is held during the
  // visits.
  void visit_kept(const std::function<void(const View &)> &visit) const {
    std::scoped_lock lock(guard_);
    if (instrument_) visit(view_of(instrument_.get()));
    for (const auto &[name, function] : saved_) visit(view_of(function.get()));
    for (const auto &[function, state] : stateful_) {
      for (const Value &arg : state.args) visit(arg);
      visit(state.output);
    }
  }

 private:
  struct Stateful {
    std::vector<Value> args;
    Value output;
    bool ran = false;
  };
  struct NameHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  mutable ForkMutex guard_{LockRank::kVmState};
  std::unordered_map<std::string, Ref<SavedFunction>, NameHash, std::equal_to<>> saved_;
  std::map<uint32_t, Stateful> stateful_;
  Ref<Function> instrument_;
  Ref<CallKeeper> keeper_;
  // While a flag is false, calls need no lock.
  std::atomic<bool> any_stateful_{false}, any_instrument_{false}, keeper_listens_{false};
};

class Vm final : public AnyVm {
 public:
  static int32_t type() { return registered_type<"opdyno.Vm">(); }
  static Ref<Vm> make(Ref<Module> module, VmSettings settings);
  struct Key {};  // for make() only
  Vm(Key, VmSettings settings) : settings_(std::move(settings)) {}
  ~Vm();

  Vm *here() override { return this; }
  const ProfilesThere *there() const override { return nullptr; }

  const Program &program() const { return *program_; }
  const std::vector<VmDevice> &devices() const { return settings_.devices; }
  const VmSettings &settings() const { return settings_; }
  const Ref<Module> &module() const { return module_; }
  const Ref<MemoryBudget> &budget() const { return budget_; }
  int32_t max_depth() const { return settings_.max_depth; }

  const Executable &executable() const { return *program_->executable; }
  const std::string &program_name(uint32_t function) const { return executable().functions[function].name; }
  std::optional<uint32_t> find_function_index(std::string_view name) const;
  uint32_t function_index(std::string_view name) const;  // throws OPD_NOT_FOUND and suggests similar names
  bool has_function(std::string_view name) const override { return find_function_index(name) || state_.saved(name); }

  // All calls end here. `function` is an index into the program's functions. Errors are returned as in run_named().
  [[nodiscard]] Ref<Error> run(uint32_t function, Args args, const CallSettings &settings, Value &result);
  [[nodiscard]] Ref<Error> run_here(uint32_t function, Args args, const CallSettings &settings, Value &result);
  void set_keeper(Ref<CallKeeper> keeper, bool listens) { state_.set_keeper(std::move(keeper), listens); }
  Value call(uint32_t function, Args args, const CallSettings &settings);
  // throws if `args` are empty although set_input() was used
  void require_arguments(uint32_t function, Args args) const;

  // Calls by name for users. See vm_stateful.cc.
  [[nodiscard]] Ref<Error> run_named(std::string_view name, Args args, const CallSettings &settings,
                                     Value &result) override;
  Ref<Function> function(std::string_view name) override;
  Value invoke_closure(Function &closure, Args args, const CallSettings &settings) override;
  void save_function(std::string_view name, std::string_view saved_name, Args args, const CallSettings &settings,
                     bool include_return) override;
  Value call_saved(const SavedFunction &saved, Args args, const CallSettings &settings);
  void set_input(std::string_view name, Args args, const CallSettings &settings) override;
  bool has_input(std::string_view name) const;
  std::vector<Value> inputs(std::string_view name) const;  // throws unless inputs were set
  void invoke_stateful(std::string_view name, const CallSettings &settings) override;
  Value output(std::string_view name, std::span<const int64_t> path) const override;
  void set_instrument(Ref<Function> instrument) override;
  std::vector<std::string> function_list() const override { return executable().program_functions(); }
  std::vector<std::string> param_list(std::string_view function) const override {
    return executable().get(function).param_names;
  }
  // Keeps the kernels' hooks set from a call with true until a call with false. A recorded call would set them itself,
  // but this is slow for many recorded calls.
  void expect_recordings(bool is_expected);

  // Waits for the device of the last tensor argument. Returns 0, or -1 with a raised error.
  int wait_for_device(Args args) const noexcept;
  bool is_asynchronous() const { return is_asynchronous_; }  // a device may still work after its call has returned
  bool is_compiled() const { return !function_values_.empty(); }
  OperatorNames &operators() { return operators_; }
  // Names for records, by the executable's function index, then by instruction. Made at the first call.
  const NameId *function_names();
  NameId program_name() const { return program_name_; }  // name of the program's file; call function_names() first
  const NameId *callee_names() { return function_names() + program_->functions.size(); }
  // Returns the name by which the program calls a function: its own function or a kernel. "": neither.
  std::string name_of(const Function &function) const;
  std::string looked_up_name(const Function &function) const;  // "packed function" if it has none
  Ref<Function> find_function_named(const std::string &name);  // the inverse of name_of(); null if there is none
  std::string recording_note() const;  // describes calls that cannot be recorded; "": all can be
  const std::vector<CallHooks *> &libraries() const { return libraries_; }

  // an operand inside the program; borrowed from the VM
  View function_value(uint32_t index) { return view_of(inner_functions_[index].get()); }
  const std::vector<View> &function_values() const {
    return function_values_;
  }  // one per function; empty unless some are compiled
  const VmState &state() const { return state_; }
  void trim() override;
  void drop_idle_runs();                        // returns their memory to the allocators
  static size_t count();                        // number of all VMs
  static uint64_t idle_bytes(DLDevice device);  // memory of the idle runs of all VMs

 private:
  friend class CallScope;
  Run *acquire();
  Run *take_idle();  // returns a new run if none is idle
  void give_back(Run *run);
  uint64_t idle_bytes_here(DLDevice device);
  void place_constants();  // on the first device
  void use_streams(Run &run);
  void keep_hooks();

  VmSettings settings_;
  Ref<Module> module_;
  std::unique_ptr<Program> program_;
  bool is_asynchronous_ = false;
  std::vector<Ref<Tensor>> placed_constants_;  // the program borrows them in place of the executable's constants
  Ref<MemoryBudget> budget_;
  VmState state_;
  std::vector<Ref<Function>> inner_functions_;  // one per function, for the program's own use; they do not keep the VM
  std::vector<View> function_values_;           // borrowed from inner_functions_
  std::vector<CallHooks *> libraries_;          // libraries with kernels of compiled functions; kept by module_
  OperatorNames operators_;
  std::vector<NameId> names_;  // by function, then by instruction
  NameId program_name_ = kNoName;
  std::atomic<bool> has_names_{false};
  int expected_recordings_ = 0;
  std::optional<HookScope> hooks_;     // set while there is an instrument, or recordings are expected
  std::atomic<Run *> spare_{nullptr};  // one run kept without a lock
  ForkMutex guard_{LockRank::kVm};
  Run *idle_ = nullptr;
};

// Returns a form of `function` that may outlive the run: a function value of a program gets a reference to its VM.
Ref<Function> lasting_function(Function &function);

// The arguments of a call. They are checked against the function and the devices, and copied if kernels cannot use
// them. Owns the copies.
class CallArguments {
 public:
  CallArguments(const Vm &vm, const FunctionInfo &function, Args args, std::span<const char *const> names);
  CallArguments(const Vm &vm, Args args);  // a function outside the program takes any number of arguments
  Args views() const { return owned_.empty() ? given_ : Args(&owned_.front().view(), owned_.size()); }

 private:
  Args given_;
  std::vector<Value> owned_;
};

// Copies a result into the caller's tensors, in the order of the result's leaves.
void store_outputs(const View &result, std::span<opd_tensor *const> outputs, std::string_view function);

// ---- vm_function.cc: program functions wrapped as packed functions

// For users. The function keeps the VM.
Ref<Function> make_bound_function(Ref<Vm> vm, uint32_t index);
// For values inside the program. The VM holds the function, so the function does not keep the VM. A call after the VM's
// end (from a closure that the program returned) is an error.
Ref<Function> make_inner_function(Vm &vm, uint32_t index, std::string name);
// For users. Calls a saved function in its current form, without arguments.
Ref<Function> make_saved_call(Ref<Vm> vm, Ref<SavedFunction> saved);
// Returns the program's name for one of its function values. Null for other functions.
const std::string *program_name_of(const Function &function);
// Calls visit for each object that one of these functions keeps.
void visit_kept_by_function(Function &function, const std::function<void(Object *)> &visit);

// A function with captured arguments, made by vm.builtin.make_closure.
struct ProgramClosure final : Function {
  Ref<Function> function;       // never a closure: nested closures are flattened, so that a call is one call
  std::vector<Value> captured;  // appended to the arguments of a call

  explicit ProgramClosure(Args args);
  ~ProgramClosure();
  static int invoke(void *self, const View *args, int32_t num_args, View *result);
};

inline const ProgramClosure *as_program_closure(const Function &function) {
  return function.safe_call == &ProgramClosure::invoke ? static_cast<const ProgramClosure *>(&function) : nullptr;
}

// The scope of one call. It borrows a run from the VM, connects the run to the cancel token, the deadline, the
// recordings and the instrument, and makes it the calling thread's run.
class CallScope {
 public:
  static constexpr uint32_t kNoFunction = UINT32_MAX;  // the call is not of a function of the program
  CallScope(Vm &vm, uint32_t function, const CallSettings &settings);
  ~CallScope() {
    recorded_.end();
    thread_state().run_pool = outer_;
    thread_state().lists = outer_lists_;
    thread_state().stop = outer_stop_;
  }
  CallScope(const CallScope &) = delete;
  CallScope &operator=(const CallScope &) = delete;
  Run &run() { return *borrowed_.run; }
  void note_failure(const Error &error) { recorded_.note_failure(error); }  // for errors that are returned, not thrown

 private:
  struct Borrowed {
    Vm &vm;
    Run *run;
    ~Borrowed() { vm.give_back(run); }
  };
  Run *prepare(uint32_t function, const CallSettings &settings);
  void begin_recording(uint32_t function, const RunRecorder *outer);

  // The order matters. prepare() runs when cancel_ is made. Members end in reverse order, so no other thread can reach
  // the run when it is given back.
  Borrowed borrowed_;
  void *const outer_;
  const MemoryRange outer_lists_;
  const CancelFlag *const outer_stop_;
  const Ref<Function> instrument_;
  RunRecording recorded_;
  CancelGuard cancel_;
  DeadlineGuard deadline_;
};

}  // namespace opd
