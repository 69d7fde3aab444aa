// Definite assignment analysis: finds the instructions that may read a register before it is written.
#pragma once
#include <vector>

#include "program/executable.h"

namespace opd {

// One entry per instruction of `function`, from its start: true if the instruction may read a register that no path has
// written. The interpreter checks those reads; all others need no check.
std::vector<bool> unproved_reads(const Executable &executable, const FunctionInfo &function);

}  // namespace opd
