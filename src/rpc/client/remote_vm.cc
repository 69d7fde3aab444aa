#include "rpc/client/remote_vm.h"

#include <mutex>

#include "device/device.h"
#include "vm/vm.h"

namespace opd::rpc {

int32_t RemoteVm::type() {
  static const int32_t index = register_type("opdyno.RemoteVm");
  return index;
}

Ref<RemoteFunction> RemoteVm::find(std::string_view name) const {
  {
    const std::scoped_lock lock(guard_);
    if (const auto found = functions_.find(name); found != functions_.end()) return found->second;
  }
  const Ref<Function> found = vm_->find(name);
  if (!found) return nullptr;
  Ref<RemoteFunction> function = try_remote(*found);
  Ref<RemoteFunction> before;  // destroyed after the lock is released
  const std::scoped_lock lock(guard_);
  before = std::exchange(functions_[std::string(name)], function);
  return function;
}

Ref<RemoteFunction> RemoteVm::get(std::string_view name) const {
  Ref<RemoteFunction> found = find(name);
  if (!found)
    fail_as("AttributeError", OPD_NOT_FOUND, "the program on ", vm_->session->address(), " has no function ", name);
  return found;
}

Value RemoteVm::call(const RemoteFunction &function, Args args, const CallSettings &settings) const {
  return vm_->session->call(function.number, function.name, args,
                            {std::chrono::nanoseconds(settings.timeout_ns), settings.cancel});
}

std::vector<View> RemoteVm::in_order(std::string_view name, Args args, const CallSettings &settings) const {
  if (settings.names.empty()) return {args.begin(), args.end()};
  FunctionInfo function{FunctionKind::kPacked, std::string(name), 0, 0, 0, 0, param_list(name)};
  function.num_args = static_cast<int64_t>(function.param_names.size());
  return arguments_in_order(function, args, settings.names);
}

// Copies borrowed host memory to the device. With `all`, tensors of other devices are copied, too.
std::vector<View> RemoteVm::on_device(Args args, std::vector<Value> &owned, bool all) const {
  std::vector<View> given;
  for (const View &arg : args) {
    const DLTensor *const tensor = try_dltensor(arg);
    const bool is_there = tensor && tensor->device.device_type / kDevicesOfSession == vm_->session->index() + 1;
    if (!tensor || is_there || (arg.type == OPD_TENSOR && !all)) given.push_back(arg);
    else given.push_back(owned.emplace_back(copied_to(device_, *tensor)).view());
  }
  return given;
}

Value RemoteVm::call_with(const char *function, std::vector<View> first, std::string_view name, Args args,
                          const CallSettings &settings) const {
  std::vector<Value> owned;
  const std::vector<View> rest = on_device(in_order(name, args, settings), owned, false);
  first.insert(first.end(), rest.begin(), rest.end());
  return call(*get(function), first, settings);
}

Ref<Error> RemoteVm::run_named(std::string_view name, Args args, const CallSettings &settings, Value &result) {
  std::vector<Value> owned;
  result = call(*get(name), on_device(in_order(name, args, settings), owned, false), settings);
  if (!settings.outputs.empty()) store_outputs(result, settings.outputs, name);
  return nullptr;
}

Value RemoteVm::invoke_closure(Function &closure, Args args, const CallSettings &settings) {
  const Value itself(Ref<Function>::share(&closure));
  return call_with("invoke_closure", {itself.view()}, "the closure", args, settings);
}

void RemoteVm::save_function(std::string_view name, std::string_view saved_name, Args args,
                             const CallSettings &settings, bool include_return) {
  const Value of(name), saved(saved_name);
  call_with("save_function", {of.view(), saved.view(), opd_int(include_return)}, name, args, settings);
  Ref<RemoteFunction> before;  // destroyed after the lock is released
  const std::scoped_lock lock(guard_);
  if (const auto found = functions_.find(saved_name); found != functions_.end()) {
    before = std::move(found->second);
    functions_.erase(found);
  }
}

void RemoteVm::set_input(std::string_view name, Args args, const CallSettings &settings) {
  std::vector<Value> owned;
  const Value of(name);
  std::vector<View> given = on_device(in_order(name, args, settings), owned, true);
  given.insert(given.begin(), of.view());
  call(*get("set_input"), given, settings);
}

void RemoteVm::invoke_stateful(std::string_view name, const CallSettings &settings) {
  const Value of(name);
  call(*get("invoke_stateful"), {&of.view(), 1}, settings);
}

Value RemoteVm::output(std::string_view name, std::span<const int64_t> path) const {
  std::vector<Value> args{Value(name)};
  args.insert(args.end(), path.begin(), path.end());
  return call(*get("get_output"), {&args.front().view(), args.size()}, {});
}

void RemoteVm::set_instrument(Ref<Function> instrument) {
  const Value itself(std::move(instrument));
  call(*get("set_instrument"), {&itself.view(), 1}, {});
}

std::vector<std::string> RemoteVm::param_list(std::string_view function) const {
  const Value of(function);
  const int64_t count = as_int(call(*get("get_function_arity"), {&of.view(), 1}, {}), "the number of parameters");
  constexpr int64_t kMost = 1 << 16;
  if (count < 0 || count > kMost) fail(OPD_BAD_FORMAT, "a function of the server has ", count, " parameters");
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) {
    const View args[] = {of.view(), opd_int(i)};
    const Value name = call(*get("get_function_param_name"), args, {});
    names.emplace_back(as_text(name, "the name of a parameter"));
  }
  return names;
}

Ref<AnyVm> make_vm(Ref<RemoteModule> program, const VmSettings &settings) {
  const VmSettings usual;
  if (settings.memory_limit_bytes != usual.memory_limit_bytes || settings.max_depth != usual.max_depth)
    fail(OPD_UNSUPPORTED,
         "a VM on another machine has the limits of its server; memory_limit_bytes and max_depth are "
         "for programs of this process");
  const std::shared_ptr<ClientSession> &session = program->session;
  const Ref<Function> loader = program->find("vm_load_executable");
  if (!loader) fail(OPD_INVALID_ARGUMENT, "the module on ", session->address(), " has no program of a VM");
  const Value made = opd::call(*loader, {});
  const Ref<RemoteModule> vm = try_remote(as<Module>(made, "what vm_load_executable gives"));
  if (!vm) fail(OPD_BAD_FORMAT, "vm_load_executable gives no module");
  std::vector<View> devices;
  const auto add = [&](DLDevice device, int64_t allocator) {
    devices.insert(devices.end(), {opd_int(device.device_type), opd_int(device.device_id), opd_int(allocator)});
  };
  std::vector<VmDevice> wanted = settings.devices;
  if (wanted.size() == 1 && same(wanted[0].device, kHost))
    wanted[0].device = session->here(kHost);  // same as no device
  for (const VmDevice &device : wanted) add(session->there(device.device), device.allocator);
  if (session->there(wanted.back().device).device_type != kDLCPU) add(kHost, OPD_ALLOCATOR_POOLED);
  const Ref<Function> initialize = vm->find("vm_initialization");
  if (!initialize) fail(OPD_BAD_FORMAT, "the VM on ", session->address(), " cannot be given devices");
  opd::call(*initialize, devices);
  return make_object<RemoteVm>(vm, wanted.front().device);
}

}  // namespace opd::rpc
