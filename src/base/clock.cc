#include "base/clock.h"

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace opd {
namespace {

bool tsc_is_invariant() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#else
  return false;
#endif
}

}  // namespace

constinit std::atomic<ClockId> detail::tick_clock{};

ClockId detail::choose_tick_clock() {
  const ClockId clock = tsc_is_invariant() ? ClockId::kTsc : ClockId::kMonotonic;
  tick_clock.store(clock, std::memory_order_relaxed);
  return clock;
}

ClockSample sample_clock(ClockId clock) {
  ClockSample best{};
  uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < 8; ++i) {  // the shortest of several was most likely not interrupted
    const uint64_t before = ticks_of(clock), ns = monotonic_ns(), after = ticks_of(clock);
    if (after - before < narrowest) narrowest = after - before, best = {before + (after - before) / 2, ns};
  }
  return best;
}

namespace {
// Sampled at load, so that the first profile seldom has to wait; see measure().
const ClockSample origin = sample_clock(tick_clock());
}  // namespace

ClockCalibration ClockCalibration::measure(ClockId clock) {
  ClockCalibration line{sample_clock(clock), 1};
  if (clock == ClockId::kMonotonic) return line;
  constexpr uint64_t kLeast = 10'000'000;
  while (line.anchor.ns - origin.ns < kLeast) line.anchor = sample_clock(clock);
  line.ns_per_tick =
      static_cast<double>(line.anchor.ns - origin.ns) / static_cast<double>(line.anchor.ticks - origin.ticks);
  return line;
}

uint64_t empty_interval_ticks(ClockId clock) {
  std::array<uint64_t, 101> gaps;
  for (auto &gap : gaps) {
    const uint64_t begin = ticks_of(clock);
    gap = ticks_of(clock) - begin;
  }
  std::nth_element(gaps.begin(), gaps.begin() + gaps.size() / 2, gaps.end());
  return gaps[gaps.size() / 2];
}

}  // namespace opd
