// Functions of a session that TVM's clients look up by name.
#include <algorithm>

#include "module/loader.h"
#include "rpc/client/remote_evaluator.h"
#include "rpc/server/server_session.h"
#include "rpc/wire/packets.h"
#include "rpc/wire/remote_profile_options.h"
#include "value/tvm_names.h"
#include "vm/vm.h"

namespace opd::rpc {
namespace {

using Files = const std::shared_ptr<WorkFolder>;

std::string_view name_in(Args args, const char *function, size_t count = 1) {
  require(args.size() == count, function, " takes ", count, " arguments, but was given ", args.size());
  return as_text(args[0], "the name of a file");
}

Ref<Module> module_in(const View &value) { return Ref<Module>::share(&as<Module>(value, "the module")); }

const View &at(Args args, size_t place, const char *what) {
  if (place >= args.size()) fail(OPD_INVALID_ARGUMENT, "there are ", args.size(), " arguments; ", what, " is missing");
  return args[place];
}
int64_t int_of(Args args, size_t place, const char *what) { return as_int(at(args, place, what), what); }
std::string_view text_of(Args args, size_t place, const char *what) { return as_text(at(args, place, what), what); }

// The VM that TVM's clients use in another process: a module whose functions have fixed names. The clients first look
// up the module and its functions. They name the devices later, and the VM is made then.
class VmModule final : public Module {
 public:
  VmModule(Ref<Module> program, std::shared_ptr<WorkFolder> files)
      : program_(std::move(program)), files_(std::move(files)) {}

  const char *kind() const override { return "relax.VirtualMachine"; }
  int32_t properties() const override { return OPD_MODULE_RUNNABLE; }
  std::vector<std::string> list() override {
    return vm_ ? vm_->executable().program_functions() : std::vector<std::string>();
  }
  Ref<Function> find(std::string_view name) override {
    static constexpr std::pair<std::string_view, Run> kFunctions[] = {
        {"vm_initialization", &VmModule::initialize},
        {"invoke_closure", &VmModule::invoke_closure},
        {"save_function", &VmModule::save_function},
        {"set_input", &VmModule::set_input},
        {"invoke_stateful", &VmModule::invoke_stateful},
        {"get_output", &VmModule::get_output},
        {"get_output_arity", &VmModule::get_output_arity},
        {"get_function_arity", &VmModule::get_function_arity},
        {"get_function_param_name", &VmModule::get_function_param_name},
        {"set_instrument", &VmModule::set_instrument},
        {kProfileFunction, &VmModule::profile},
        {kProfileStart, &VmModule::profile_start},
        {kProfileStop, &VmModule::profile_stop}};
    for (const auto &[offered, run] : kFunctions)
      if (name == offered)
        return make_function(
            [self = Ref<VmModule>::share(this), call = run](Args args) { return (self.get()->*call)(args); });
    return vm_ && vm_->has_function(name) ? vm_->function(name) : nullptr;
  }

 private:
  using Run = Value (VmModule::*)(Args);

  Vm &vm() const {
    if (!vm_) fail(OPD_FAILED_PRECONDITION, "the VM has no devices yet; call vm_initialization first");
    return *vm_;
  }

