// The memory planner: makes a second version of a function's code, in which tensors that never leave their basic block
// are kept between calls.
#pragma once
#include "vm/program.h"

namespace opd {

// Makes the planned code of each function of a decoded program, if that saves instructions.
//
// A storage and its tensors become static buffers of the frame (see StaticBuffer) if, within one basic block, the
// storage is used by nothing but alloc_tensor, all its tensors fit, and they are used by nothing but compiled kernels
// and end there: killed, overwritten, or alive when the function returns. Their alloc_tensor and kill instructions are
// removed, and alloc_storage becomes a check whether a kernel kept one of the tensors. Everything else stays as
// decoded.
void plan(Program &program);

}  // namespace opd
