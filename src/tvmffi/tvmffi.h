// TVM's C functions as compiled artifacts call them. None of their names is exported: module/ writes the addresses into
// each artifact, so that a real TVM in the same process keeps its own artifacts and we keep ours.
#pragma once

namespace opd {

void register_tvmffi_symbols();  // any number of times, from any thread

}  // namespace opd
