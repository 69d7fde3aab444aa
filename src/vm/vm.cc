#include "vm/vm.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/fork_mutex.h"
#include "device/graph.h"
#include "module/kinds/code_module.h"
#include "trace/record/library_range.h"
#include "trace/record/recording.h"
#include "vm/executable_module.h"
#include "vm/observe.h"

namespace opd {
namespace {

struct KnownVms {
  ForkMutex guard{LockRank::kKnownVms};
  std::set<Vm *> vms;
  static KnownVms &get() {
    static auto *known = new KnownVms;  // never destroyed: VMs may end while the process exits
    return *known;
  }
};
// Made at load, because a destructor that uses it must not run out of memory.
[[maybe_unused]] const KnownVms &made_at_load = KnownVms::get();

template <class Visit>
void each_code(Module &module, std::set<const Module *> &seen, const Visit &visit) {
  // Modules may share an import.
  if (!seen.insert(&module).second) return;
  if (auto *code = dynamic_cast<CodeModule *>(&module)) visit(*code);
  for (const auto &import : module.imports()) each_code(*import, seen, visit);
}

}  // namespace

// This is slow, but OperatorNames calls it only once per callee.
std::string Vm::name_of(const Function &function) const {
  if (const std::string *const own = program_name_of(function)) return *own;
  const auto &callees = program_->callees;  // a program may pass one of these to a builtin
  const auto is_it = [&function](const Ref<Function> &callee) { return callee.get() == &function; };
  if (const auto callee = std::ranges::find_if(callees, is_it); callee != callees.end())
    return executable().functions[static_cast<size_t>(callee - callees.begin())].name;
  std::string name;
  std::set<const Module *> seen;
  each_code(*module_, seen, [&](CodeModule &code) {
    if (name.empty()) name = code.looked_up_name(function);
  });
  return name;
}

std::string Vm::looked_up_name(const Function &function) const {
  std::string name = name_of(function);
  return name.empty() ? "packed function" : name;
}

Ref<Function> Vm::find_function_named(const std::string &name) {
  const auto &functions = executable().functions;
  for (size_t i = 0; i < functions.size(); ++i)
    if (functions[i].name == name) return lasting_function(*inner_functions_[i]);
  return module_->find_with_imports(name);
}

// A hook observes a kernel in the slot through which its library calls it. Code linked into the program has no known
// slots. A kernel that its library binds to itself has no slot.
std::string Vm::recording_note() const {
  if (!is_compiled()) return {};
  size_t hidden = 0, seen = 0;
  for (const CallHooks *hooks : libraries_) hidden += hooks->num_hidden(), seen += hooks->size() - hooks->num_hidden();
  bool in_program = false;
  std::set<const Module *> visited;
  each_code(*module_, visited, [&](CodeModule &code) { in_program |= !code.call_hooks(); });
  if (in_program) return "calls of compiled kernels that are linked into the program are not shown";
  if (hidden)
    return concat("calls of ", hidden, " compiled kernels are not shown: a process can follow ", kMostHookedKernels,
                  " kernels at a time");
  return seen ? "" : "calls of compiled kernels are bound inside their library and not shown";
}

const NameId *Vm::function_names() {
  if (has_names_.load(std::memory_order_acquire)) return names_.data();
  std::scoped_lock lock(guard_);
  if (has_names_.load(std::memory_order_relaxed)) return names_.data();
  names_.clear();  // removes names of an earlier try: name_id() throws if memory cannot be allocated
  names_.reserve(program_->functions.size() + program_->callee_of.size());
  const std::string file = module_->file();
  program_name_ = name_id(std::string_view(file).substr(file.rfind('/') + 1));
  for (const FunctionInfo &info : program_->executable->functions) names_.push_back(name_id(info.name));
  // Names are also stored by instruction, so that recording a call reads one table.
  for (const uint32_t callee : program_->callee_of) names_.push_back(names_[callee]);
  // Released after the last name, so a thread that sees the flag reads the names without the lock. They never change
  // again, so the pointer stays valid.
  has_names_.store(true, std::memory_order_release);
  return names_.data();
}

Ref<Vm> Vm::make(Ref<Module> module, VmSettings settings) {
  const LibraryRange range("create VM");
  Ref<Executable> executable = executable_of(*module);
  for (const auto &device : settings.devices) {
    device_backend(device.device);  // throws if it is absent
    require(device.allocator == OPD_ALLOCATOR_NAIVE || device.allocator == OPD_ALLOCATOR_POOLED, "allocator ",
            int{device.allocator}, " does not exist; 1 is naive, 2 is pooled");
  }
  require(!settings.devices.empty(), "a VM needs a device");
  require(settings.max_depth >= 1, "max_depth must be at least 1, but is ", settings.max_depth);
  // As in TVM, the last device is the host. It holds heaps of shapes, and storages for device -1.
  if (settings.devices.back().device.device_type != kDLCPU)
    settings.devices.push_back({kHost, settings.devices.back().allocator});
  auto vm = make_object<Vm>(Key(), std::move(settings));
  for (const VmDevice &device : vm->devices()) vm->is_asynchronous_ |= device_backend(device.device).is_asynchronous();
  vm->budget_ = make_object<MemoryBudget>(vm->settings_.memory_limit_bytes);
  vm->module_ = module;
  const auto find = [&](const std::string &name) {
    // Imports come first, because a registered function of the same name must not replace the program's kernel.
    for (const auto &import : module->imports())
      if (auto function = import->find_with_imports(name)) return function;
    return find_function(name);
  };
  const auto inner = [&](uint32_t index) -> Ref<Function> {
    return make_inner_function(*vm, index, executable->functions[index].name);
  };
  vm->program_ = Program::decode(executable, find, inner);
  const bool keeps = std::ranges::all_of(
      vm->devices(), [](const VmDevice &device) { return device.allocator == OPD_ALLOCATOR_POOLED; });
  if (keeps) plan(*vm->program_);  // other allocators keep no memory
  // Constants are placed before the first run, because each frame copies them into its registers.
  vm->place_constants();
  const Program &program = *vm->program_;
  const bool compiled = std::ranges::any_of(program.bodies, [](const auto &body) { return static_cast<bool>(body); });
  for (uint32_t i = 0; i < executable->functions.size(); ++i) {
    vm->inner_functions_.push_back(program.callees[i] ? program.callees[i] : inner(i));
    // The list stays empty for bytecode. is_compiled() relies on that.
    if (compiled) vm->function_values_.push_back(vm->function_value(i));  // machine code finds functions by index
  }
  std::set<const Module *> seen;
  if (compiled) {
    std::set<std::string_view> missing;
    set_call_hook(&observe_kernel);
    each_code(*module, seen, [&](CodeModule &code) {
      if (CallHooks *hooks = code.call_hooks()) vm->libraries_.push_back(hooks);
      // Machine code asks for a function only when it calls it, so a missing one would fail in the middle of a call.
      // The check does not use find(), which would load kernels, even those of devices that this machine lacks.
      for (const std::string_view name : code.called_functions())
        if (!module->implements_with_imports(name) && !find_function(name)) missing.insert(name);
    });
    if (!missing.empty()) fail_missing_functions(joined(missing));
  }
  {
    std::scoped_lock lock(KnownVms::get().guard);
    // The VM is listed last: from here on, idle_bytes() of other threads reads it.
    KnownVms::get().vms.insert(vm.get());
  }
  return vm;
}

Vm::~Vm() {
  {
    std::scoped_lock lock(KnownVms::get().guard);
    // This comes first: idle_bytes() holds the same lock while it reads a VM, so it never reads one whose members are
    // ending.
    KnownVms::get().vms.erase(this);
  }
  // A recording filters by the VM's address, which a later VM may get.
  if (is_recording()) end_recordings_of(this);
  trim();
}

// Kernels expect constants on the device of their other arguments. Devices of type kDLCPU share the host's memory.
void Vm::place_constants() {
  const DLDevice device = devices().front().device;
  std::map<const View *, std::string_view> scopes;  // scopes of constants
  for (const MemoryScope &scope : program_->executable->scopes) {
    const View &constant = program_->constants[static_cast<size_t>(scope.constant)];
    // Scopes are checked on the host, too, where nothing is placed: check_scope() refuses a scope that the device
    // lacks.
    if (constant.type == OPD_TENSOR && check_scope(scope.scope, device)) scopes.emplace(&constant, scope.scope);
  }
  if (same(device, kHost)) return;
  for (View &constant : program_->constants) {
    if (constant.type != OPD_TENSOR) continue;
    const auto scope = scopes.find(&constant);
    auto tensor = Ref<Tensor>::share(static_cast<Tensor *>(object_of(constant)));
    placed_constants_.push_back(
        device.device_type == kDLCPU
            ? Tensor::make(dims_of(tensor->dl), tensor->dl.dtype, device, data_of(tensor->dl), tensor)
            : copied_to(device, tensor->dl, MemoryUse::kParameter, scope == scopes.end() ? "" : scope->second));
    constant = view_of(placed_constants_.back().get());
  }
}

void Vm::set_instrument(Ref<Function> instrument) {
  state_.set_instrument(std::move(instrument));
  keep_hooks();
}

void Vm::expect_recordings(bool is_expected) {
  {
    std::scoped_lock lock(guard_);
    expected_recordings_ += is_expected ? 1 : -1;
  }
  keep_hooks();
}

void Vm::keep_hooks() {
  std::scoped_lock lock(guard_);
  // Both reasons are read under the lock, after one of them has changed. So if two threads change them at once, the
  // later call sees the final state.
  if (!state_.instrument() && expected_recordings_ == 0) hooks_.reset();
  else if (!hooks_) hooks_.emplace(libraries_);
}

// A run keeps memory between calls. If its latest call used another stream, that call's work may still use the memory.
void Vm::use_streams(Run &run) {
  run.streams.resize(devices().size());
  for (size_t i = 0; i < devices().size(); ++i) {
    const DLDevice device = devices()[i].device;
    void *const before = std::exchange(run.streams[i], current_stream(device));
    if (before != run.streams[i]) wait_for_stream(device, before);
  }
}

int Vm::wait_for_device(Args args) const noexcept {
  return raising([&] {
    // Starts at the end: a kernel's outputs come last, and they lie on the device that does the work.
    for (size_t i = args.size(); i-- > 0;)
      if (const DLTensor *tensor = try_dltensor(args[i])) {
        if (tensor->device.device_type != kDLCPU && !is_capturing(tensor->device))  // captured work is not executed yet
          device_backend(tensor->device).sync_stream(tensor->device.device_id, current_stream(tensor->device));
        return;
      }
  });
}

// The spare run needs no lock: acquire here and release in give_back() pass its state from thread to thread.
Run *Vm::acquire() {
  Run *const run = take_idle();
  if (is_asynchronous_) [[unlikely]] {
    auto keep = std::unique_ptr<Run>(run);  // deletes the run if the next line throws
    use_streams(*run);
    return keep.release();
  }
  return run;
}

Run *Vm::take_idle() {
  // If only one thread calls a program, it always finds the spare run and takes no lock.
  if (Run *run = spare_.exchange(nullptr, std::memory_order_acquire)) return run;
  {
    std::scoped_lock lock(guard_);
    if (idle_) return std::exchange(idle_, idle_->next_idle);
  }
  return new Run(*this, *program_);
}

void Vm::give_back(Run *run) {
  run->end_call();
  if (is_capturing()) [[unlikely]]
    return delete run;  // the captured graph uses the run's memory, so the run must not be reused
  // Releases this run's state to the next call, and acquires the previous spare run's state, because its link is
  // written below.
  run = spare_.exchange(run, std::memory_order_acq_rel);
  if (!run) return;
  std::scoped_lock lock(guard_);
  run->next_idle = std::exchange(idle_, run);
}

void Vm::trim() {
  drop_idle_runs();
  for (const VmDevice &each : devices()) trim_memory(each.device);
}

void Vm::drop_idle_runs() {
  Run *list;
  {
    std::scoped_lock lock(guard_);
    list = std::exchange(idle_, nullptr);
  }
  if (Run *run = spare_.exchange(nullptr, std::memory_order_acquire)) run->next_idle = list, list = run;
  // The runs are deleted without the lock, so that other calls need not wait until devices have freed the memory.
  while (list) delete std::exchange(list, list->next_idle);
}

size_t Vm::count() {
  std::scoped_lock lock(KnownVms::get().guard);
  return KnownVms::get().vms.size();
}

uint64_t Vm::idle_bytes(DLDevice device) {
  uint64_t sum = 0;
  std::scoped_lock lock(KnownVms::get().guard);
  for (Vm *vm : KnownVms::get().vms) sum += vm->idle_bytes_here(device);
  return sum;
}

uint64_t Vm::idle_bytes_here(DLDevice device) {
  uint64_t sum = 0;
  std::scoped_lock lock(guard_);
  for (const Run *run = idle_; run; run = run->next_idle) sum += run->idle_bytes(device);
  // The spare run is taken while it is read. A call that begins before it is back uses another run.
  if (Run *run = spare_.exchange(nullptr, std::memory_order_acquire)) {
    sum += run->idle_bytes(device);
    // If a call has returned its run since then, that one is the spare run now. This run goes to the list, whose lock
    // is held.
    Run *none = nullptr;
    if (!spare_.compare_exchange_strong(none, run, std::memory_order_acq_rel))
      run->next_idle = std::exchange(idle_, run);
  }
  return sum;
}

Ref<Error> Vm::run(uint32_t index, Args args, const CallSettings &settings, Value &result) {
  if (state_.has_listening_keeper()) [[unlikely]]
    // The keeper may have ended since the flag was read. The reference keeps it alive during the call.
    if (const Ref<CallKeeper> keeper = state_.keeper()) return keeper->run(*this, index, args, settings, result);
  return run_here(index, args, settings, result);
}

Ref<Error> Vm::run_here(uint32_t index, Args args, const CallSettings &settings, Value &result) {
  const FunctionInfo &info = *program_->functions[index].info;
  {
    // The arguments are made before the scope, so that a refused call borrows no run. They end after the scope, because
    // the run borrows them.
    const CallArguments checked(*this, info, args, settings.names);
    CallScope scope(*this, index, settings);
    Run &run = scope.run();
    result = Value::take(program_->bodies[index] ? run_compiled(run, index, checked.views())
                                                 : interpret(run, index, checked.views()));
    if (run.failure) [[unlikely]] {
      // The scope reads the error when it ends. By then, the return value owns the reference.
      scope.note_failure(*run.failure);
      return std::move(run.failure);
    }
  }
  if (result.type() == OPD_FUNCTION) [[unlikely]]
    // Function values of a program do not keep the VM, because the VM keeps them. A function value that leaves the call
    // must keep it.
    result = lasting_function(*try_as<Function>(result));
  if (!settings.outputs.empty()) store_outputs(result, settings.outputs, info.name);
  return nullptr;
}

Value Vm::call(uint32_t index, Args args, const CallSettings &settings) {
  Value result;
  if (Ref<Error> error = run(index, args, settings, result)) throw Exception(std::move(error));
  return result;
}

}  // namespace opd
