// Services of the process for a loaded library: functions of other modules, one-time initialisation.
#include <mutex>

#include "base/fork_mutex.h"
#include "module/kinds/code_module.h"
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"

namespace opd {
namespace {

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
    if (!made) fail_as("RuntimeError", OPD_CALL_FAILED, "a library's initialiser of a handle gave NULL");
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
}  // namespace

std::span<const ProvidedSymbol> environment_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMFFIEnvModLookupFromImports", address_of(TVMFFIEnvModLookupFromImports)},
      {"TVMBackendGetFuncFromEnv", address_of(TVMBackendGetFuncFromEnv)},
      {"TVMFFIEnvModRegisterSystemLibSymbol", address_of(TVMFFIEnvModRegisterSystemLibSymbol)},
      {"TVMFFIHandleInitOnce", address_of(TVMFFIHandleInitOnce)},
      {"TVMFFIHandleDeinitOnce", address_of(TVMFFIHandleDeinitOnce)},
  };
  return symbols;
}

}  // namespace opd
