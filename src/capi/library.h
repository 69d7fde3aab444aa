// Prepares the library for loading artifacts and running programs.
#pragma once

namespace opd {

// Registers formats, builtins and the functions that artifacts call. Idempotent. Later calls are cheap.
void prepare_library();
// Called when the program begins to load modules: prepares the library, and tells warnings about environment variables.
void begin_use();

}  // namespace opd
