// The interface behind the C API's VM: a program that is ready to be called, in this process or on another machine.
#pragma once
#include <opdyno/vm.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module/module.h"
#include "program/executable.h"
#include "vm/cancel.h"
#include "vm/pool.h"

namespace opd {

struct VmSettings {
  // If the host is missing, it is added at the end.
  std::vector<VmDevice> devices{{{kDLCPU, 0}, OPD_ALLOCATOR_POOLED}};
  uint64_t memory_limit_bytes = 0;  // 0: the limit of the process
  int32_t max_depth = 1000;
};

struct CallSettings {
  std::vector<const char *> names;  // One name per argument. Empty: all arguments are positional.
  int64_t timeout_ns = 0;
  CancelToken *cancel = nullptr;
  std::span<opd_tensor *const> outputs;
  Function *instrument = nullptr;  // Replaces the VM's instrument for this call and nested calls. Not owned.
};

class Vm;
class ProfilesThere;  // profiler/vm_profile.h

class AnyVm : public Object {
 public:
  virtual ~AnyVm() = default;

  virtual Vm *here() = 0;                          // null: the program is on another machine
  virtual const ProfilesThere *there() const = 0;  // null: the program is in this process

  // Returns errors that operators raised, because a throw costs microseconds. Throws all other errors.
  [[nodiscard]] virtual Ref<Error> run_named(std::string_view name, Args args, const CallSettings &settings,
                                             Value &result) = 0;
  virtual Ref<Function> function(std::string_view name) = 0;  // the function keeps the VM
  virtual Value invoke_closure(Function &closure, Args args, const CallSettings &settings) = 0;
  virtual void save_function(std::string_view name, std::string_view saved_name, Args args,
                             const CallSettings &settings, bool include_return) = 0;
  virtual void set_input(std::string_view name, Args args, const CallSettings &settings) = 0;
  virtual void invoke_stateful(std::string_view name, const CallSettings &settings) = 0;
  // Returns an item of nested tuples. Throws if the function did not run yet.
  virtual Value output(std::string_view name, std::span<const int64_t> path) const = 0;
  virtual void set_instrument(Ref<Function> instrument) = 0;
  virtual bool has_function(std::string_view name) const = 0;  // a function of the program, or a saved one
  virtual std::vector<std::string> function_list() const = 0;
  virtual std::vector<std::string> param_list(std::string_view function) const = 0;
  virtual void trim() = 0;  // returns memory that is not in use to the system

  // Calls set_input() with the result of the module's function `get_params` as the last argument.
  void set_input_with_param_module(std::string_view name, Args args, CallSettings settings, Module &params);
};

// Returns the arguments of a call in the order of the parameters. `names`: one per argument; null: positional.
std::vector<View> arguments_in_order(const FunctionInfo &function, Args args, std::span<const char *const> names);

}  // namespace opd