  // (device type, device number, kind of allocator) for each device
  Value initialize(Args args) {
    constexpr size_t kOfDevice = 3;
    require(!args.empty() && args.size() % kOfDevice == 0,
            "vm_initialization takes a type, a number and an allocator for each device, but was given ", args.size(),
            " arguments");
    VmSettings settings;
    settings.devices.clear();
    for (size_t i = 0; i < args.size(); i += kOfDevice) {
      const DLDevice device{static_cast<DLDeviceType>(as_int(args[i], "the type of a device")),
                            static_cast<int32_t>(as_int(args[i + 1], "the number of a device"))};
      const int64_t allocator = as_int(args[i + 2], "the kind of an allocator");
      require(allocator == OPD_ALLOCATOR_NAIVE || allocator == OPD_ALLOCATOR_POOLED, "the kind of an allocator is ",
              allocator, ", but must be 1 (naive) or 2 (pooled)");
      settings.devices.push_back({device, static_cast<opd_allocator_kind>(allocator)});
    }
    vm_ = Vm::make(program_, std::move(settings));
    return {};
  }
  Value invoke_closure(Args args) {
    require(!args.empty(), "invoke_closure takes a closure and its arguments");
    return vm().invoke_closure(as<Function>(args[0], "the closure"), args.subspan(1), {});
  }
  // (name, saved name, whether results are returned, arguments …)
  Value save_function(Args args) {
    constexpr size_t kHead = 3;
    const bool include_return = int_of(args, 2, "include_return") != 0;
    vm().save_function(text_of(args, 0, "the name"), text_of(args, 1, "the new name"), args.subspan(kHead), {},
                       include_return);
    return {};
  }
  Value set_input(Args args) {
    const std::string_view name = text_of(args, 0, "the name of the function");  // read first: the rest may be absent
    vm().set_input(name, args.subspan(1), {});
    return {};
  }
  Value invoke_stateful(Args args) {
    vm().invoke_stateful(text_of(args, 0, "the name of the function"), {});
    return {};
  }
  Value output_at(Args args) const {
    std::vector<int64_t> path;
    for (size_t i = 1; i < args.size(); ++i) path.push_back(as_int(args[i], "the place of an output"));
    return vm().output(text_of(args, 0, "the name of the function"), path);
  }
  Value get_output(Args args) { return output_at(args); }
  Value get_output_arity(Args args) {  // -1: not a tuple
    const Value output = output_at(args);
    const Array *items = try_as<Array>(output);
    return items ? items->count : int64_t{-1};
  }
  const FunctionInfo &function_in(Args args) const {
    return vm().executable().functions[vm().function_index(text_of(args, 0, "the name of the function"))];
  }
  Value get_function_arity(Args args) { return static_cast<int64_t>(function_in(args).param_names.size()); }
  Value get_function_param_name(Args args) {
    const auto &names = function_in(args).param_names;
    const int64_t place = int_of(args, 1, "the place of a parameter");
    require(place >= 0 && place < static_cast<int64_t>(names.size()), "the function has ", names.size(),
            " parameters, none at ", place);
    return names[static_cast<size_t>(place)];
  }
  Value set_instrument(Args args) {
    require(args.size() == 1, "set_instrument takes a function");
    vm().set_instrument(Ref<Function>::share(&as<Function>(args[0], "the instrument")));
    return {};
  }
  // The recording's file in the session's folder. It is removed with this object.
  class Recorded {
   public:
    Recorded(WorkFolder &files, std::string name) : files_(files), name_(std::move(name)) {}
    ~Recorded() { files_.remove(name_), files_.remove(concat(name_, ".live")); }
    Recorded(const Recorded &) = delete;
    std::string path() const { return files_.path(name_); }
    // Returns the report as JSON, after its size, and then the trace.
    Value with(const VmProfile &profile, bool wants_trace) const {
      ByteWriter bytes;
      bytes.write_string(profile.report->to_json());
      return make_bytes(bytes.take() + (wants_trace ? files_.read(name_) : ""));
    }

   private:
    WorkFolder &files_;
    const std::string name_;
  };
  static RemoteProfileOptions options_in(Args args) {
    return read_profile_options(text_of(args, 0, "the options of the profile"));
  }

  // (the options, arguments …) → report and trace
  Value profile(Args args) {
    RemoteProfileOptions remote = options_in(args);
    const Recorded recorded(*files_, "profile.opdtrace");
    if (remote.wants_trace) remote.options.file = recorded.path();
    const VmProfile made = profile_named(vm(), remote.function, args.subspan(1), {}, remote.options);
    return recorded.with(made, remote.wants_trace);
  }
  // Takes the options.
  Value profile_start(Args args) {
    RemoteProfileOptions remote = options_in(args);
    static int last = 0;  // counts for all VMs; a session's requests run one by one
    const std::string name = concat("started-", ++last, ".opdtrace");
    remote.options.file = files_->path(name);
    start_profile(vm(), remote.options);
    started_ = name;
    return {};
  }
  // (whether the trace is wanted) → report and trace
  Value profile_stop(Args args) {
    const VmProfile made = stop_profile(vm());
    return Recorded(*files_, started_).with(made, int_of(args, 0, "wants_trace") != 0);
  }

