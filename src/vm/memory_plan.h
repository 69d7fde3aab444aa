// Plans: code in which tensors that never leave their basic block are not made anew by each run.
#pragma once
#include "vm/program.h"

namespace opd {

// Gives each function of a decoded program a plan where that saves instructions.
//
// A storage and its tensors become static buffers of the frame (see StaticBuffer) if, within one basic block, the
// storage is used by nothing but alloc_tensor, all its tensors fit, and they are used by nothing but compiled kernels
// and end there: killed, overwritten, or alive when the function returns. Their alloc_tensor and kill instructions
// vanish, and alloc_storage becomes a look at whether a kernel kept one of the tensors. Everything else stays as it was
// decoded.
void plan(Program &program);

}  // namespace opd
