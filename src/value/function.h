// Packed functions: tvm-ffi's safe-call convention, and the process-wide registry of names. A call costs one indirect
// call and allocates nothing.
#pragma once
#include <opdyno/function.h>

#include <string>
#include <vector>

#include "value/value.h"

namespace opd {

// Returns 0, or -1 after set_raised(). `result` is None on entry. On return the caller owns it.
using SafeCall = int (*)(void *self, const View *args, int32_t num_args, View *result);

struct Function : Object {  // the layout of tvm-ffi's function cell
  static int32_t type() { return OPD_FUNCTION; }
  SafeCall safe_call;
  void *cpp_call = nullptr;  // tvm-ffi's C++ shortcut, unused here

  explicit Function(SafeCall call) : safe_call(call) {}
};

// Throws because a result has an object's type but no object. A C callback may return such a result by mistake.
[[noreturn]] void fail_result(const View &result);
// Calls the function and returns its result. Throws the function's error.
inline Value call(Function &function, Args args) {
  View result = opd_none();
  if (function.safe_call(&function, args.data(), static_cast<int32_t>(args.size()), &result)) [[unlikely]]
    throw Exception(take_raised());
  if (lacks_object(result)) [[unlikely]]
    fail_result(result);
  return Value::take(result);
}

// Makes a function that calls a C++ callable `Value f(Args)`. Exceptions become raised errors.
template <class F>
struct Lambda final : Function {
  F body;
  explicit Lambda(F f) : Function(&run), body(std::move(f)) {}
  static int run(void *self, const View *args, int32_t num_args, View *result) {
    return raising(
        [&] { *result = static_cast<Lambda *>(self)->body(Args(args, static_cast<size_t>(num_args))).detach(); });
  }
};
template <class F>
Ref<Function> make_function(F body) {
  return make_object<Lambda<F>>(std::move(body));
}

// A function that calls a C callback. Declared here because the C API calls the callback directly.
struct Callback final : Function {
  const opd_packed_fn body;
  void *const user_data;
  const opd_deleter end_user_data;  // may be null

  Callback(opd_packed_fn b, void *u, opd_deleter d) : Function(&run), body(b), user_data(u), end_user_data(d) {}
  ~Callback() {
    if (end_user_data) end_user_data(user_data);
  }
  static int run(void *self, const View *args, int32_t num_args, View *result);
};

// Throws unless the number of arguments equals that of `names`, which the message lists.
void check_arity(Args args, std::initializer_list<const char *> names, std::string_view function);

// ---- registry

void register_function(std::string name, Ref<Function> function, bool override_existing, std::string metadata = {});
Ref<Function> find_function(std::string_view name);    // null if absent
Ref<Function> global_function(std::string_view name);  // throws OPD_NOT_FOUND and suggests similar names
void remove_function(std::string_view name);
std::string function_metadata(std::string_view name);  // JSON given at registration, or ""; throws OPD_NOT_FOUND
std::vector<std::string> function_names();             // sorted

}  // namespace opd
