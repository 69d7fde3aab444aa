// The vm.builtin.* functions that compiled programs call. Each file of this folder offers one group of them.
#pragma once
#include <span>

#include "value/function.h"
#include "vm/run.h"

namespace opd {

struct Builtin {
  const char *name;  // without the prefix vm.builtin.
  SafeCall call;
};

// A builtin's body as a safe call.
template <Value (*kBody)(Args)>
int builtin_call(void *, const View *args, int32_t num_args, View *result) {
  try {
    *result = kBody({args, static_cast<size_t>(num_args)}).detach();
    return 0;
  } catch (...) {
    set_raised(current_error());
    return -1;
  }
}

std::span<const Builtin> check_builtins();
std::span<const Builtin> shape_builtins();
std::span<const Builtin> memory_builtins();
std::span<const Builtin> control_builtins();

// Makes them global functions. Idempotent.
void register_builtins();

// The run that a builtin was called by; throws if `vm` is anything else than the VM of the calling thread's run.
Run &run_of(const View &vm);
// The program's own words for the place, to stand in front of what is wrong.
std::string error_context(const View &error);
void check_count(Args args, size_t least, size_t most, const char *usage);

}  // namespace opd
