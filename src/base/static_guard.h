// Guards of a function's static variables that survive fork() during their first use.
#pragma once
#include <atomic>
#include <cstdint>

namespace opd {

namespace detail {
extern constinit std::atomic<uint32_t> forks;
}
// Returns the number of fork() calls from the first process to this one. A child's number differs from its parent's.
inline uint32_t fork_generation() { return detail::forks.load(std::memory_order_relaxed); }

}  // namespace opd
