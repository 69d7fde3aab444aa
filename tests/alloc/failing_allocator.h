// An allocator in the place of the C library's: it counts, and it fails when it is told to.
#pragma once
#include <cstddef>

namespace opdyno_test {

/** Counts the allocations of this process from now on, on all threads, and lets some of them fail.
 * @param first The number of the allocation that fails, from 1; 0: none.
 * @param all   Whether every allocation after that one fails, too. */
void start_counting(size_t first, bool all);

/** Ends it: no allocation fails any more. Returns their number. */
size_t stop_counting();

/** The number of blocks that were allocated and not freed. */
ptrdiff_t live_blocks();

}  // namespace opdyno_test
