// The stack of the calling thread, as return addresses. Cost: some 100 ns a frame; the tables that compilers leave for
// exceptions say where callers are, so frame pointers are not needed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace opd {

// Writes the return addresses of the calling functions, from the innermost on, and returns their number, at most
// `most`. Leading functions of this library are left out. If a function's frame ends further out than the stack address
// `limit`, it is left out, too.
size_t walk_stack(uint64_t *addresses, size_t most, uintptr_t limit = UINTPTR_MAX) noexcept;

}  // namespace opd
