// Program functions wrapped as packed functions.
#pragma once
#include <functional>

#include "vm/vm.h"

namespace opd {

// For users. The function keeps the VM.
Ref<Function> make_bound_function(Ref<Vm> vm, uint32_t index);
// For values inside the program. The VM holds the function, so the function does not keep the VM. A call after the VM's
// end (from a closure that the program returned) is an error.
Ref<Function> make_inner_function(Vm &vm, uint32_t index, std::string name);
// For users. Calls a saved function in its current form, without arguments.
Ref<Function> make_saved_call(Ref<Vm> vm, Ref<SavedFunction> saved);
// Returns the program's name for one of its function values. Null for other functions.
const std::string *program_name_of(const Function &function);
// Calls visit for each object that one of these functions keeps.
void visit_kept_by_function(Function &function, const std::function<void(Object *)> &visit);

// A function with captured arguments, made by vm.builtin.make_closure.
struct ProgramClosure final : Function {
  Ref<Function> function;       // never a closure: nested closures are flattened, so that a call is one call
  std::vector<Value> captured;  // appended to the arguments of a call

  explicit ProgramClosure(Args args);
  ~ProgramClosure();
  static int invoke(void *self, const View *args, int32_t num_args, View *result);
};

inline const ProgramClosure *as_program_closure(const Function &function) {
  return function.safe_call == &ProgramClosure::invoke ? static_cast<const ProgramClosure *>(&function) : nullptr;
}

}  // namespace opd