  Ref<Module> program_;
  const std::shared_ptr<WorkFolder> files_;
  Ref<Vm> vm_;
  std::string started_;  // file of the started recording
};

// Returns the function `vm_load_executable` of a module with a program; null if the module has none.
Ref<Function> vm_loader(const Ref<Module> &module, Files &files) {
  if (module->kind() != std::string_view(kExecutableKind)) return nullptr;
  return make_function([module, files](Args) { return Value(make_object<VmModule>(module, files)); });
}

// The functions of a program belong to its VM. The client makes the VM with the function of this name.
Ref<Function> function_of(const Ref<Module> &module, std::string_view name, bool query_imports, Files &files) {
  if (name == "vm_load_executable")
    if (Ref<Function> loader = vm_loader(module, files)) return loader;
  return query_imports ? module->find_with_imports(name) : module->find(name);
}

// If only modules of a list are allowed, clients get only these global functions. They do arithmetic, make tensors and
// objects, and call functions that they get as arguments. Other global functions may load code, for example
// ffi.ModuleLoadFromFile.
bool is_open_with_a_list(std::string_view name) {
  constexpr std::string_view kCallsAnyByName = "vm.builtin.invoke_debug_func";
  constexpr std::string_view kOpen[] = {"__tvm_set_device", "runtime.TVMTensorCreateView"};
  constexpr std::string_view kOpenGroups[] = {kBuiltinPrefix, "relax.run.", "tvm.contrib.sort."};
  return std::ranges::find(kOpen, name) != std::end(kOpen) ||
         (name != kCallsAnyByName &&
          std::ranges::any_of(kOpenGroups, [&](std::string_view group) { return name.starts_with(group); }));
}

// Null: there is no such function.
Ref<Function> offered_function(std::string_view name, Files &files) {
  Ref<Function> found = find_function(name);
  if (found && files->allowed() && !is_open_with_a_list(name))
    fail(OPD_FAILED_PRECONDITION, "the global function ", std::string(name),
         " is not offered together with a list of allowed modules (opdyno serve --allow-modules)");
  return found;
}

Ref<Function> required_function(std::string_view name, Files &files) {
  Ref<Function> found = offered_function(name, files);
  return found ? found : global_function(name);  // the error of global_function() lists the existing names
}

Value load(Args args, Files &files) {
  ModuleOptions options;
  options.allowed = files->allowed();
  return Value(load_module(files->path(name_in(args, "load_module")), options));
}

// (file name) → the bytes of the library that the file is or is linked to. No code of it runs.
Value linked_module(Args args, Files &files) {
  const std::string_view name = name_in(args, "download_linked_module");
  ModuleOptions options;
  options.allowed = files->allowed();
  options.inspect_only = true, options.alone = true;
  const Ref<Module> module = load_module(files->path(name), options);
  if (!module->is_linked_library())
    fail(OPD_INVALID_ARGUMENT, std::string(name), " cannot be linked to a library: it is a module of the kind ",
         module->kind(), "; libraries, objects, and archives of them can");
  return make_bytes(module->library_bytes());
}

// (module, name, query imports) → function or None
Value module_get_function(Args args, Files &files) {
  require(args.size() == 3, "ModuleGetFunction takes a module, a name and a bool");
  return function_of(module_in(args[0]), as_text(args[1], "the name"), as_int(args[2], "query_imports") != 0, files);
}

Value import_module(Args args) {
  require(args.size() == 2, "ImportModule takes two modules");
  module_in(args[0])->add_import(module_in(args[1]));
  return {};
}

// Makes a function that measures. `is_own`: for opdyno's clients.
Value time_evaluator(Args args, bool is_own, Files &files) {
  const char *const maker = is_own ? kEvaluator : kTvmsEvaluator;
  const size_t count = is_own ? kCount : kTvmsCount;
  require(args.size() == count, maker, " takes ", count, " arguments, but was given ", args.size());
  const auto number = [&](size_t place) { return as_int(args[place], "a number of the evaluator"); };
  const std::string_view name = as_text(args[kName], "the name of the function");
  Ref<Function> function;
  if (args[kModule].type == OPD_NONE) function = required_function(name, files);
  else function = function_of(module_in(args[kModule]), name, true, files);
  if (!function) fail(OPD_NOT_FOUND, "the module has no function \"", std::string(name), "\"");
  EvaluatorOptions plan;
  plan.device = {static_cast<DLDeviceType>(number(kDeviceType)), static_cast<int32_t>(number(kDeviceNumber))};
  plan.number = number(kNumber), plan.repeat = number(kRepeat), plan.min_repeat_ms = number(kMinRepeatMs);
  plan.limit_zero_time_iterations = number(kLimitZeroTime), plan.cooldown_interval_ms = number(kCooldownMs);
  plan.repeats_to_cooldown = number(kRepeatsToCooldown), plan.cache_flush_bytes = number(kCacheFlushBytes);
  if (is_own && args[kPreprocess].type == OPD_FUNCTION)
    plan.preprocess = Ref<Function>::share(&as<Function>(args[kPreprocess], "the function to call before"));
  else if (const std::string_view before = as_text(args[kPreprocess], "f_preproc"); !before.empty())
    plan.preprocess = required_function(before, files);
  if (is_own)
    plan.warmup = number(kWarmup), plan.steady_ms = number(kSteadyMs), plan.concurrency = number(kConcurrency);
  auto evaluator = make_object<TimeEvaluator>(std::move(function), std::move(plan));
  return make_function([evaluator, is_own](Args given) {
    const Ref<Benchmark> found = evaluator->call(given);
    if (is_own) return make_bytes(write_benchmark(*found));
    return make_bytes({reinterpret_cast<const char *>(found->seconds.data()), found->seconds.size() * sizeof(double)});
  });
}

const Array &array_in(Args args, size_t count, const char *function) {
  require(args.size() == count, function, " takes ", count, " arguments, but was given ", args.size());
  return as<Array>(args[0], "the array");
}

// Clients read the items of results with these two. TVM's servers have them from tvm-ffi.
Value array_size(Args args) { return array_in(args, 1, "ffi.ArraySize").count; }
Value array_item(Args args) {
  const Array &array = array_in(args, 2, "ffi.ArrayGetItem");
  const int64_t place = as_int(args[1], "the place of an item");
  if (place < 0 || place >= array.count)
    fail_as("IndexError", OPD_OUT_OF_RANGE, "there is no item ", place, " in an array of ", array.count);
  return array.items()[place];
}

// (module) → the names of its functions, one per line
Value list_functions(Args args) {
  require(args.size() == 1, "opdyno.rpc.list_functions takes a module");
  return Value(joined(module_in(args[0])->list(), "\n"));
}

struct Offered {
  std::string_view name;
  Value (*run)(Args args, Files &files);
};
constexpr std::string_view kServerPrefix = "tvm.rpc.server.";
constexpr Offered kOffered[] = {
    {kTvmsEvaluator, [](Args args, Files &files) { return time_evaluator(args, false, files); }},
    {kEvaluator, [](Args args, Files &files) { return time_evaluator(args, true, files); }},
    {"ffi.ArraySize", [](Args args, Files &) { return array_size(args); }},
    {"ffi.ArrayGetItem", [](Args args, Files &) { return array_item(args); }},
    {kClockFunction, [](Args, Files &) { return Value(unix_ns()); }},
    {kHostFunction, [](Args, Files &) { return Value(TraceProcess::of_this().host); }},
    {kListFunction, [](Args args, Files &) { return list_functions(args); }},
    {kVersionFunction,
     [](Args, Files &) { return Value(concat(OPD_VERSION_MAJOR, ".", OPD_VERSION_MINOR, ".", OPD_VERSION_PATCH)); }},
    {"tvm.rpc.server.ModuleGetFunction", module_get_function},
    {"tvm.rpc.server.ImportModule", [](Args args, Files &) { return import_module(args); }},
    {"tvm.rpc.server.upload",
     [](Args args, Files &files) {
       const std::string_view file = name_in(args, "upload", 2);  // checked first, because the content may be absent
       files->write(file, bytes_in(args[1], "the content of a file"));
       return Value();
     }},
    {"tvm.rpc.server.download",
     [](Args args, Files &files) { return make_bytes(files->read(name_in(args, "download"))); }},
    {"tvm.rpc.server.remove",
     [](Args args, Files &files) {
       files->remove(name_in(args, "remove"));
       return Value();
     }},
    {"tvm.rpc.server.listdir", [](Args, Files &files) { return Value(files->list()); }},
    {"tvm.rpc.server.workpath", [](Args args, Files &files) { return Value(files->path(name_in(args, "workpath"))); }},
    {"tvm.rpc.server.download_linked_module", linked_module},
    {"tvm.rpc.server.load_module", load},
};

}  // namespace

Ref<Function> session_function(std::string_view name, const std::shared_ptr<WorkFolder> &files) {
  const auto found = std::ranges::find(kOffered, name, &Offered::name);
  if (found != std::end(kOffered))
    return make_function([files, run = found->run](Args args) { return run(args, files); });
  return name.starts_with(kServerPrefix) ? nullptr : offered_function(name, files);
}

}  // namespace opd::rpc
