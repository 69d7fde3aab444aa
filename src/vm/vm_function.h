// Functions of a program as packed functions.
#pragma once
#include <functional>

#include "vm/vm.h"

namespace opd {

// For users: keeps the VM.
Ref<Function> make_bound_function(Ref<Vm> vm, uint32_t index);
// For the program itself, which passes it around. The VM holds it, so it does not keep the VM. A call after the VM's
// end (from a closure that the program returned) is an error.
Ref<Function> make_inner_function(Vm &vm, uint32_t index, std::string name);
// For users: a saved function as it is now; takes no arguments.
Ref<Function> make_saved_call(Ref<Vm> vm, Ref<SavedFunction> saved);
// Calls visit for each object that one of these functions keeps.
// The name that the program gives to a function value of its own; null for other functions.
const std::string *program_name_of(const Function &function);
void visit_kept_by_function(Function &function, const std::function<void(Object *)> &visit);

}  // namespace opd
