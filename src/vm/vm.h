// A program bound to devices and allocators. Any number of threads may call it: what a call changes lies in its Run.
#pragma once
#include <opdyno/vm.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "module/module.h"
#include "vm/observe.h"

namespace opd {

struct VmDevice {
  DLDevice device;
  opd_allocator_kind allocator;
};

struct VmSettings {
  std::vector<VmDevice> devices{{kHost, OPD_ALLOCATOR_POOLED}};  // the host is added at the end if it is missing
  uint64_t memory_limit_bytes = 0;  // 0: what the process may use
  int32_t max_depth = 1000;
};

struct CallSettings {
  std::vector<const char *> names;  // per argument, or empty
  int64_t timeout_ns = 0;
  CancelToken *cancel = nullptr;
  std::span<opd_tensor *const> outputs;
};

class Vm final : public Object {
 public:
  static int32_t type();  // "opdyno.Vm"
  static Ref<Vm> make(Ref<Module> module, VmSettings settings);
  ~Vm();

  const Program &program() const { return *program_; }
  const std::vector<VmDevice> &devices() const { return settings_.devices; }
  const Ref<MemoryBudget> &budget() const { return budget_; }
  int32_t max_depth() const { return settings_.max_depth; }

  uint32_t function_index(std::string_view name) const;  // throws OPD_NOT_FOUND with close names
  Value call(uint32_t function, Args args, const CallSettings &settings, RecordBuffer *records = nullptr, uint64_t record_run = 0);
  Ref<Function> function(uint32_t index);  // bound: keeps the VM
  bool is_compiled() const { return !function_values_.empty(); }
  // What compiled functions call. Records name them behind the program's functions.
  OperatorNames &operators() { return operators_; }
  uint32_t first_operator() const { return static_cast<uint32_t>(program_->functions.size()); }
  std::string looked_up_name(const Function &function) const;
  std::string recording_note() const;      // what records cannot show; "" if nothing
  std::vector<std::string> record_names();  // what Record::name counts in, so far
  const std::vector<CallHooks *> &libraries() const { return libraries_; }

  View function_value(uint32_t index);     // as an operand inside the program; borrowed from the VM
  const std::vector<View> &function_values() const { return function_values_; }  // of all functions; empty unless some are compiled
  void trim();                             // frees what idle runs keep

 private:
  friend struct VmFunction;
  explicit Vm(VmSettings settings) : settings_(std::move(settings)) {}

  Value run(Run &run, uint32_t function, Args args);
  Run *acquire();
  void give_back(Run *run);

  VmSettings settings_;
  Ref<Module> module_;
  std::unique_ptr<Program> program_;
  Ref<MemoryBudget> budget_;
  std::vector<Ref<Function>> inner_functions_;  // do not count the VM; only the program sees them
  std::vector<View> function_values_;           // borrowed from inner_functions_
  std::vector<CallHooks *> libraries_;          // whose kernels compiled functions call; kept by module_
  OperatorNames operators_;
  std::once_flag watches_;
  std::optional<ListenScope> watch_;            // from the first call on that may be stopped
  std::atomic<Run *> spare_{nullptr};  // one run kept without a lock
  std::mutex guard_;
  Run *idle_ = nullptr;
  template <class T, class... A> friend Ref<T> make_object_sized(size_t, A &&...);

 public:
  struct Key {};
  Vm(Key, VmSettings settings) : Vm(std::move(settings)) {}
};

// A function that may be kept beyond the run: one of a program, as the program passes it around, starts to count its VM.
Ref<Function> lasting_function(Function &function);

// The values that a call gets: checked against the function and the devices, and made fit for kernels. Owns what it made.
class CallArguments {
 public:
  CallArguments(const Vm &vm, const FunctionInfo &function, Args args, std::span<const char *const> names);
  Args views() const { return owned_.empty() ? given_ : Args(&owned_.front().view(), owned_.size()); }

 private:
  Args given_;
  std::vector<Value> owned_;
};

// Copies a result, in the order of its leaves, into tensors of the caller.
void store_outputs(const View &result, std::span<opd_tensor *const> outputs, std::string_view function);

}  // namespace opd
