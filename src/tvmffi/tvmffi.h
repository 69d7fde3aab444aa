// TVM's C functions for compiled artifacts. Their names are not exported: module/ writes their addresses into each
// artifact. So opdyno does not mix with a real TVM in the same process.
#pragma once

namespace opd {

void register_tvmffi_symbols();  // idempotent, thread-safe

// Makes the global functions about libopdyno's own state: its registry, types and modules. Idempotent, thread-safe.
// Only for users of tvm-ffi's interface.
void define_process_functions();

}  // namespace opd
