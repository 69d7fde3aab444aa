// TVM's C functions, found as artifacts find them.
#pragma once
#include <gtest/gtest.h>

#include "module/image/artifact.h"
#include "tvmffi/tvmffi.h"
#include "value/function.h"

namespace opd {

template <class F>
F *symbol(const char *name) {
  register_tvmffi_symbols();
  void *address = provided_symbol(name);
  EXPECT_NE(address, nullptr) << name;
  return reinterpret_cast<F *>(address);
}

// The raised error as "kind: message", which it ends; "" if there is none.
inline std::string raised() {
  void *error = nullptr;
  symbol<void(void **)>("TVMFFIErrorMoveFromRaised")(&error);
  if (!error) return "";
  const auto owned = Ref<Error>::take(static_cast<Error *>(static_cast<Object *>(error)));
  return concat(text_of(owned->kind_view), ": ", text_of(owned->message_view));
}

}  // namespace opd
