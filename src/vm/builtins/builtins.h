// The functions that compiled programs expect of a runtime: vm.builtin.*, relax.run.*, tvm.contrib.sort.*. Each file of
// this folder offers one group of them.
#pragma once
#include <algorithm>
#include <span>

#include "value/function.h"
#include "vm/run.h"

namespace opd {

struct Builtin {
  const char *name;
  SafeCall call;
};

// A builtin's name as a template argument, so that its errors can say it.
template <size_t kSize>
struct BuiltinName {
  char text[kSize];
  consteval BuiltinName(const char (&name)[kSize]) { std::copy_n(name, kSize, text); }
};

// The error being handled, with the builtin's name in front.
Ref<Error> error_of_builtin(const char *name) noexcept;

// A builtin's body as a safe call.
template <BuiltinName kName, Value (*kBody)(Args)>
int builtin_call(void *, const View *args, int32_t num_args, View *result) {
  try {
    write_whole(result, kBody({args, static_cast<size_t>(num_args)}).detach());
    return 0;
  } catch (...) {
    set_raised(error_of_builtin(kName.text));
    return -1;
  }
}

template <BuiltinName kName, Value (*kBody)(Args)>
constexpr Builtin builtin() {
  return {kName.text, builtin_call<kName, kBody>};
}

std::span<const Builtin> check_builtins();
std::span<const Builtin> shape_builtins();
std::span<const Builtin> memory_builtins();
std::span<const Builtin> control_builtins();
std::span<const Builtin> tensor_cache_builtins();
std::span<const Builtin> sampling_builtins();
std::span<const Builtin> kv_cache_builtins();
std::span<const Builtin> sort_builtins();
std::span<const Builtin> unique_builtins();
std::span<const Builtin> effect_builtins();
std::span<const Builtin> host_function_builtins();

// Makes them global functions. Idempotent.
void register_builtins();

// The run that a builtin was called by; throws if `vm` is anything else than the VM of the calling thread's run.
Run &run_of(const View &vm);
// The program's own words for the place, to stand in front of what is wrong.
std::string error_context(const View &error);
[[noreturn]] void wrong_count(Args args, const char *usage);
inline void check_count(Args args, size_t least, size_t most, const char *usage) {
  if (args.size() < least || args.size() > most) [[unlikely]]
    wrong_count(args, usage);
}

}  // namespace opd
