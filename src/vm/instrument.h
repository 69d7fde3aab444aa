// Shows a call to the VM's instrument, as TVM does: f(function, name, before, result, arguments …).
#pragma once
#include <span>

#include "vm/run.h"

namespace opd {

// `shown` is what the instrument gets: a head of kInstrumentHead values, whose first two say which function is called,
// then the arguments. Throw what the instrument raised.
bool instrument_before(Run &run, std::span<View> shown);  // false if the call is to be skipped
void instrument_after(Run &run, std::span<View> shown, const View &result);

}  // namespace opd
