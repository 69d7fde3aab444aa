// Active waiting, bounded in time.
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

// True if `done` became true within about `ns`. The first rounds do not read the clock, because most waits end there
// and a clock read costs as much as several rounds.
template <class Done>
bool spin_for(uint64_t ns, Done done) {
  if (ns == 0) return done();
  const auto rounds = [&] {
    for (int i = 0; i < 64; ++i, relax_processor())
      if (done()) return true;
    return false;
  };
  if (rounds()) return true;
  for (const uint64_t end = monotonic_ns() + ns; monotonic_ns() < end;)
    if (rounds()) return true;
  return false;
}

}  // namespace opd
