// Global functions about libopdyno's own state: its registry, types and modules.
#pragma once

namespace opd {

void define_process_functions();  // idempotent, thread-safe; only for users of tvm-ffi's interface
void define_module_functions();

}  // namespace opd
