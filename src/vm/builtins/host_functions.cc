// Functions that the host registers by name, for programs to call: TVM's registry of Python functions, for any
// language.
#include <map>
#include <shared_mutex>

#include "base/fork_mutex.h"
#include "vm/builtins/builtins.h"
#include "vm/vm.h"

namespace opd {
namespace {

struct HostFunctions {
  ForkSharedMutex guard{LockRank::kHostFunctions};
  std::map<std::string, Ref<Function>, std::less<>> functions;
};
HostFunctions &host_functions() {
  static auto *instance = new HostFunctions;  // never destroyed: programs may run while the process exits
  return *instance;
}

Ref<Function> host_function(std::string_view name) {
  auto &all = host_functions();
  std::shared_lock lock(all.guard);
  if (const auto found = all.functions.find(name); found != all.functions.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto &entry : all.functions) names.push_back(entry.first);
  fail(OPD_NOT_FOUND, "there is no function \"", name, "\" among the ", names.size(),
       " registered by vm.builtin.register_py_func.", suggestion(name, names));
}

Value register_py_func(Args args) {
  check_count(args, 2, 2, "(name, function)");
  std::string name(as_text(args[0], "name"));
  auto function = lasting_function(as<Function>(args[1], "function"));
  auto &all = host_functions();
  std::unique_lock lock(all.guard);
  std::swap(all.functions[std::move(name)], function);
  lock.unlock();  // a replaced function ends outside the lock: its deleter may be foreign code
  return {};
}

Value get_py_func(Args args) {
  check_count(args, 1, 1, "(name)");
  return host_function(as_text(args[0], "name"));
}

Value call_py_func(Args args) {  // the compiler passes one tuple: a name and a tuple of arguments
  check_count(args, 1, 1, "((name, (arguments …)))");
  const auto &pair = as<Array>(args[0], "the argument");
  require(pair.size() == 2, "the argument must be a tuple of a name and a tuple, but has ", pair.size(), " items");
  const auto function = host_function(as_text(pair.items()[0], "name"));
  return call(*function, as<Array>(pair.items()[1], "the function's arguments").views());
}

Value clear_py_func_registry(Args args) {
  check_count(args, 0, 0, "()");
  decltype(HostFunctions::functions) removed;
  auto &all = host_functions();
  std::unique_lock lock(all.guard);
  removed.swap(all.functions);
  lock.unlock();
  return {};
}

constexpr Builtin kHostFunctionBuiltins[] = {
    builtin<"vm.builtin.register_py_func", register_py_func>(),
    builtin<"vm.builtin.get_py_func", get_py_func>(),
    builtin<"vm.builtin.call_py_func", call_py_func>(),
    builtin<"vm.builtin.clear_py_func_registry", clear_py_func_registry>(),
};

}  // namespace

std::span<const Builtin> host_function_builtins() { return kHostFunctionBuiltins; }

}  // namespace opd
