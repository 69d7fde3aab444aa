// TVM's C functions, found as artifacts find them.
#pragma once
#include <gtest/gtest.h>

#include "module/image/symbol_table.h"
#include "tvmffi/tvmffi.h"

namespace opd {

template <class F>
F *symbol(const char *name) {
  register_tvmffi_symbols();
  void *address = provided_symbol(name);
  EXPECT_NE(address, nullptr) << name;
  return reinterpret_cast<F *>(address);
}

}  // namespace opd
