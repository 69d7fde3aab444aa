// Functions of a program as packed functions: for users, inside the program, saved ones, and closures.
#include "vm/vm.h"

namespace opd {
namespace {

const CallSettings &kDefaults = *new CallSettings;  // never destroyed: threads may call while the process exits

int run(Vm &vm, uint32_t index, Args args, View *result) {
  Value made;
  if (Ref<Error> error = vm.run(index, args, kDefaults, made)) return set_raised(std::move(error)), -1;
  *result = made.detach();
  return 0;
}

// Calls a function of the program, or a saved one with its arguments.
struct BoundFunction final : Function {
  Ref<Vm> vm;
  uint32_t index;
  Ref<SavedFunction> saved;  // or null
  BoundFunction(Ref<Vm> v, uint32_t i, Ref<SavedFunction> s)
      : Function(&invoke), vm(std::move(v)), index(i), saved(std::move(s)) {}

  static int invoke(void *self, const View *args, int32_t num_args, View *result) {
    auto *function = static_cast<BoundFunction *>(static_cast<Object *>(self));
    return raising([&] {
      const Args given{args, static_cast<size_t>(num_args)};
      if (function->saved) {
        *result = function->vm->call_saved(*function->saved, given, kDefaults).detach();
        return 0;
      }
      function->vm->require_arguments(function->index, given);
      return run(*function->vm, function->index, given, result);
    });
  }
};

struct InnerFunction final : Function {
  WeakRef<Vm> vm;
  Vm *const address;  // only compared, unless `keep` is set
  Ref<Vm> keep;
  uint32_t index;
  std::string name;
  InnerFunction(Vm &v, Ref<Vm> k, uint32_t i, std::string n)
      : Function(&invoke), vm(&v), address(&v), keep(std::move(k)), index(i), name(std::move(n)) {}

  static int invoke(void *self, const View *args, int32_t num_args, View *result) {
    auto *function = static_cast<InnerFunction *>(static_cast<Object *>(self));
    return raising([&] {
      const Args views(args, static_cast<size_t>(num_args));
      const Run *caller = Run::of_thread();
      if (function->keep || (caller && caller->vm == function->address))  // common cases, in which the VM is alive
        return run(*function->address, function->index, views, result);
      const Ref<Vm> vm = function->vm.lock();
      if (!vm) fail(OPD_FAILED_PRECONDITION, "the VM of function ", function->name, " was released");
      return run(*vm, function->index, views, result);
    });
  }
};

}  // namespace

Ref<Function> make_bound_function(Ref<Vm> vm, uint32_t index) {
  return make_object<BoundFunction>(std::move(vm), index, nullptr);
}
Ref<Function> make_inner_function(Vm &vm, uint32_t index, std::string name) {
  return make_object<InnerFunction>(vm, nullptr, index, std::move(name));
}

Ref<Function> lasting_function(Function &function) {
  if (function.safe_call == &InnerFunction::invoke) {
    const auto &own = static_cast<InnerFunction &>(function);
    if (!own.keep)
      if (Ref<Vm> vm = own.vm.lock())
        return make_object<InnerFunction>(*own.address, std::move(vm), own.index, own.name);
  }
  return Ref<Function>::share(&function);
}

const std::string *program_name_of(const Function &function) {
  if (function.safe_call != &InnerFunction::invoke) return nullptr;
  return &static_cast<const InnerFunction &>(function).name;
}

Ref<Function> make_saved_call(Ref<Vm> vm, Ref<SavedFunction> saved) {
  const uint32_t index = saved->function;
  return make_object<BoundFunction>(std::move(vm), index, std::move(saved));
}

void visit_kept_by_function(Function &function, const std::function<void(Object *)> &visit) {
  if (function.safe_call == &BoundFunction::invoke) {
    const auto &call = static_cast<BoundFunction &>(function);
    visit(call.vm.get());
    if (call.saved) visit(call.saved.get());
  } else if (function.safe_call == &InnerFunction::invoke) {
    if (Vm *vm = static_cast<InnerFunction &>(function).keep.get()) visit(vm);
  }
}

ProgramClosure::ProgramClosure(Args args) : Function(&invoke) {
  auto &inner = as<Function>(args[0], "function");
  const ProgramClosure *wrapped = as_program_closure(inner);
  // Keeps the VM, because the closure may be returned.
  function = wrapped ? wrapped->function : lasting_function(inner);
  for (const View &arg : args.subspan(1)) captured.emplace_back(arg);
  if (wrapped) captured.insert(captured.end(), wrapped->captured.begin(), wrapped->captured.end());
}

ProgramClosure::~ProgramClosure() {
  for (Value &value : captured)
    if (const View old = value.detach(); is_object(old)) release_nested(object_of(old));
}

int ProgramClosure::invoke(void *self, const View *args, int32_t num_args, View *result) {
  return raising([&] {
    const auto &closure = *static_cast<ProgramClosure *>(self);
    std::vector<View> all(args, args + num_args);
    for (const Value &value : closure.captured) all.push_back(value.view());
    *result = call(*closure.function, all).detach();
  });
}

}  // namespace opd
