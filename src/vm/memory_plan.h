// The memory planner. It makes a second version of a function's code, which keeps tensors between calls if they never
// leave their basic block.
#pragma once
#include "vm/program.h"

namespace opd {

// Makes the planned code of each function of a decoded program if that saves instructions.
//
// A storage and its tensors become static buffers of the frame (see StaticBuffer) under these conditions. Within one
// basic block, only alloc_tensor uses the storage, and all its tensors fit. Only compiled kernels use the tensors. The
// tensors end in the block: they are killed, overwritten, or alive when the function returns. Their alloc_tensor and
// kill instructions are removed. alloc_storage becomes a check whether a kernel kept one of the tensors. All other code
// stays as decoded.
void plan(Program &program);

}  // namespace opd
