// The number of forks of this process. static_guard.cc also makes the initialisation of function-local static variables
// safe against fork().
#pragma once
#include <atomic>
#include <cstdint>

// OPD_RACE_DETECTOR is defined if the build is for ThreadSanitizer.
#if defined(__SANITIZE_THREAD__)
#define OPD_RACE_DETECTOR
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OPD_RACE_DETECTOR
#endif
#endif

namespace opd {

namespace detail {
extern constinit std::atomic<uint32_t> forks;
}
// Returns the number of fork() calls from the first process to this one. A child's number differs from its parent's.
inline uint32_t fork_generation() { return detail::forks.load(std::memory_order_relaxed); }

}  // namespace opd
