#include "vm/program_closure.h"

#include "vm/vm.h"

namespace opd {

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
