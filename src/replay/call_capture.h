// Captures running calls of a VM in files.
#pragma once
#include <string>

#include "replay/captured_call.h"
#include "vm/vm.h"

namespace opd {

// Captures the next call, from any thread. Throws if another capture is waiting, or the path cannot be written.
void capture_next_call(Vm &vm, const std::string &path, const CaptureOptions &options);
// Ends this capture. Throws unless a whole call was captured.
void end_capture_next_call(Vm &vm);

// Captures every outermost call in one file, which has the latest one. Warns if a program cannot be captured.
void capture_each_call(Vm &vm, const std::string &path);

}  // namespace opd
