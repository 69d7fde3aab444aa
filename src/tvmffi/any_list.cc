// Lists of values as compiled VM functions use them: their registers, constants and function pool.
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"
#include "vm/compiled.h"

namespace opd {
namespace {

bool is_good(const void *list, int32_t index, const void *args, int32_t place) {
  return list && args && (index | place) >= 0;
}

[[gnu::noinline]] int refuse(const void *list, int32_t index, const void *args, int32_t place,
                             const char *function) noexcept {
  return raising([&] {
    fail(OPD_OUT_OF_RANGE, function, " was given item ", index, list ? "" : " of no list", " and argument ", place,
         args ? "" : " of none");
  });
}

[[gnu::noinline]] int stop(const Run &run) noexcept {
  return raising([&] { stop_compiled(run, run.stop.load(std::memory_order_relaxed)); });
}

extern "C" {

static int TVMBackendAnyListSetPackedArg(void *list, int32_t index, View *args, int32_t place) {
  if (!is_good(list, index, args, place)) [[unlikely]]
    return refuse(list, index, args, place, "TVMBackendAnyListSetPackedArg");
  args[place] = static_cast<const View *>(list)[index];  // borrowed from the list
  return 0;
}

static int TVMBackendAnyListResetItem(void *list, int32_t index) {
  if (!is_good(list, index, list, 0)) [[unlikely]]
    return refuse(list, index, list, 0, "TVMBackendAnyListResetItem");
  drop_from_list(Run::of_thread(), std::exchange(static_cast<View *>(list)[index], opd_none()));
  return 0;
}

static int TVMBackendAnyListMoveFromPackedReturn(void *list, int32_t index, View *args, int32_t place) {
  if (!is_good(list, index, args, place)) [[unlikely]]
    return refuse(list, index, args, place, "TVMBackendAnyListMoveFromPackedReturn");
  Run *run = Run::of_thread();
  const View old = std::exchange(static_cast<View *>(list)[index], args[place]);
  args[place] = opd_none();
  drop_from_list(run, old);
  return is_stopped(run) ? stop(*run) : 0;
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
