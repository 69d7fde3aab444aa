// TVM's C functions, one group per file. Each function checks its arguments and reports a failure like tvm-ffi: it
// returns -1 and raises an error.
#pragma once
#include <span>

#include "module/image/symbol_table.h"

namespace opd {

std::span<const ProvidedSymbol> error_symbols();
std::span<const ProvidedSymbol> function_symbols();
std::span<const ProvidedSymbol> environment_symbols();
std::span<const ProvidedSymbol> object_symbols();
std::span<const ProvidedSymbol> tensor_symbols();
std::span<const ProvidedSymbol> backend_symbols();
std::span<const ProvidedSymbol> any_list_symbols();
std::span<const ProvidedSymbol> type_symbols();
std::span<const ProvidedSymbol> frontend_symbols();
std::span<const ProvidedSymbol> big_int_symbols();

}  // namespace opd
