// What has to be in place before the first artifact is loaded or program runs.
#pragma once

namespace opd {

// Registers formats, builtins and the functions that artifacts call. Idempotent and cheap after the first time.
void prepare_library();

}  // namespace opd
