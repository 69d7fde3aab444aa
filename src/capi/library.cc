#include "capi/library.h"

#include "base/environment.h"
#include "base/log.h"
#include "device/cpu/thread_pool.h"
#include "module/blob_reader.h"
#include "tvmffi/tvmffi.h"
#include "vm/builtins/builtins.h"
#include "vm/executable_module.h"

namespace opd {

void prepare_library() {
  static const bool once = [] {
    register_tvmffi_symbols();
    register_executable_format();
    register_static_library_kind();
    register_const_loader_kind();
    register_source_kind();
    register_device_functions();
    register_builtins();
    return true;
  }();
  (void)once;
}

void begin_use() {
  prepare_library();
  tell_kept_warnings();
}

namespace {
// Runs at load, so that global functions can be listed before any other call.
[[maybe_unused]] const bool kPrepared = (prepare_library(), check_environment(), thread_count_of_environment(), true);
}  // namespace

}  // namespace opd
