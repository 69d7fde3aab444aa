#include "vm/builtins/builtins.h"

#include <array>

namespace opd {
namespace {

std::array<std::span<const Builtin>, 10> groups() {
  return {shape_builtins(),    memory_builtins(),   control_builtins(), tensor_cache_builtins(), sampling_builtins(),
          kv_cache_builtins(), kv_state_builtins(), sort_builtins(),    unique_builtins(),       host_builtins()};
}

}  // namespace

Ref<Error> named_error(const char *builtin, Ref<Error> error) noexcept {
  // The error of a nested call already names its place. The out-of-memory error is shared by all threads and must not
  // change.
  if (error->located || error->code == OPD_OUT_OF_MEMORY) return error;
  try {
    auto named = make_error(error->code, concat(builtin, ": ", error->message), error->kind);
    if (named->code == error->code) named->set_cause(std::move(error));
    return named;
  } catch (...) { return error; }
}

Run &run_of(const View &vm) {
  Run *run = Run::of_thread();
  if (!run || vm.type != OPD_POINTER || vm.u.pointer != run)
    fail_as("TypeError", OPD_INVALID_ARGUMENT, "the first argument must be the VM that makes the call");
  return *run;
}

std::string error_context(const View &error) {
  std::string_view text = is_text(error) ? as_text(error, "error context") : std::string_view();
  while (text.ends_with(' ')) text.remove_suffix(1);  // TVM's compiler ends error contexts with a space
  return text.empty() ? std::string() : concat(text, ": ");
}

void wrong_count(Args args, const char *usage) {
  fail_as("TypeError", OPD_INVALID_ARGUMENT, "the arguments are ", usage, ", but ", args.size(), " were given");
}

void register_builtins() {
  [[maybe_unused]] static const bool once = [] {
    for (const auto &group : groups())
      for (const auto &builtin : group) register_function(builtin.name, make_object<Function>(builtin.call), true);
    return true;
  }();
}

bool is_builtin(std::string_view name, const Function &function) {
  for (const auto &group : groups())
    for (const auto &builtin : group)
      if (name == builtin.name) return function.safe_call == builtin.call;
  return false;
}

}  // namespace opd
