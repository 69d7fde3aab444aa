// Lets other processes record this one: if OPDYNO_CONTROL is set, a thread of the library listens on a socket for
// requests (docs/tracing.md, "Record from outside"). Cost: nothing if it is not set; else a thread that sleeps until a
// request arrives.
#pragma once
#include "trace_formats/trace_file.h"

namespace opd {

// Called once, when the library is loaded.
void start_control(WriteTrace write) noexcept;

}  // namespace opd
