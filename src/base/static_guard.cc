// The functions that the compiler calls around the first use of a function's static variable, in the place of the C++
// runtime's. If fork() meets a first use in another thread, the runtime's functions let the child wait for that thread,
// which the child does not have. These let the child initialise the variable again, from the start.
//
// So an initialiser may run twice: once in the parent, once in the child, where the first run stopped outside of every
// lock of the library (fork_mutex.h). The first run's effects must not make the second one fail.
//
// Source: Itanium C++ ABI, 3.3.3 "One-time construction API". Only the guard's first byte is given: not 0 once the
// variable is initialised. Compiled code looks at that byte before it calls anything here.
#include "base/static_guard.h"

#include <pthread.h>

#include <atomic>

#include "base/race_detector.h"

namespace opd {

constinit std::atomic<uint32_t> detail::forks{0};

namespace {
[[gnu::constructor]] void count_forks() {
  pthread_atfork(nullptr, nullptr, [] { detail::forks.fetch_add(1, std::memory_order_relaxed); });
}
}  // namespace

}  // namespace opd

#ifndef OPD_RACE_DETECTOR  // ThreadSanitizer has such functions of its own
namespace opd {
namespace {

struct StaticGuard {
  std::atomic<uint8_t> is_initialised;
  std::atomic<uint32_t> initialising;  // by a thread of the process of generation `initialising` - 1; 0: by none
};
static_assert(sizeof(StaticGuard) == sizeof(uint64_t));

void end_initialising(StaticGuard &guard) {
  guard.initialising.store(0, std::memory_order_release);
  guard.initialising.notify_all();
}

}  // namespace
}  // namespace opd

extern "C" {

// Whether the caller is to initialise the variable; else it is initialised.
[[gnu::visibility("hidden")]] int __cxa_guard_acquire(opd::StaticGuard *guard) {
  const uint32_t here = opd::fork_generation() + 1;
  for (;;) {
    if (guard->is_initialised.load(std::memory_order_acquire)) return 0;
    uint32_t initialising = guard->initialising.load(std::memory_order_acquire);
    if (initialising == here) guard->initialising.wait(initialising);
    else if (guard->initialising.compare_exchange_strong(initialising, here)) {
      if (!guard->is_initialised.load(std::memory_order_acquire)) return 1;  // not since the look above either
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
