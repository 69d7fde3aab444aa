// The first use of a function's static variables, and fork().
#pragma once
#include <cstdint>

namespace opd {

// How many fork() calls lie between the start of the process and here: a child's number differs from its parent's.
uint32_t fork_generation() noexcept;

}  // namespace opd
