#include "vm/vm.h"

#include <algorithm>
#include <set>

#include "module/library_module.h"
#include "vm/compiled.h"
#include "vm/executable_module.h"

namespace opd {

namespace {

constexpr int32_t kMaxNativeDepth = 200;  // runs inside builtins inside runs: each takes some C stack

// Makes a run the thread's own while it lives.
class ActiveRun {
 public:
  explicit ActiveRun(Run &run) : outer_(thread_state().run_pool) {
    const Run *before = Run::of_thread();
    run.native_depth = before ? before->native_depth + 1 : 0;
    thread_state().run_pool = &run.pool;
  }
  ~ActiveRun() { thread_state().run_pool = outer_; }

 private:
  void *outer_;
};

// A call from within another run ends with it, and is recorded with it if it is of the same program.
void inherit(Run &run, const Run *outer, const CallSettings &settings) {
  run.token = settings.cancel;
  run.deadline_ns = 0;
  run.records = nullptr;
  if (settings.timeout_ns > 0 && __builtin_add_overflow(static_cast<int64_t>(monotonic_ns()), settings.timeout_ns, &run.deadline_ns))
    run.deadline_ns = 0;  // later than the clock can tell
  if (!outer) return;
  if (!run.token) run.token = outer->token;
  if (outer->deadline_ns && (!run.deadline_ns || outer->deadline_ns < run.deadline_ns)) run.deadline_ns = outer->deadline_ns;
  if (outer->vm == run.vm) run.records = outer->records, run.record_run = outer->record_run;
}

}  // namespace

// A function of the program as a packed function. The outer kind counts the VM; the inner one, which the program
// passes around, does not, since the VM itself holds it.
struct VmFunction final : Function {
  Vm *vm;
  Ref<Vm> keep;
  uint32_t index;

  VmFunction(Vm *v, Ref<Vm> k, uint32_t i) : Function(&invoke), vm(v), keep(std::move(k)), index(i) {}

