// The stack of the calling thread, as return addresses. Cost: some 100 ns a frame; the tables that compilers leave for
// exceptions say where callers are, so frame pointers are not needed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace opd {

// Writes the return addresses of the calling functions, from the innermost on, and returns their number, at most
// `most`. Those of this library at the beginning are left out, and so are the functions whose frames end further out
// than the address `limit` of the stack.
size_t walk_stack(uint64_t *addresses, size_t most, uintptr_t limit = UINTPTR_MAX) noexcept;

}  // namespace opd
