// Definite assignment analysis: finds the instructions that may read a register before it is written.
#pragma once
#include <vector>

#include "program/executable.h"

namespace opd {

// Returns one entry per instruction of `function`. The entry is true if the instruction may read a register that was
// not written on some path to it. The interpreter checks only these reads.
std::vector<bool> unproved_reads(const Executable &executable, const FunctionInfo &function);

}  // namespace opd
