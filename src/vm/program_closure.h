// Functions with captured arguments, made by vm.builtin.make_closure.
#pragma once
#include "value/function.h"

namespace opd {

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
