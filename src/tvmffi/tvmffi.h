// TVM's C functions as compiled artefacts call them. None of their names is exported: module/ writes the addresses into
// each artefact, so that a real TVM in the same process keeps its own artefacts and we keep ours.
#pragma once

namespace opd {

void register_tvmffi_symbols();  // any number of times, from any thread

}  // namespace opd
