#include "tvmffi/tvmffi.h"

#include <mutex>

#include "tvmffi/groups.h"

namespace opd {

void register_tvmffi_symbols() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const auto group : {error_symbols, function_symbols, environment_symbols, object_symbols, tensor_symbols,
                             backend_symbols, any_list_symbols, type_symbols, frontend_symbols, big_int_symbols})
      provide_symbols(group());
  });
}

}  // namespace opd
