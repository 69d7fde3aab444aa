// Registers the kinds of host modules that TVM embeds in libraries beside the library's own code.
#pragma once

namespace opd {

void register_static_library_kind();  // object code, which is not changed
void register_const_loader_kind();    // constants of other modules
void register_source_kind();          // C sources, compiled at the first request for a function
void register_device_functions();     // not a kind: global functions that kernels of devices need

}  // namespace opd
