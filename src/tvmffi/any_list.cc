// Lists of values for compiled VM functions: registers, constants and function pool.
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"
#include "vm/compiled.h"

namespace opd {
namespace {

// TVM's code ignores the return value of these functions, so the run keeps the error.
[[gnu::noinline]] int refuse(Run *run, int32_t index, const void *args, int32_t place, const char *function) noexcept {
  return raising([&] {
    auto error =
        make_error(OPD_OUT_OF_RANGE, concat(function, " was given item ", index, " of a list that has no such, ",
                                            "or argument ", place, args ? "" : " of none"));
    if (run && run->compiled && !run->list_error) run->list_error = error;
    throw Exception(std::move(error));
  });
}

// Outside a run, the length of a list is not known.
bool is_unknown_list(const Run *run, const void *list, int32_t index, const void *args, int32_t place) {
  return list && index >= 0 && args && place >= 0 && !(run && run->compiled);
}

[[gnu::noinline]] int set_unknown(Run *run, void *list, int32_t index, View *args, int32_t place) noexcept {
  const bool good = is_unknown_list(run, list, index, args, place);
  if (args && place >= 0)
    args[place] = good ? static_cast<const View *>(list)[index] : opd_none();  // the call is made in any case
  return good ? 0 : refuse(run, index, args, place, "TVMBackendAnyListSetPackedArg");
}

[[gnu::noinline]] int stop(Run &run) noexcept {
  return raising([&] { stop_compiled(run, *run.compiled); });
}

[[gnu::noinline]] int move_unknown(Run *run, void *list, int32_t index, View *args, int32_t place) noexcept {
  if (!is_unknown_list(run, list, index, args, place)) {
    if (args && place >= 0) drop_from_list(run, std::exchange(args[place], opd_none()));
    return refuse(run, index, args, place, "TVMBackendAnyListMoveFromPackedReturn");
  }
  drop_from_list(run, std::exchange(static_cast<View *>(list)[index], std::exchange(args[place], opd_none())));
  return 0;
}

// Drops a register's old value. A function of its own, so that a move into an empty register needs no stack frame.
[[gnu::noinline]] int drop_old(Run &run, Object *old) {
  run.pool.drop(old);
  return is_stopped(run) ? stop(run) : 0;
}

extern "C" {

static int TVMBackendAnyListSetPackedArg(void *list, int32_t index, View *args, int32_t place) {
  Run *run = Run::of_thread();
  if (!run || !args || place < 0 || !run->lists.has(list, index)) [[unlikely]]
    return set_unknown(run, list, index, args, place);
  args[place] = static_cast<const View *>(list)[index];  // borrowed from the list
  return 0;
}

static int TVMBackendAnyListResetItem(void *list, int32_t index) {
  Run *run = Run::of_thread();
  if (!(run && run->lists.has_register(list, index)) && !is_unknown_list(run, list, index, list, 0)) [[unlikely]]
    return refuse(run, index, list, 0, "TVMBackendAnyListResetItem");
  drop_from_list(run, std::exchange(static_cast<View *>(list)[index], opd_none()));
  return 0;
}

static int TVMBackendAnyListMoveFromPackedReturn(void *list, int32_t index, View *args, int32_t place) {
  Run *run = Run::of_thread();
  if (!run || !args || place < 0 || !run->lists.has_register(list, index)) [[unlikely]]
    return move_unknown(run, list, index, args, place);
  View &item = static_cast<View *>(list)[index];
  const int32_t old_type = item.type;
  Object *const old = object_of(item);
  item = args[place];
  write_whole(&args[place], opd_none());
  if (old_type >= OPD_OBJECT) return drop_old(*run, old);
  return is_stopped(*run) ? stop(*run) : 0;
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
