// VMs of a session. The program and its state are on the server.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "profiler/vm_profile.h"
#include "rpc/client/remote_objects.h"
#include "vm/any_vm.h"

namespace opd::rpc {

class RemoteVm final : public AnyVm, public ProfilesThere {
 public:
  static int32_t type();  // "opdyno.RemoteVm"
  RemoteVm(Ref<RemoteModule> vm, DLDevice device) : vm_(std::move(vm)), device_(device) {}
  Vm *here() override { return nullptr; }
  const ProfilesThere *there() const override { return this; }

  Ref<Error> run_named(std::string_view name, Args args, const CallSettings &settings, Value &result) override;
  Ref<Function> function(std::string_view name) override { return get(name); }
  Value invoke_closure(Function &closure, Args args, const CallSettings &settings) override;
  void save_function(std::string_view name, std::string_view saved_name, Args args, const CallSettings &settings,
                     bool include_return) override;
  void set_input(std::string_view name, Args args, const CallSettings &settings) override;
  void invoke_stateful(std::string_view name, const CallSettings &settings) override;
  Value output(std::string_view name, std::span<const int64_t> path) const override;
  void set_instrument(Ref<Function> instrument) override;  // a function of the session
  bool has_function(std::string_view name) const override { return find(name).get(); }
  std::vector<std::string> function_list() const override { return vm_->list(); }
  std::vector<std::string> param_list(std::string_view function) const override;
  void trim() override {}  // the server keeps its memory itself

  // Their times are converted to this machine's clock. They throw OPD_UNSUPPORTED with TVM's servers. See
  // remote_profile.cc.
  VmProfile profile_named(std::string_view name, Args args, const CallSettings &settings,
                          const VmProfileOptions &options, bool wants_trace) const override;
  void start_profile(const VmProfileOptions &options) const override;
  VmProfile stop_profile(bool wants_trace) const override;

 private:
  // Calls a function of the VM's module. Its arguments are `first`, then the arguments of the program's function
  // `name`.
  Value call_with(const char *function, std::vector<View> first, std::string_view name, Args args,
                  const CallSettings &settings) const;
  ClientSession &profiling_server() const;
  // These look up functions of the program, saved functions and the VM's own. find() returns null if there is none.
  Ref<RemoteFunction> find(std::string_view name) const;
  Ref<RemoteFunction> get(std::string_view name) const;
  Value call(const RemoteFunction &function, Args args, const CallSettings &settings) const;
  std::vector<View> in_order(std::string_view name, Args args, const CallSettings &settings) const;
  std::vector<View> on_device(Args args, std::vector<Value> &owned, bool all) const;

  const Ref<RemoteModule> vm_;
  const DLDevice device_;  // in this process's numbering
  mutable ForkMutex guard_{LockRank::kRemote};
  mutable std::map<std::string, Ref<RemoteFunction>, std::less<>> functions_;
};

// Throws for settings that servers do not support, and for devices outside the module's session.
Ref<AnyVm> make_vm(Ref<RemoteModule> program, const VmSettings &settings);

}  // namespace opd::rpc
