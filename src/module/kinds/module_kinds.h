// Kinds of host modules that TVM embeds in libraries besides the library's own code.
#pragma once

namespace opd {

void register_static_library_kind();  // object code, kept as it is
void register_const_loader_kind();    // constants of other modules
void register_source_kind();          // C sources, compiled when one of their functions is asked for
void register_device_functions();     // not a kind: global functions that kernels of devices need

}  // namespace opd
