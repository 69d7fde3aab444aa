// Timestamps. A tick is one step of the processor's counter if that is invariant, else 1 ns of CLOCK_MONOTONIC. Cost: 8
// to 20 ns per timestamp; clock_gettime takes more than twice as long.
#pragma once
#include <atomic>
#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace opd {

constexpr uint64_t kNsPerMs = 1'000'000;

enum class ClockId : uint32_t { kMonotonic = 1, kTsc = 2 };

inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}
inline uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
// The processor time of the calling thread. Cost: a system call.
inline uint64_t thread_time_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

namespace detail {
extern constinit std::atomic<ClockId> tick_clock;  // ClockId{}: not decided yet
ClockId choose_tick_clock();
}  // namespace detail
// Returns the clock of ticks. It is decided once: kTsc if the processor has a constant counter that never stops.
inline ClockId tick_clock() {
  const ClockId clock = detail::tick_clock.load(std::memory_order_relaxed);
  return clock != ClockId{} ? clock : detail::choose_tick_clock();
}

inline uint64_t ticks_of(ClockId clock) {
#if defined(__x86_64__)
  if (clock == ClockId::kTsc) return __rdtsc();
#endif
  (void)clock;
  return monotonic_ns();
}

// One moment, read on both clocks.
struct ClockSample {
  uint64_t ticks, ns;
};
ClockSample sample_clock(ClockId clock);

// Converts ticks to nanoseconds of CLOCK_MONOTONIC.
struct ClockCalibration {
  ClockSample anchor{};
  double ns_per_tick = 1;
  // Draws a line through a sample of now and the one from load. If less than 10 ms have passed since load, it waits for
  // the rest, so that the slope's error is below 10 ppm.
  static ClockCalibration measure(ClockId clock);
  double ns_of(uint64_t ticks) const {
    return static_cast<double>(anchor.ns) +
           static_cast<double>(static_cast<int64_t>(ticks - anchor.ticks)) * ns_per_tick;
  }
  double duration_ns(uint64_t ticks) const { return static_cast<double>(ticks) * ns_per_tick; }
};

// Returns the measured length of an empty interval in ticks, to be subtracted from measured intervals.
uint64_t empty_interval_ticks(ClockId clock);

}  // namespace opd