  static int invoke(void *self, const View *args, int32_t num_args, View *result) {
    auto *function = static_cast<VmFunction *>(static_cast<Function *>(static_cast<Object *>(self)));
    try {
      if (!function->vm) fail(OPD_FAILED_PRECONDITION, "the VM of this function is gone");
      static const CallSettings kDefaults;
      *result = function->vm->call(function->index, {args, static_cast<size_t>(num_args)}, kDefaults).detach();
      return 0;
    } catch (...) {
      set_raised(current_error());
      return -1;
    }
  }
};

int32_t Vm::type() {
  static const int32_t index = register_type("opdyno.Vm");
  return index;
}

namespace {

template <class Visit>
void each_library(Module &module, std::set<const Module *> &seen, const Visit &visit) {
  if (!seen.insert(&module).second) return;
  if (auto *library = dynamic_cast<LibraryModule *>(&module)) visit(*library);
  for (const auto &import : module.imports()) each_library(*import, seen, visit);
}

}  // namespace

std::string Vm::looked_up_name(const Function &function) const {
  std::string name;
  std::set<const Module *> seen;
  each_library(*module_, seen, [&](LibraryModule &library) { if (name.empty()) name = library.looked_up_name(function); });
  return name.empty() ? "packed function" : name;
}

std::string Vm::recording_note() const {
  if (!is_compiled()) return {};
  size_t hidden = 0, seen = 0;
  for (const CallHooks *hooks : libraries_) hidden += hooks->num_hidden(), seen += hooks->size() - hooks->num_hidden();
  if (hidden) return concat("calls of ", hidden, " compiled kernels are not shown: more are watched at once than can be");
  return seen ? "" : "calls of compiled kernels are bound inside their library and not shown";
}

std::vector<std::string> Vm::record_names() {
  std::vector<std::string> names;
  for (const auto &info : program_->executable->functions) names.push_back(info.name);
  for (auto &name : operators_.all()) names.push_back(std::move(name));
  return names;
}

Ref<Vm> Vm::make(Ref<Module> module, VmSettings settings) {
  Ref<Executable> executable = executable_of(*module);
  for (const auto &device : settings.devices) {
    device_backend(device.device);
    if (device.device.device_type != kDLCPU) fail(OPD_UNSUPPORTED, "the VM runs on cpu:0 only, not on ", device_name(device.device));
    require(device.allocator == OPD_ALLOCATOR_NAIVE || device.allocator == OPD_ALLOCATOR_POOLED, "allocator ", int{device.allocator},
            " does not exist; 1 is naive, 2 is pooled");
  }
  require(!settings.devices.empty(), "a VM needs a device");
  require(settings.max_depth >= 1, "max_depth must be at least 1, but is ", settings.max_depth);
  if (settings.devices.back().device.device_type != kDLCPU) settings.devices.push_back({kHost, settings.devices.back().allocator});
  auto vm = make_object<Vm>(Key(), std::move(settings));
  vm->budget_ = make_object<MemoryBudget>(vm->settings_.memory_limit_bytes);
  vm->module_ = module;
  const auto find = [&](const std::string &name) {
    for (const auto &import : module->imports())
      if (auto function = import->find_with_imports(name)) return function;
    return find_function(name);
  };
  const auto inner = [&](uint32_t index) -> Ref<Function> { return make_object<VmFunction>(vm.get(), nullptr, index); };
  vm->program_ = Program::decode(executable, find, inner);
  const Program &program = *vm->program_;
  const bool compiled = std::any_of(program.bodies.begin(), program.bodies.end(), [](const auto &body) { return static_cast<bool>(body); });
  vm->inner_functions_.resize(executable->functions.size());
  const auto make_value = [&](uint32_t index) {
    vm->inner_functions_[index] = program.callees[index] ? program.callees[index] : inner(index);
  };
  for (const uint32_t index : program.function_values) make_value(index);
  if (compiled)  // its code finds any function by index
    for (uint32_t i = 0; i < executable->functions.size(); ++i) {
      make_value(i);
      vm->function_values_.push_back(vm->function_value(i));
    }
  std::set<const Module *> seen;
  if (compiled) each_library(*module, seen, [&](LibraryModule &library) { vm->libraries_.push_back(&library.call_hooks()); });
  return vm;
}

Vm::~Vm() {
  trim();
  for (const auto &function : inner_functions_)  // a program may have handed one out
    if (function && function->safe_call == &VmFunction::invoke) static_cast<VmFunction *>(function.get())->vm = nullptr;
}

Ref<Function> lasting_function(Function &function) {
  if (function.safe_call == &VmFunction::invoke) {
    const auto &own = static_cast<VmFunction &>(function);
    if (own.vm && !own.keep) return own.vm->function(own.index);
  }
  return Ref<Function>::share(&function);
}

uint32_t Vm::function_index(std::string_view name) const {
  return static_cast<uint32_t>(&program_->executable->get(name) - program_->executable->functions.data());
}

View Vm::function_value(uint32_t index) { return view_of(inner_functions_[index].get()); }

Ref<Function> Vm::function(uint32_t index) { return make_object<VmFunction>(this, Ref<Vm>::share(this), index); }

Run *Vm::acquire() {
  if (Run *run = spare_.exchange(nullptr, std::memory_order_acquire)) return run;
  {
    std::scoped_lock lock(guard_);
    if (idle_) return std::exchange(idle_, idle_->next_idle);
  }
  return new Run(*this, *program_);
}

void Vm::give_back(Run *run) {
  run->stop.store(StopReason::kNone, std::memory_order_relaxed);
  run->current.store(nullptr, std::memory_order_relaxed);
  run = spare_.exchange(run, std::memory_order_acq_rel);
  if (!run) return;
  std::scoped_lock lock(guard_);
  run->next_idle = std::exchange(idle_, run);
}

void Vm::trim() {
  Run *list;
  {
    std::scoped_lock lock(guard_);
    list = std::exchange(idle_, nullptr);
  }
  if (Run *run = spare_.exchange(nullptr, std::memory_order_acquire)) run->next_idle = list, list = run;
  while (list) delete std::exchange(list, list->next_idle);
}

Value Vm::run(Run &run, uint32_t function, Args args) {
  if (run.native_depth > kMaxNativeDepth)
    fail_as("RecursionError", OPD_OUT_OF_RANGE, "functions of programs call each other through foreign functions more than ", kMaxNativeDepth, " deep");
  return Value::take(program_->bodies[function] ? run_compiled(run, function, args) : interpret(run, function, args));
}

Value Vm::call(uint32_t index, Args args, const CallSettings &settings, RecordBuffer *records, uint64_t record_run) {
  const FunctionInfo &info = *program_->functions[index].info;
  const CallArguments checked(*this, info, args, settings.names);
  struct Borrowed {
    Vm *vm;
    Run *run;
    ~Borrowed() { vm->give_back(run); }
  } borrowed{this, acquire()};
  Run &own = *borrowed.run;
  inherit(own, Run::of_thread(), settings);
  if (records) own.records = records, own.record_run = record_run;
  if (is_compiled() && (own.token || own.deadline_ns)) std::call_once(watches_, [&] { watch_.emplace(libraries_); });
  Value result;
  {
    CancelGuard cancel(&own);
    DeadlineGuard deadline(&own);
    ActiveRun active(own);
    result = run(own, index, checked.views());
  }
  if (result.type() == OPD_FUNCTION) [[unlikely]] result = lasting_function(*try_as<Function>(result));
  if (!settings.outputs.empty()) store_outputs(result, settings.outputs, info.name);
  return result;
}

}  // namespace opd
