#include "vm/builtins/builtins.h"

namespace opd {

Run &run_of(const View &vm) {
  Run *run = Run::of_thread();
  if (!run || vm.type != OPD_POINTER || vm.u.pointer != run)
    fail_as("TypeError", OPD_INVALID_ARGUMENT, "the first argument must be the VM that makes the call");
  return *run;
}

std::string error_context(const View &error) {
  std::string_view text = is_text(error) ? as_text(error, "error context") : std::string_view();
  while (text.ends_with(' ')) text.remove_suffix(1);  // as TVM's compiler writes them
  return text.empty() ? std::string() : concat(text, ": ");
}

void check_count(Args args, size_t least, size_t most, const char *usage) {
  if (args.size() >= least && args.size() <= most) [[likely]] return;
  fail_as("TypeError", OPD_INVALID_ARGUMENT, "the arguments are ", usage, ", but ", args.size(), " were given");
}

void register_builtins() {
  static const bool once = [] {
    for (const auto &group : {check_builtins(), shape_builtins(), memory_builtins(), control_builtins()})
      for (const auto &builtin : group)
        register_function(concat("vm.builtin.", builtin.name), make_object<Function>(builtin.call), true);
    return true;
  }();
  (void)once;
}

}  // namespace opd
