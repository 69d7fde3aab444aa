// Lists of values as compiled VM functions use them: their registers, constants and function pool.
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"

namespace opd {
namespace {

void check(const void *list, int32_t index, const void *args, int32_t place, const char *function) {
  if (list && index >= 0 && args && place >= 0) [[likely]]
    return;
  fail(OPD_OUT_OF_RANGE, function, " was given item ", index, list ? "" : " of no list", " and argument ", place,
       args ? "" : " of none");
}

extern "C" {

static int TVMBackendAnyListSetPackedArg(void *list, int32_t index, View *args, int32_t place) {
  return raising([&] {
    check(list, index, args, place, "TVMBackendAnyListSetPackedArg");
    args[place] = static_cast<const Value *>(list)[index].view();  // borrowed from the list
  });
}

static int TVMBackendAnyListResetItem(void *list, int32_t index) {
  return raising([&] {
    check(list, index, list, 0, "TVMBackendAnyListResetItem");
    static_cast<Value *>(list)[index] = Value();
  });
}

static int TVMBackendAnyListMoveFromPackedReturn(void *list, int32_t index, View *args, int32_t place) {
  return raising([&] {
    check(list, index, args, place, "TVMBackendAnyListMoveFromPackedReturn");
    static_cast<Value *>(list)[index] = Value::take(std::exchange(args[place], opd_none()));
  });
}

}  // extern "C"
}  // namespace

std::span<const ProvidedSymbol> any_list_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMBackendAnyListSetPackedArg", address_of(TVMBackendAnyListSetPackedArg)},
      {"TVMBackendAnyListResetItem", address_of(TVMBackendAnyListResetItem)},
      {"TVMBackendAnyListMoveFromPackedReturn", address_of(TVMBackendAnyListMoveFromPackedReturn)},
  };
  return symbols;
}

}  // namespace opd
