#include "tvmffi/tvmffi.h"

#include <mutex>

#include "module/kinds/system_library.h"
#include "tvmffi/groups.h"
#include "tvmffi/private.h"
#include "value/type_table.h"

namespace opd {
namespace {

// Used only for objects linked into the program, which stay mapped. Objects that a loader maps for a module also
// register themselves. They are not looked up here, because they may be unmapped.
int register_linked_symbol(const char *name, void *address) {
  return raising([&] {
    require(name && address, "TVMFFIEnvModRegisterSystemLibSymbol was given NULL");
    register_system_symbol(name, address);
  });
}

}  // namespace

void register_tvmffi_symbols() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const auto group : {function_symbols, object_symbols, tensor_symbols}) provide_symbols(group());
  });
}

}  // namespace opd

// The entry point of libopdyno_tvmffi: finds libopdyno's functions by name, for code linked into a program.
void *opd_private_tvmffi_symbol(const char *name) {
  opd::register_tvmffi_symbols();  // this may be the first call into the library
  opd::define_process_functions();
  if (std::string_view(name) == "TVMFFIEnvModRegisterSystemLibSymbol")
    return opd::address_of(opd::register_linked_symbol);
  if (std::string_view(name) == "find_type")
    return opd::address_of(static_cast<const opd::TypeInfo *(*)(int32_t) noexcept>(opd::find_type));
  return opd::provided_symbol(name);
}
