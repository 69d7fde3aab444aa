// Lists of values for compiled VM functions: registers, constants, functions.
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

// Outside a run, a list's length is unknown.
bool is_unknown_list(const Run *run, const void *list, int32_t index, const void *args, int32_t place) {
  return list && index >= 0 && args && place >= 0 && !(run && run->compiled);
}

// The slow paths have the C functions' parameters, so that the C functions need no other registers.
[[gnu::noinline]] int set_unknown(void *list, int32_t index, View *args, int32_t place) noexcept {
  Run *run = Run::of_thread();
  const bool good = is_unknown_list(run, list, index, args, place);
  if (args && place >= 0)
    args[place] = good ? static_cast<const View *>(list)[index] : opd_none();  // the call is made in any case
  return good ? 0 : refuse(run, index, args, place, "TVMBackendAnyListSetPackedArg");
}

[[gnu::noinline]] int stop(Run &run) noexcept {
  if (!run.compiled) return 0;  // the flag is for code that has not started yet
  return raising([&] { stop_compiled(run, *run.compiled); });
}

int go_on(Run &run) noexcept {
  if (run.stop.load(std::memory_order_relaxed) != CancelReason::kNone) [[unlikely]]
    return stop(run);
  return 0;
}

[[gnu::noinline]] int move_unknown(void *list, int32_t index, View *args, int32_t place) noexcept {
  Run *run = Run::of_thread();
  if (!is_unknown_list(run, list, index, args, place)) {
    if (args && place >= 0) drop_from_list(run, std::exchange(args[place], opd_none()));
    return refuse(run, index, args, place, "TVMBackendAnyListMoveFromPackedReturn");
  }
  drop_from_list(run, std::exchange(static_cast<View *>(list)[index], std::exchange(args[place], opd_none())));
  return 0;
}

// A separate function, so that a move needs no stack frame.
[[gnu::noinline]] int drop_old(Run &run, Object *old) {
  run.pool.drop(old);
  return go_on(run);
}

// Compiled code makes ten of these calls around each kernel. Such code is so long that the processor waits for its next
// instructions. So the calls use few instructions, in few cache lines, without taken branches. This is why they are
// aligned, like the other functions that all such code calls. The alignment saves a tenth of the time of a chain of
// tiny kernels.
extern "C" {

[[gnu::aligned(64)]] static int TVMBackendAnyListSetPackedArg(void *list, int32_t index, View *args, int32_t place) {
  const auto item = reinterpret_cast<uintptr_t>(list) + static_cast<uintptr_t>(int64_t{index} * 16);
  if (!thread_state().lists.has(item) || !args || place < 0) [[unlikely]]
    return set_unknown(list, index, args, place);
  args[place] = *reinterpret_cast<const View *>(item);  // borrowed from the list
  return 0;
}

static int TVMBackendAnyListResetItem(void *list, int32_t index) {
  Run *run = Run::of_thread();
  if (!(run && run->lists.has_register(list, index)) && !is_unknown_list(run, list, index, list, 0)) [[unlikely]]
    return refuse(run, index, list, 0, "TVMBackendAnyListResetItem");
  drop_from_list(run, std::exchange(static_cast<View *>(list)[index], opd_none()));
  return 0;
}

[[gnu::aligned(64)]] static int TVMBackendAnyListMoveFromPackedReturn(void *list, int32_t index, View *args,
                                                                      int32_t place) {
  Run *run = Run::of_thread();
  if (!run || !args || place < 0 || list != run->lists.registers ||
      static_cast<uint32_t>(index) >= run->lists.num_registers) [[unlikely]]
    return move_unknown(list, index, args, place);
  View &item = static_cast<View *>(list)[index];
  const int32_t old_type = item.type;
  Object *const old = object_of(item);
  item = args[place];
  write_whole(&args[place], opd_none());
  if (old_type >= OPD_OBJECT && !run->pool.drop_to_free_list(old)) [[unlikely]]
    return drop_old(*run, old);
  return go_on(*run);
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
