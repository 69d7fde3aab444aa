// Prepares the library before it loads an artifact or runs a program.
#pragma once

namespace opd {

// Registers formats, builtins and the functions that artifacts call. Idempotent and cheap after the first time.
void prepare_library();

}  // namespace opd
