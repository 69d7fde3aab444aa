// Active waiting, bounded in time: for threads that wait for one which runs on another processor.
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

// True if `done` is true, or becomes true within about kSpinNs where the thread may spin. The first rounds do not read
// the clock, because most waits end there and a clock read costs as much as several rounds.
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
