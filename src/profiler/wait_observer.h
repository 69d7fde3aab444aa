// Measures for each recorded call how long its threads waited for a processor. Only for a recording of the calling
// thread alone.
//
// The wait is read after calls that lasted long. If a short-looking call did wait, it did last long, so no long wait is
// missed. Cost: some 50 ns per call, and 1 us for each of the threads after a long one.
#pragma once
#include <memory>

#include "device/cpu/processor_wait.h"
#include "trace/model/event.h"

namespace opd {

// `inner`: also runs these observers, around the same calls. May be null.
std::unique_ptr<CallObservers> observe_waits(std::unique_ptr<CallObservers> inner);

}  // namespace opd
