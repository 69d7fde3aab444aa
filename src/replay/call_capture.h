// Captures calls of a VM in files while they run.
#pragma once
#include <string>

#include "replay/captured_call.h"
#include "vm/vm.h"

namespace opd {

// The next call, from any thread. Throws if a call is to be captured already, or the path cannot be written.
void capture_next_call(Vm &vm, const std::string &path, const CaptureOptions &options);
// Ends that. Throws unless a call was captured as a whole.
void end_capture_next_call(Vm &vm);

// Every outermost call, in one file that has the latest. A program that cannot be kept is a warning.
void capture_each_call(Vm &vm, const std::string &path);

}  // namespace opd
