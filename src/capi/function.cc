// Implements include/opdyno/function.h.
#include "value/function.h"

#include "call/closure.h"
#include "call/native_function.h"
#include "capi/handles.h"

using namespace opd;

namespace {

[[gnu::noinline]] opd_error *call_any(opd_function *function, const opd_value *args, int32_t num_args,
                                      opd_value *out_result) {
  if (!function || num_args < 0 || (num_args > 0 && !args)) [[unlikely]]
    return guard([&] {
      OPD_REQUIRE(function);
      OPD_REQUIRE_ITEMS(args, num_args);
    });
  // The callee writes directly to the caller's memory. Copying a value right after its fields were stored would stall.
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
    OPD_REQUIRE(callback, out_function);
    *out_function = wrap<opd_function>(make_object<Callback>(callback, user_data, deleter));
  });
}

// A callback is jumped to, not called, because one more stack frame would cost more than the rest of the call.
opd_error *opd_function_call(opd_function *function, const opd_value *args, int32_t num_args, opd_value *out_result) {
  auto *callback = static_cast<Callback *>(unwrap<Function>(function));
  if (!function || !out_result || (num_args != 0 && (num_args < 0 || !args)) || callback->safe_call != &Callback::run)
      [[unlikely]]
    return call_any(function, args, num_args, out_result);
  *out_result = opd_none();
  return callback->body(callback->user_data, args, num_args, out_result);
}

opd_error *opd_function_register(const char *name, opd_function *function, int32_t override_existing) {
  return guard([&] {
    OPD_REQUIRE(name, function);
    register_function(name, Ref<Function>::share(unwrap<Function>(function)), override_existing != 0);
  });
}

opd_error *opd_function_get_global(const char *name, opd_function **out_function) {
  return guard([&] {
    OPD_REQUIRE(name, out_function);
    *out_function = wrap<opd_function>(global_function(name));
  });
}

opd_error *opd_function_remove_global(const char *name) {
  return guard([&] {
    OPD_REQUIRE(name);
    remove_function(name);
  });
}

opd_error *opd_function_list_global(opd_array **out_names) {
  return guard([&] {
    OPD_REQUIRE(out_names);
    *out_names = wrap_names(function_names());
  });
}

opd_error *opd_function_create_native(void *pointer, const char *signature, const char *name, void *keep_alive,
                                      opd_function **out_function) {
  return guard([&] {
    OPD_REQUIRE(pointer, signature, out_function);
    auto kept = Ref<Object>::share(static_cast<Object *>(keep_alive));
    *out_function =
        wrap<opd_function>(make_native_function(pointer, signature, name ? name : "function", std::move(kept)));
  });
}

opd_error *opd_closure_create(opd_function *function, const char *signature, opd_closure **out_closure) {
  return guard([&] {
    OPD_REQUIRE(function, signature, out_closure);
    *out_closure = wrap<opd_closure>(make_closure(Ref<Function>::share(unwrap<Function>(function)), signature));
  });
}

void *opd_closure_pointer(const opd_closure *closure) {
  return closure ? unwrap<Closure>(closure)->pointer() : nullptr;
}

opd_error *opd_closure_take_error(opd_closure *closure) {
  return closure ? wrap_error(unwrap<Closure>(closure)->take_error()) : nullptr;
}
