// Counters in traces: values that collectors measured on devices, each at a moment.
#pragma once
#include <opdyno/dlpack.h>

#include "trace/model/names.h"

namespace opd {

// Adds the current value of `device` to all running recordings. Cost: that of an event; the caller measures no more
// often than the value changes.
void add_counter_event(NameId name, DLDevice device, double value) noexcept;

}  // namespace opd
