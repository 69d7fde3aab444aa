// Bounded active waiting, for threads that wait for a thread on another processor.
#pragma once
#include "base/clock.h"

namespace opd {

inline void relax_processor() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

constexpr uint64_t kSpinNs = 50'000;  // a little longer than the usual time between two kernels of a program

// Returns true if `done` becomes true within about kSpinNs. Without `spins`, calls `done` once. The first rounds do not
// read the clock: most waits end there, and a clock read costs as much as several rounds.
template <class Done>
bool spin_until(bool spins, Done done) {
  if (!spins) return done();
  const auto rounds = [&] {
    for (int i = 0; i < 64; ++i, relax_processor())
      if (done()) return true;
    return false;
  };
  if (rounds()) return true;
  for (const uint64_t end = monotonic_ns() + kSpinNs; monotonic_ns() < end;)
    if (rounds()) return true;
  return false;
}

}  // namespace opd
