// The global functions that ask for what libopdyno keeps: its registry, its types, its modules.
#pragma once

namespace opd {

void define_process_functions();  // any number of times, from any thread; only for who asks for tvm-ffi's interface
void define_module_functions();

}  // namespace opd
