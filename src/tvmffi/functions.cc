// C functions for packed functions: calling them, making them, and the registry.
#include <dlfcn.h>

#include "base/fork_mutex.h"
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"
#include "value/type_info.h"
#include "vm/compiled.h"

namespace opd {
namespace {

// Adds a reference to the library that contains `code`. Returns null if there is none.
void *keep_mapped(SafeCall code) {
  Dl_info info{};
  const LoaderCall call;
  return ::dladdr(address_of(code), &info) && info.dli_fname ? ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                                                             : nullptr;
}

// A foreign function with a state pointer. It may outlive the module that made it.
struct ForeignFunction final : Function {
  void *state;
  SafeCall body;
  void (*end_state)(void *);
  void *library;

  ForeignFunction(void *s, SafeCall b, void (*end)(void *))
      : Function(&run), state(s), body(b), end_state(end), library(keep_mapped(b)) {}
  ~ForeignFunction() {
    if (end_state) end_state(state);
    if (!library) return;
    const LoaderCall call;
    ::dlclose(library);
  }
  static int run(void *self, const View *args, int32_t num_args, View *result) {
    const auto *function = static_cast<ForeignFunction *>(self);
    return function->body(function->state, args, num_args, result);
  }
};

// A separate function, so that valid calls need no stack frame.
[[gnu::noinline]] int refuse_call(void *function, const View *args, int32_t num_args, const View *result) noexcept {
  return raising([&] {
    object_at<Function>(function, "TVMFFIFunctionCall");
    fail(OPD_INVALID_ARGUMENT, "TVMFFIFunctionCall was given ", num_args, " arguments", args ? "" : " at NULL",
         result ? "" : " and no place for the result");
  });
}

extern "C" {

[[gnu::aligned(64)]] static int TVMFFIFunctionCall(void *function, View *args, int32_t num_args, View *result) {
  auto *object = static_cast<Object *>(function);
  if (!object || object->type_index != OPD_FUNCTION || !result || num_args < 0 ||
      (__builtin_expect(!args, 0) && num_args > 0)) [[unlikely]]
    return refuse_call(function, args, num_args, result);
  return call_packed(*static_cast<Function *>(object), args, num_args, result);
}

static int TVMFFIFunctionCreate(void *self, SafeCall safe_call, void (*deleter)(void *), void **out_function) {
  return raising([&] {
    require(safe_call && out_function, "TVMFFIFunctionCreate was given no function, or no place for the result");
    *out_function = make_object<ForeignFunction>(self, safe_call, deleter).detach();
  });
}

static int TVMFFIFunctionGetGlobal(const ByteArray *name, void **out_function) {
  return raising([&] {
    require(out_function, "TVMFFIFunctionGetGlobal was given no place for the function");
    *out_function = find_function(text_of(name, "TVMFFIFunctionGetGlobal")).detach();  // NULL if there is none
  });
}

static int TVMFFIFunctionSetGlobal(const ByteArray *name, void *function, int override_existing) {
  return raising([&] {
    auto &given = object_at<Function>(function, "TVMFFIFunctionSetGlobal");
    register_function(std::string(text_of(name, "TVMFFIFunctionSetGlobal")), Ref<Function>::share(&given),
                      override_existing != 0);
  });
}

static int TVMFFIFunctionSetGlobalFromMethodInfo(const MethodInfo *method, int override_existing) {
  return raising([&] {
    require(method, "TVMFFIFunctionSetGlobalFromMethodInfo was given no method");
    const std::string name(text_of(&method->name, "TVMFFIFunctionSetGlobalFromMethodInfo"));
    register_function(name, Ref<Function>::share(&as<Function>(method->method, name)), override_existing != 0,
                      std::string(text_of(method->metadata)));
  });
}

}  // extern "C"
}  // namespace

std::span<const ProvidedSymbol> function_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMFFIFunctionCall", address_of(TVMFFIFunctionCall)},
      {"TVMFFIFunctionCreate", address_of(TVMFFIFunctionCreate)},
      {"TVMFFIFunctionGetGlobal", address_of(TVMFFIFunctionGetGlobal)},
      {"TVMFFIFunctionSetGlobal", address_of(TVMFFIFunctionSetGlobal)},
      {"TVMFFIFunctionSetGlobalFromMethodInfo", address_of(TVMFFIFunctionSetGlobalFromMethodInfo)},
  };
  return symbols;
}

}  // namespace opd
