// Shows a call to the VM's instrument, as TVM does: f(function, name, before, result, arguments …).
#pragma once
#include "vm/run.h"

namespace opd {

// Before the call: false if it is to be skipped. Throws what the instrument raised.
bool instrument_before(Run &run, const View &callee, const std::string &name, Args args);
void instrument_after(Run &run, const View &callee, const std::string &name, const View &result, Args args);

}  // namespace opd
