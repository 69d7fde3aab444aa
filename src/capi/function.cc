// include/opdyno/function.h
#include "value/function.h"

#include "call/closure.h"
#include "call/native_function.h"
#include "capi/handles.h"

using namespace opd;

namespace {

[[gnu::noinline]] opd_error *call_any(opd_function *function, const opd_value *args, int32_t num_args,
                                      opd_value *out_result) {
  if (!function || num_args < 0 || (num_args > 0 && !args)) [[unlikely]]
    return wrap_error(
        make_error(OPD_INVALID_ARGUMENT, "function and args must not be NULL, and num_args not negative"));
  // The callee writes directly where the caller reads: copying a value right after its fields were stored would stall.
  View ignored, *const result = out_result ? out_result : &ignored;
  *result = opd_none();
  auto *callee = unwrap<Function>(function);
  if (callee->safe_call(callee, args, num_args, result)) [[unlikely]] {
    *result = opd_none();
    return wrap_error(take_raised());
  }
  if (!out_result) opd_value_release(&ignored);
  return nullptr;
}

}  // namespace

opd_error *opd_function_create(opd_packed_fn callback, void *user_data, opd_deleter deleter,
                               opd_function **out_function) {
  return guard([&] {
    require(callback && out_function, "callback and out_function must not be NULL");
    *out_function = wrap<opd_function>(make_object<Callback>(callback, user_data, deleter));
  });
}

// A callback is jumped to, not called: one more stack frame would cost more than the rest of the call.
opd_error *opd_function_call(opd_function *function, const opd_value *args, int32_t num_args, opd_value *out_result) {
  auto *callback = static_cast<Callback *>(unwrap<Function>(function));
  if (!function || !out_result || (num_args != 0 && (num_args < 0 || !args)) || callback->safe_call != &Callback::run)
      [[unlikely]]
    return call_any(function, args, num_args, out_result);
  *out_result = opd_none();
  return callback->body(callback->user_data, args, num_args, out_result);
}

opd_error *opd_function_register(const char *name, opd_function *function, int override_existing) {
  return guard([&] {
    require(name && function, "name and function must not be NULL");
    register_function(name, Ref<Function>::share(unwrap<Function>(function)), override_existing != 0);
  });
}

opd_error *opd_function_get_global(const char *name, opd_function **out_function) {
  return guard([&] {
    require(name && out_function, "name and out_function must not be NULL");
    *out_function = wrap<opd_function>(global_function(name));
  });
}

opd_error *opd_function_remove_global(const char *name) {
  return guard([&] {
    require(name, "name must not be NULL");
    remove_function(name);
  });
}

opd_error *opd_function_list_global(opd_array **out_names) {
  return guard([&] {
    require(out_names, "out_names must not be NULL");
    *out_names = wrap_names(function_names());
  });
}

opd_error *opd_function_create_native(void *pointer, const char *signature, const char *name, void *keep_alive,
                                      opd_function **out_function) {
  return guard([&] {
    require(pointer && signature && out_function, "pointer, signature and out_function must not be NULL");
    auto kept = Ref<Object>::share(static_cast<Object *>(keep_alive));
    *out_function =
        wrap<opd_function>(make_native_function(pointer, signature, name ? name : "function", std::move(kept)));
  });
}

opd_error *opd_closure_create(opd_function *function, const char *signature, opd_closure **out_closure) {
  return guard([&] {
    require(function && signature && out_closure, "function, signature and out_closure must not be NULL");
    *out_closure = wrap<opd_closure>(make_closure(Ref<Function>::share(unwrap<Function>(function)), signature));
  });
}

void *opd_closure_pointer(const opd_closure *closure) {
  return closure ? unwrap<Closure>(closure)->pointer() : nullptr;
}

opd_error *opd_closure_take_error(opd_closure *closure) {
  return closure ? wrap_error(unwrap<Closure>(closure)->take_error()) : nullptr;
}
