// TVM's C functions, one group per file, and their helpers for objects and texts from foreign code. Each function
// checks its arguments and reports a failure like tvm-ffi: it returns -1 and raises an error. See raising() in
// base/error.h.
#pragma once
#include <span>

#include "module/image/artifact.h"
#include "value/function.h"

namespace opd {

std::span<const ProvidedSymbol> function_symbols();
std::span<const ProvidedSymbol> object_symbols();
std::span<const ProvidedSymbol> tensor_symbols();

// Returns an object that foreign code passed as an address.
template <class T>
T &object_at(void *handle, const char *function) {
  auto *object = static_cast<Object *>(handle);
  if (!object || object->type_index != T::type())
    fail_as("TypeError", OPD_INVALID_ARGUMENT, function, " was given ", object ? type_key(object->type_index) : "NULL",
            ", not ", type_key(T::type()));
  return *static_cast<T *>(object);
}

inline std::string_view text_of(const ByteArray *bytes, const char *function) {
  require(bytes && (bytes->data || bytes->size == 0), function, ": a text must not be NULL");
  return {bytes->data, bytes->size};
}

template <class F>
void *address_of(F *function) {
  return reinterpret_cast<void *>(function);
}

}  // namespace opd
