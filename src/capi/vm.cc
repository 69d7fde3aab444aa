// Implements include/opdyno/vm.h.
#include "vm/vm.h"

#include <cmath>
#include <cstdlib>

#include "base/log.h"
#include "capi/handles.h"
#include "profiler/vm_profile.h"
#include "replay/call_capture.h"
#include "rpc/client/client_session.h"

using namespace opd;

namespace {

VmSettings settings_of(const opd_vm_options *given) {
  const opd_vm_options options = read_options(given, opd_vm_options_init);
  VmSettings settings;
  const auto devices = OPD_REQUIRE_ITEMS(options.devices, options.num_devices);
  if (!devices.empty()) settings.devices.clear();
  for (size_t i = 0; i < devices.size(); ++i)
    settings.devices.push_back({devices[i], options.allocators ? options.allocators[i] : OPD_ALLOCATOR_POOLED});
  if (devices.empty() && options.allocators) settings.devices[0].allocator = options.allocators[0];
  settings.memory_limit_bytes = options.memory_limit_bytes;
  settings.max_depth = options.max_depth;
  return settings;
}

Module *param_module_of(const opd_call_options *given) {
  return unwrap<Module>(read_options(given, opd_call_options_init).param_module);
}

CallSettings settings_of(const opd_call_options *given, int32_t num_args, bool takes_params = false) {
  CallSettings settings;
  if (!given) return settings;
  const opd_call_options options = read_options(given, opd_call_options_init);
  require(takes_params || !options.param_module, "param_module is an option of set_input only");
  if (options.names) settings.names.assign(options.names, options.names + num_args);
  require(options.timeout_ns >= 0, "timeout_ns must not be negative, but is ", options.timeout_ns);
  settings.timeout_ns = options.timeout_ns;
  settings.cancel = options.cancel ? unwrap<CancelToken>(options.cancel) : nullptr;
  settings.outputs = OPD_REQUIRE_ITEMS(options.outputs, options.num_outputs);
  return settings;
}

// OPDYNO_RECORD_LAST names a file that keeps the latest call of all VMs.
Ref<Vm> recorded(Ref<Vm> vm) {
  if (const char *path = ::secure_getenv("OPDYNO_RECORD_LAST"); path && *path) capture_each_call(*vm, path);
  return vm;
}

AnyVm &vm_of(opd_vm *vm) { return *unwrap<AnyVm>(vm); }

}  // namespace

opd_error *opd_vm_create(opd_module *module, const opd_vm_options *options, opd_vm **out_vm) {
  return guard([&] {
    OPD_REQUIRE(module, out_vm);
    tell_kept_warnings();
    auto shared = Ref<Module>::share(unwrap<Module>(module));
    if (auto there = rpc::try_remote(*shared))
      *out_vm = wrap<opd_vm>(rpc::make_vm(std::move(there), settings_of(options)));
    else *out_vm = wrap<opd_vm>(recorded(Vm::make(std::move(shared), settings_of(options))));
  });
}

opd_error *opd_vm_call(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                       const opd_call_options *options, opd_value *out_value) {
  return guard([&]() -> Ref<Error> {
    OPD_REQUIRE(vm, name);
    Value result;
    Ref<Error> error = vm_of(vm).run_named(name, args_of(args, num_args), settings_of(options, num_args), result);
    if (!error && out_value) *out_value = result.detach();
    return error;
  });
}

opd_error *opd_vm_get_function(opd_vm *vm, const char *name, opd_function **out_function) {
  return guard([&] {
    OPD_REQUIRE(vm, name, out_function);
    *out_function = wrap<opd_function>(vm_of(vm).function(name));
  });
}

opd_error *opd_vm_invoke_closure(opd_vm *vm, opd_function *closure, const opd_value *args, int32_t num_args,
                                 const opd_call_options *options, opd_value *out_value) {
  return guard([&] {
    OPD_REQUIRE(vm, closure);
    const CallSettings settings = settings_of(options, num_args);
    require(settings.names.empty() && settings.outputs.empty(), "a closure takes neither named arguments nor outputs");
    Value result = vm_of(vm).invoke_closure(*unwrap<Function>(closure), args_of(args, num_args), settings);
    if (out_value) *out_value = result.detach();
  });
}

opd_error *opd_vm_save_function(opd_vm *vm, const char *name, const char *saved_name, const opd_value *args,
                                int32_t num_args, const opd_call_options *options, int32_t include_return) {
  return guard([&] {
    OPD_REQUIRE(vm, name, saved_name);
    vm_of(vm).save_function(name, saved_name, args_of(args, num_args), settings_of(options, num_args),
                            include_return != 0);
  });
}

