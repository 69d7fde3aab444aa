// What has to be in place before the first artefact is loaded or program runs.
#pragma once

namespace opd {

// Registers formats, builtins and the functions that artefacts call. Idempotent and cheap after the first time.
void prepare_library();

}  // namespace opd
