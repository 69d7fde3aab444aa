// What a program takes where its instructions do not say so.
//
// TVM checks only the parameters that a model calls its inputs (`num_input`), and a compiled function has no
// instructions to read checks from. The kernels know: the text of each kernel's error messages holds its signature. So
// the function is called with stand-ins for what is unknown, and an instrument sees which checks and kernels get them.
// All kernels are skipped: nothing is computed, and what they would have read does not matter.
#pragma once
#include <vector>

#include "program.h"
#include "target.h"

namespace opd::cli {

// Completes the parameters of a program's function as far as they can be found. `given` holds a value for each
// parameter that has one already, and OPD_NONE for the others.
std::vector<Param> probe_params(const Program &program, const Target &target, const std::vector<opd_value> &given);

}  // namespace opd::cli
