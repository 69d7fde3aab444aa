// Replaces the C++ runtime's functions that the compiler calls around the first use of a function's static variable. If
// fork() meets a first use in another thread, the runtime's functions make the child wait for that thread, which the
// child does not have. With these functions, the child initialises the variable again from the start.
//
// So an initialiser may run twice: in the parent, and again in the child. In the child, the first run stopped outside
// of all locks of the library (fork_mutex.h). Its effects must not make the second run fail.
//
// Source: Itanium C++ ABI, 3.3.3 "One-time construction API". It defines only the guard's first byte: not 0 once the
// variable is initialised. Compiled code checks that byte before it calls these functions.
#include "base/static_guard.h"

#include <pthread.h>

#include <atomic>

namespace opd {

constinit std::atomic<uint32_t> detail::forks{0};

namespace {
[[gnu::constructor]] void count_forks() {
  pthread_atfork(nullptr, nullptr, [] { detail::forks.fetch_add(1, std::memory_order_relaxed); });
}
}  // namespace

}  // namespace opd

#ifndef OPD_RACE_DETECTOR  // ThreadSanitizer has its own such functions
namespace opd {
namespace {

struct StaticGuard {
  std::atomic<uint8_t> is_initialised;
  // generation of the initialising thread's process, plus 1; 0: no thread initialises
  std::atomic<uint32_t> initialising;
};
static_assert(sizeof(StaticGuard) == sizeof(uint64_t));

void end_initialising(StaticGuard &guard) {
  guard.initialising.store(0, std::memory_order_release);
  guard.initialising.notify_all();
}

}  // namespace
}  // namespace opd

extern "C" {

// Returns 1 if the caller must initialise the variable. Otherwise it is initialised.
[[gnu::visibility("hidden")]] int __cxa_guard_acquire(opd::StaticGuard *guard) {
  const uint32_t here = opd::fork_generation() + 1;
  for (;;) {
    if (guard->is_initialised.load(std::memory_order_acquire)) return 0;
    uint32_t initialising = guard->initialising.load(std::memory_order_acquire);
    if (initialising == here) guard->initialising.wait(initialising);
    else if (guard->initialising.compare_exchange_strong(initialising, here)) {
      // Another thread may have initialised the variable since the check above.
      if (!guard->is_initialised.load(std::memory_order_acquire)) return 1;
      opd::end_initialising(*guard);
      return 0;
    }
  }
}

[[gnu::visibility("hidden")]] void __cxa_guard_release(opd::StaticGuard *guard) {
  guard->is_initialised.store(1, std::memory_order_release);
  opd::end_initialising(*guard);
}

// The initialiser threw an exception.
[[gnu::visibility("hidden")]] void __cxa_guard_abort(opd::StaticGuard *guard) { opd::end_initialising(*guard); }

}  // extern "C"
#endif
