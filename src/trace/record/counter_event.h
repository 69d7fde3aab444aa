// Counters in traces: values of devices at moments, as collectors measured them.
#pragma once
#include <opdyno/dlpack.h>

#include "trace/model/names.h"

namespace opd {

// The value of `device` now, for all recordings that run. Cost: that of an event; the caller measures no more often
// than the value changes.
void add_counter_event(NameId name, DLDevice device, double value) noexcept;

}  // namespace opd
