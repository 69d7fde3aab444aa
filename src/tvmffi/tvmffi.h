// TVM's C functions for compiled artifacts. None of their names is exported: module/ writes the addresses into each
// artifact. So a real TVM in the same process does not mix with opdyno.
#pragma once

namespace opd {

void register_tvmffi_symbols();  // idempotent, thread-safe

}  // namespace opd
