// Time stamps. Ticks are of the processor's counter where that is invariant, else nanoseconds of CLOCK_MONOTONIC.
// Cost: 8 to 20 ns a stamp; clock_gettime is more than twice that.
#pragma once
#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace opd {

enum class ClockId : uint32_t { kMonotonic = 1, kTsc = 2 };

inline uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

ClockId tick_clock();  // decided once: kTsc if the processor promises a constant, never stopping counter

inline uint64_t ticks_of(ClockId clock) {
#if defined(__x86_64__)
  if (clock == ClockId::kTsc) return __rdtsc();
#endif
  (void)clock;
  return monotonic_ns();
}

// A place on both time lines.
struct ClockSample {
  uint64_t ticks, ns;
};
ClockSample sample_clock(ClockId clock);

// Ticks to nanoseconds of CLOCK_MONOTONIC.
struct ClockCalibration {
  ClockSample anchor{};
  double ns_per_tick = 1;
  // Through now and the first use of the clock in this process. Cost: a process younger than 10 ms waits until it is
  // that old, so that the slope's error is below 10 ppm.
  static ClockCalibration measure(ClockId clock);
  double ns_of(uint64_t ticks) const {
    return static_cast<double>(anchor.ns) +
           static_cast<double>(static_cast<int64_t>(ticks - anchor.ticks)) * ns_per_tick;
  }
  double duration_ns(uint64_t ticks) const { return static_cast<double>(ticks) * ns_per_tick; }
};

// What an empty interval reads, in ticks: to be taken off measured ones.
uint64_t empty_interval_ticks(ClockId clock);

}  // namespace opd
