// Lists of values as compiled VM functions use them: their registers, constants and function pool.
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"
#include "vm/compiled.h"

namespace opd {
namespace {

[[noreturn, gnu::noinline]] void refuse(Run *run, size_t size, int32_t index, const void *args, int32_t place,
                                        const char *function) {
  const std::string of = size == SIZE_MAX ? "" : size ? concat(" of a list of ", size) : " of no list";
  auto error = make_error(OPD_OUT_OF_RANGE, concat(function, " was given item ", index, of, " and argument ", place,
                                                   args ? "" : " of none"));
  // TVM's code does not look at what these functions return.
  if (run && run->compiled && !run->list_error) run->list_error = error;
  throw Exception(std::move(error));
}

// The machine code knows how long its lists should be; a damaged executable may have said something else.
void check(const void *list, int32_t index, View *args, int32_t place, const char *function) {
  Run *run = Run::of_thread();
  const size_t size = run && run->compiled ? list_size(*run, list) : list ? SIZE_MAX : 0;
  if (index >= 0 && static_cast<size_t>(index) < size && args && place >= 0) [[likely]]
    return;
  refuse(run, size, index, args, place, function);
}

extern "C" {

static int TVMBackendAnyListSetPackedArg(void *list, int32_t index, View *args, int32_t place) {
  return raising([&] {
    if (args && place >= 0) args[place] = opd_none();  // which is called with whatever happens here
    check(list, index, args, place, "TVMBackendAnyListSetPackedArg");
    args[place] = static_cast<const View *>(list)[index];  // borrowed from the list
  });
}

static int TVMBackendAnyListResetItem(void *list, int32_t index) {
  return raising([&] {
    View *const items = static_cast<View *>(list);
    check(list, index, items, 0, "TVMBackendAnyListResetItem");
    store_in_list(items[index], opd_none());
  });
}

static int TVMBackendAnyListMoveFromPackedReturn(void *list, int32_t index, View *args, int32_t place) {
  return raising([&] {
    check(list, index, args, place, "TVMBackendAnyListMoveFromPackedReturn");
    store_in_list(static_cast<View *>(list)[index], std::exchange(args[place], opd_none()));
    check_compiled_stop();
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