opd_error *opd_vm_set_input(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                            const opd_call_options *options) {
  return guard([&] {
    OPD_REQUIRE(vm, name);
    const Args views = args_of(args, num_args);
    Module *params = param_module_of(options);
    const CallSettings settings = settings_of(options, num_args, true);
    if (params) vm_of(vm).set_input_with_param_module(name, views, settings, *params);
    else vm_of(vm).set_input(name, views, settings);
  });
}

opd_error *opd_vm_invoke_stateful(opd_vm *vm, const char *name, const opd_call_options *options) {
  return guard([&] {
    OPD_REQUIRE(vm, name);
    vm_of(vm).invoke_stateful(name, settings_of(options, 0));
  });
}

opd_error *opd_vm_get_outputs(opd_vm *vm, const char *name, const int64_t *path, int32_t path_size,
                              opd_value *out_value) {
  return guard([&] {
    OPD_REQUIRE(vm, name, out_value);
    OPD_REQUIRE_ITEMS(path, path_size);
    *out_value = vm_of(vm).output(name, {path, static_cast<size_t>(path_size)}).detach();
  });
}

opd_error *opd_vm_set_instrument(opd_vm *vm, opd_function *instrument) {
  return guard([&] {
    OPD_REQUIRE(vm);
    vm_of(vm).set_instrument(Ref<Function>::share(unwrap<Function>(instrument)));
  });
}

int32_t opd_vm_has_function(opd_vm *vm, const char *name) { return vm && name && vm_of(vm).has_function(name); }

opd_error *opd_vm_list_functions(opd_vm *vm, opd_array **out_names) {
  return guard([&] {
    OPD_REQUIRE(vm, out_names);
    *out_names = wrap_names(vm_of(vm).function_list());
  });
}

opd_error *opd_vm_list_params(opd_vm *vm, const char *name, opd_array **out_names) {
  return guard([&] {
    OPD_REQUIRE(vm, name, out_names);
    *out_names = wrap_names(vm_of(vm).param_list(name));
  });
}

opd_error *opd_vm_trim(opd_vm *vm) {
  return guard([&] {
    OPD_REQUIRE(vm);
    vm_of(vm).trim();
  });
}

namespace {

VmProfileOptions profile_options_of(const opd_profile_options *options) {
  const opd_profile_options how = read_options(options, opd_profile_options_init);
  require(how.builtins >= OPD_BUILTINS_WITH_TENSORS && how.builtins <= OPD_BUILTINS_FOLDED, "builtins is ",
          static_cast<int32_t>(how.builtins), ", but must be 0 (with tensors), 1 (all) or 2 (folded)");
  require(how.sample_interval >= 1, "sample_interval must be at least 1");
  require(how.turn >= 0, "turn must be at least 0, but is ", how.turn);
  require(how.budget_s >= 0 && std::isfinite(how.budget_s), "budget_s must be at least 0 and finite, but is ",
          how.budget_s);
  VmProfileOptions given;
  given.warmup = how.warmup;
  given.repeat = how.repeat;
  given.max_calls = how.max_records;
  given.sample_interval = how.sample_interval;
  given.all_calls = how.builtins != OPD_BUILTINS_WITH_TENSORS;
  given.collectors = objects_of<Ref<Collector>>(OPD_REQUIRE_ITEMS(how.collectors, how.num_collectors), "collectors");
  given.folds_builtins = how.builtins == OPD_BUILTINS_FOLDED;
  given.details = how.details != 0;
  given.turn = how.turn;
  given.budget_s = how.budget_s;
  return given;
}

void give(VmProfile profile, opd_report **out_report, opd_trace **out_trace) {
  *out_report = wrap<opd_report>(std::move(profile.report));
  if (out_trace) *out_trace = wrap<opd_trace>(std::move(profile.trace));
}

}  // namespace

opd_error *opd_vm_profile(opd_vm *vm, const char *name, const opd_value *args, int32_t num_args,
                          const opd_call_options *call_options, const opd_profile_options *options,
                          opd_report **out_report, opd_trace **out_trace) {
  return guard([&] {
    OPD_REQUIRE(vm, name, out_report);
    const VmProfileOptions how = profile_options_of(options);
    const Args views = args_of(args, num_args);
    const CallSettings settings = settings_of(call_options, num_args);
    give(profile_named(vm_of(vm), name, views, settings, how, out_trace != nullptr), out_report, out_trace);
  });
}

opd_error *opd_vm_profile_start(opd_vm *vm, const opd_profile_options *options) {
  return guard([&] {
    OPD_REQUIRE(vm);
    const VmProfileOptions how = profile_options_of(options);
    start_profile(vm_of(vm), how);
  });
}

opd_error *opd_vm_profile_stop(opd_vm *vm, opd_report **out_report, opd_trace **out_trace) {
  return guard([&] {
    OPD_REQUIRE(vm, out_report);
    give(stop_profile(vm_of(vm), out_trace != nullptr), out_report, out_trace);
  });
}
