// The first use of a function's static variables, and fork().
#pragma once
#include <atomic>
#include <cstdint>

namespace opd {

namespace detail {
extern constinit std::atomic<uint32_t> forks;
}
// How many fork() calls lie between the start of the process and here: a child's number differs from its parent's.
inline uint32_t fork_generation() { return detail::forks.load(std::memory_order_relaxed); }

}  // namespace opd
