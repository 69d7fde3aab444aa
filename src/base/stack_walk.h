// Walks the stack of the calling thread and returns return addresses. Cost: about 100 ns per frame. The compilers'
// tables for exceptions locate callers, so frame pointers are not needed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace opd {

// Writes the return addresses of the calling functions, the innermost first, and returns their number, at most `most`.
// Leading functions of this library are omitted. A function whose frame ends further out than the stack address `limit`
// is omitted, too.
size_t walk_stack(uint64_t *addresses, size_t most, uintptr_t limit = UINTPTR_MAX) noexcept;

}  // namespace opd
