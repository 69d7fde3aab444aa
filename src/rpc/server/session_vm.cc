#include "rpc/server/session_vm.h"

#include "rpc/wire/remote_profile_options.h"
#include "vm/vm.h"

namespace opd::rpc {
namespace {

const View &at(Args args, size_t place, const char *what) {
  if (place >= args.size()) fail(OPD_INVALID_ARGUMENT, "there are ", args.size(), " arguments; ", what, " is missing");
  return args[place];
}
int64_t int_of(Args args, size_t place, const char *what) { return as_int(at(args, place, what), what); }
std::string_view text_of(Args args, size_t place, const char *what) { return as_text(at(args, place, what), what); }

// TVM's clients first look up the module and its functions. They name the devices later, and the VM is made then.
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
    const std::string_view name = text_of(args, 0, "the name of the function");  // first, as the rest may be absent
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

}  // namespace

Ref<Function> vm_loader(const Ref<Module> &module, const std::shared_ptr<WorkFolder> &files) {
  if (module->kind() != std::string_view(kExecutableKind)) return nullptr;
  return make_function([module, files](Args) { return Value(make_object<VmModule>(module, files)); });
}

}  // namespace opd::rpc
