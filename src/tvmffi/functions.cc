// C functions that compiled code calls.
#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "base/fork_mutex.h"
#include "device/cpu/thread_pool.h"
#include "device/memory/allocator.h"
#include "module/kinds/code_module.h"
#include "tvmffi/groups.h"
#include "value/type_table.h"
#include "vm/observe.h"

namespace opd {
namespace {

// ---- packed functions: calling them, making them, and the registry

// Adds a reference to the library that contains `code`. Returns null if there is none.
void *keep_mapped(SafeCall code) {
  Dl_info info{};
  const LoaderCall call;
  return ::dladdr(address_of(code), &info) && info.dli_fname ? ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                                                             : nullptr;
}

// A foreign function with a state pointer. It may outlive the module that made it.
struct ForeignFunction final : Function {
  void *state;
  SafeCall body;
  void (*end_state)(void *);
  void *library;

  ForeignFunction(void *s, SafeCall b, void (*end)(void *))
      : Function(&run), state(s), body(b), end_state(end), library(keep_mapped(b)) {}
  ~ForeignFunction() {
    if (end_state) end_state(state);
    if (!library) return;
    const LoaderCall call;
    ::dlclose(library);
  }
  static int run(void *self, const View *args, int32_t num_args, View *result) {
    const auto *function = static_cast<ForeignFunction *>(self);
    return function->body(function->state, args, num_args, result);
  }
};

// A separate function, so that valid calls need no stack frame.
[[gnu::noinline]] int refuse_call(void *function, const View *args, int32_t num_args, const View *result) noexcept {
  return raising([&] {
    object_at<Function>(function, "TVMFFIFunctionCall");
    fail(OPD_INVALID_ARGUMENT, "TVMFFIFunctionCall was given ", num_args, " arguments", args ? "" : " at NULL",
         result ? "" : " and no place for the result");
  });
}

extern "C" {

[[gnu::aligned(64)]] static int TVMFFIFunctionCall(void *function, View *args, int32_t num_args, View *result) {
  auto *object = static_cast<Object *>(function);
  if (!object || object->type_index != OPD_FUNCTION || !result || num_args < 0 ||
      (__builtin_expect(!args, 0) && num_args > 0)) [[unlikely]]
    return refuse_call(function, args, num_args, result);
  return call_packed(*static_cast<Function *>(object), args, num_args, result);
}

static int TVMFFIFunctionCreate(void *self, SafeCall safe_call, void (*deleter)(void *), void **out_function) {
  return raising([&] {
    require(safe_call && out_function, "TVMFFIFunctionCreate: safe_call and out must not be NULL");
    *out_function = make_object<ForeignFunction>(self, safe_call, deleter).detach();
  });
}

static int TVMFFIFunctionGetGlobal(const ByteArray *name, void **out_function) {
  return raising([&] {
    require(out_function, "TVMFFIFunctionGetGlobal: out must not be NULL");
    *out_function = find_function(text_of(name, "TVMFFIFunctionGetGlobal")).detach();  // NULL if there is none
  });
}

static int TVMFFIFunctionSetGlobal(const ByteArray *name, void *function, int override_existing) {
  return raising([&] {
    auto &given = object_at<Function>(function, "TVMFFIFunctionSetGlobal");
    register_function(std::string(text_of(name, "TVMFFIFunctionSetGlobal")), Ref<Function>::share(&given),
                      override_existing != 0);
  });
}

static int TVMFFIFunctionSetGlobalFromMethodInfo(const MethodInfo *method, int override_existing) {
  return raising([&] {
    require(method, "TVMFFIFunctionSetGlobalFromMethodInfo: method_info must not be NULL");
    const std::string name(text_of(&method->name, "TVMFFIFunctionSetGlobalFromMethodInfo"));
    register_function(name, Ref<Function>::share(&as<Function>(method->method, name)), override_existing != 0,
                      std::string(text_of(method->metadata)));
  });
}

}  // extern "C"

// ---- services of the process for a loaded library: functions of other modules, one-time initialisation

int look_up(void *context, const char *name, void **out_function) {
  return raising([&] {
    require(name && out_function, "a library looked up a function without a name, or without a place for it");
    *out_function = static_cast<Object *>(code_of_context(context).look_up(name));  // borrowed; the module keeps it
  });
}

[[gnu::noinline]] int init_once(void **handle, int (*init)(void **out_handle)) {
  int status = 0;
  const int raised = raising([&] {
    require(handle && init, "TVMFFIHandleInitOnce was given NULL");
    std::scoped_lock lock(initializer_mutex());
    if (__atomic_load_n(handle, __ATOMIC_ACQUIRE)) return;
    void *made = nullptr;
    status = init(&made);
    if (status) return;
    if (!made) fail_as("RuntimeError", OPD_CALL_FAILED, "a library's initialiser of a handle returned NULL");
    __atomic_store_n(handle, made, __ATOMIC_RELEASE);
  });
  return raised ? raised : status;
}

extern "C" {

static int TVMFFIEnvModLookupFromImports(void *context, const char *name, void **out_function) {
  return look_up(context, name, out_function);
}
static int TVMBackendGetFuncFromEnv(void *context, const char *name, void **out_function) {
  return look_up(context, name, out_function);
}

// Objects of a system library register their symbols at load. opdyno finds them in the ELF symbol table instead.
static int TVMFFIEnvModRegisterSystemLibSymbol(const char *, void *) { return 0; }

[[gnu::aligned(64)]] static int TVMFFIHandleInitOnce(void **handle, int (*init)(void **out_handle)) {
  if (handle && __atomic_load_n(handle, __ATOMIC_ACQUIRE)) [[likely]]
    return 0;
  return init_once(handle, init);
}

static int TVMFFIHandleDeinitOnce(void **handle, int (*end)(void *handle)) {
  int status = 0;
  const int raised = raising([&] {
    require(handle && end, "TVMFFIHandleDeinitOnce was given NULL");
    std::scoped_lock lock(initializer_mutex());
    if (void *made = __atomic_exchange_n(handle, nullptr, __ATOMIC_ACQ_REL)) status = end(made);
  });
  return raised ? raised : status;
}

}  // extern "C"

// ---- services for running kernels: scratch memory and threads

DLDevice device_of(int type, int id) { return {static_cast<DLDeviceType>(type), id}; }

extern "C" {

// The last two arguments are a dtype, as an alignment hint. opdyno's alignment suffices for every dtype.
static void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t bytes, int, int) {
  void *data = nullptr;
  raising([&] {
    data = allocate_workspace(device_of(device_type, device_id), std::max<uint64_t>(bytes, 1));
    if (!data)
      fail(OPD_OUT_OF_MEMORY, "there is no memory for a kernel's workspace of ", bytes, " bytes on device ",
           device_type, ":", device_id);
  });
  return data;
}

static int TVMBackendFreeWorkspace(int device_type, int device_id, void *data) {
  return raising([&] {
    require(free_workspace_block(device_of(device_type, device_id), data),
            "a kernel freed a workspace that it did not allocate on this thread");
  });
}

static int TVMBackendParallelLaunch(ParallelTask task, void *data, int num_task) {
  if (task && num_task >= 0) [[likely]]
    return parallel_launch(task, data, num_task);
  return raising([&] {
    fail(OPD_INVALID_ARGUMENT, "a kernel launched ", num_task, " parallel tasks", task ? "" : " without a function");
  });
}

static int TVMBackendParallelBarrier(int task_id, ParallelGroup *group) {
  if (group && task_id >= 0 && task_id < group->num_task) [[likely]]
    return parallel_barrier(task_id, group);
  return raising(
      [&] { fail(OPD_INVALID_ARGUMENT, "task ", task_id, " of a kernel met a barrier outside its parallel region"); });
}

}  // extern "C"

// ---- lists of values for compiled VM functions: registers, constants, functions

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

std::span<const ProvidedSymbol> function_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMFFIFunctionCall", address_of(TVMFFIFunctionCall)},
      {"TVMFFIFunctionCreate", address_of(TVMFFIFunctionCreate)},
      {"TVMFFIFunctionGetGlobal", address_of(TVMFFIFunctionGetGlobal)},
      {"TVMFFIFunctionSetGlobal", address_of(TVMFFIFunctionSetGlobal)},
      {"TVMFFIFunctionSetGlobalFromMethodInfo", address_of(TVMFFIFunctionSetGlobalFromMethodInfo)},
      {"TVMFFIEnvModLookupFromImports", address_of(TVMFFIEnvModLookupFromImports)},
      {"TVMBackendGetFuncFromEnv", address_of(TVMBackendGetFuncFromEnv)},
      {"TVMFFIEnvModRegisterSystemLibSymbol", address_of(TVMFFIEnvModRegisterSystemLibSymbol)},
      {"TVMFFIHandleInitOnce", address_of(TVMFFIHandleInitOnce)},
      {"TVMFFIHandleDeinitOnce", address_of(TVMFFIHandleDeinitOnce)},
      {"TVMBackendAllocWorkspace", address_of(TVMBackendAllocWorkspace)},
      {"TVMBackendFreeWorkspace", address_of(TVMBackendFreeWorkspace)},
      {"TVMBackendParallelLaunch", address_of(TVMBackendParallelLaunch)},
      {"TVMBackendParallelBarrier", address_of(TVMBackendParallelBarrier)},
      {"TVMBackendAnyListSetPackedArg", address_of(TVMBackendAnyListSetPackedArg)},
      {"TVMBackendAnyListResetItem", address_of(TVMBackendAnyListResetItem)},
      {"TVMBackendAnyListMoveFromPackedReturn", address_of(TVMBackendAnyListMoveFromPackedReturn)},
  };
  return symbols;
}

}  // namespace opd
