// A program bound to devices and allocators. Any number of threads may call it: a call changes only its Run.
#pragma once
#include <opdyno/vm.h>

#include <optional>
#include <string>
#include <vector>

#include "base/fork_mutex.h"
#include "device/device.h"
#include "module/module.h"
#include "vm/any_vm.h"
#include "vm/observe.h"
#include "vm/vm_state.h"

namespace opd {

class Vm final : public AnyVm {
 public:
  static int32_t type();  // "opdyno.Vm"
  static Ref<Vm> make(Ref<Module> module, VmSettings settings);
  ~Vm();

  Vm *here() override { return this; }
  const ProfilesThere *there() const override { return nullptr; }

  const Program &program() const { return *program_; }
  const std::vector<VmDevice> &devices() const { return settings_.devices; }
  const VmSettings &settings() const { return settings_; }
  const Ref<Module> &module() const { return module_; }
  const Ref<MemoryBudget> &budget() const { return budget_; }
  int32_t max_depth() const { return settings_.max_depth; }

  const Executable &executable() const;
  const std::string &program_name(uint32_t function) const;
  std::optional<uint32_t> find_function_index(std::string_view name) const;
  uint32_t function_index(std::string_view name) const;  // throws OPD_NOT_FOUND and suggests similar names
  bool has_function(std::string_view name) const override;

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

  View function_value(uint32_t index);  // an operand inside the program; borrowed from the VM
  const std::vector<View> &function_values() const {
    return function_values_;
  }  // one per function; empty unless some are compiled
  const VmState &state() const { return state_; }
  void trim() override;
  static size_t count();                        // number of all VMs
  static uint64_t idle_bytes(DLDevice device);  // memory of the idle runs of all VMs

 private:
  friend class CallScope;
  explicit Vm(VmSettings settings) : settings_(std::move(settings)) {}

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
  template <class T, class... A>
  friend Ref<T> make_object_sized(size_t, A &&...);

 public:
  struct Key {};
  Vm(Key, VmSettings settings) : Vm(std::move(settings)) {}
};

// Returns a form of `function` that may outlive the run: a function value of a program gets a reference to its VM.
Ref<Function> lasting_function(Function &function);

// The arguments of a call. They are checked against the function and the devices, and copied if kernels cannot use
// them. Owns the copies.
class CallArguments {
 public:
  CallArguments(const Vm &vm, const FunctionInfo &function, Args args, std::span<const char *const> names);
  CallArguments(const Vm &vm, Args args);  // for a function outside the program: any number of arguments
  Args views() const { return owned_.empty() ? given_ : Args(&owned_.front().view(), owned_.size()); }

 private:
  Args given_;
  std::vector<Value> owned_;
};

// Copies a result into the caller's tensors, in the order of the result's leaves.
void store_outputs(const View &result, std::span<opd_tensor *const> outputs, std::string_view function);

}  // namespace opd
