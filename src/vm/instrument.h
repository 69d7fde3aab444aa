// Shows a call to the VM's instrument, as TVM does: f(function, name, before, result, arguments …).
#pragma once
#include <span>

#include "vm/run.h"

namespace opd {

// `shown` are the instrument's arguments: kInstrumentHead values, of which the first two name the called function, then
// the call's arguments. Both functions throw the instrument's error.
bool instrument_before(Run &run, std::span<View> shown);  // false if the call must be skipped
void instrument_after(Run &run, std::span<View> shown, const View &result);

}  // namespace opd
