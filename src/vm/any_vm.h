// A program that is ready to be called, here or on another machine: the C API's interface of both.
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
  std::vector<VmDevice> devices{{{kDLCPU, 0}, OPD_ALLOCATOR_POOLED}};  // the host is added at the end if it is missing
  uint64_t memory_limit_bytes = 0;                                     // 0: the limit of the process
  int32_t max_depth = 1000;
};

struct CallSettings {
  std::vector<const char *> names;  // per argument, or empty
  int64_t timeout_ns = 0;
  CancelToken *cancel = nullptr;
  std::span<opd_tensor *const> outputs;
  Function *instrument = nullptr;  // in the place of the VM's, for this call and those within it; the caller keeps it
};

class Vm;
class ProfilesThere;  // profiler/vm_profile.h

class AnyVm : public Object {
 public:
  virtual ~AnyVm() = default;

  virtual Vm *here() = 0;                          // null: the program is on another machine
  virtual const ProfilesThere *there() const = 0;  // null: it is in this process

  // Returns an error that an operator raised, since a throw costs microseconds; throws all other errors.
  [[nodiscard]] virtual Ref<Error> run_named(std::string_view name, Args args, const CallSettings &settings,
                                             Value &result) = 0;
  virtual Ref<Function> function(std::string_view name) = 0;  // bound: keeps the VM
  virtual Value invoke_closure(Function &closure, Args args, const CallSettings &settings) = 0;
  virtual void save_function(std::string_view name, std::string_view saved_name, Args args,
                             const CallSettings &settings, bool include_return) = 0;
  virtual void set_input(std::string_view name, Args args, const CallSettings &settings) = 0;
  virtual void invoke_stateful(std::string_view name, const CallSettings &settings) = 0;
  // An item of nested tuples; throws before it ran.
  virtual Value output(std::string_view name, std::span<const int64_t> path) const = 0;
  virtual void set_instrument(Ref<Function> instrument) = 0;
  virtual bool has_function(std::string_view name) const = 0;  // of the program, or saved
  virtual std::vector<std::string> function_list() const = 0;
  virtual std::vector<std::string> param_list(std::string_view function) const = 0;
  virtual void trim() = 0;  // frees the memory of idle runs

  // set_input() with the result of the module's function `get_params` as the last argument.
  void set_input_with_param_module(std::string_view name, Args args, CallSettings settings, Module &params);
};

// The arguments of a call in the order of the parameters. `names`: one for each argument, null for positional ones.
std::vector<View> arguments_in_order(const FunctionInfo &function, Args args, std::span<const char *const> names);

}  // namespace opd
