// Finds out a program's parameters if its instructions do not describe them.
//
// TVM checks only the parameters that a model calls its inputs (`num_input`), and compiled functions have no
// instructions to read checks from. But each kernel's error messages contain its signature. So the function is called
// with stand-ins for unknown arguments, and an instrument records which checks and kernels get them. All kernels are
// skipped: nothing is computed, so the content of the stand-ins does not matter.
#pragma once
#include <vector>

#include "cli/load/program.h"
#include "cli/load/target.h"

namespace opd::cli {

// Completes the parameters of a program's function as far as possible. `given` holds a value for each known parameter,
// and OPD_NONE for the others.
std::vector<Param> probe_params(const Program &program, const Target &target, const std::vector<opd_value> &given);

}  // namespace opd::cli
