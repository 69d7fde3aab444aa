// Measures for each recorded call how long its threads waited for a processor, without its nested calls. Only for a
// recording of the calling thread alone.
//
// The wait is read after calls that lasted 100 us or longer. A call that waited long also lasted long, so no long wait
// is missed. A shorter wait counts for the next long call. Cost: about 65 ns per call, and after a long call 1 us for
// each thread.
#pragma once
#include <memory>

#include "device/cpu/processor_wait.h"
#include "trace/model/event.h"

namespace opd {

// `inner`: also runs these observers, around the same calls. May be null.
std::unique_ptr<CallObservers> observe_waits(std::unique_ptr<CallObservers> inner);

}  // namespace opd
