// Ticks, and the nanoseconds that they stand for.
#include "base/clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace opd {
namespace {

// However long the test is interrupted, the converted time lies between those that were read before and after. 2 ms is
// far more than the error of a line through two samples that lie 10 ms apart.
TEST(Ticks, AreConvertedToTheMonotonicTime) {
  constexpr double kError = 2e6;
  for (const ClockId clock : {tick_clock(), ClockId::kMonotonic}) {
    const ClockCalibration line = ClockCalibration::measure(clock);
    for (int i = 0; i < 3; ++i) {
      const uint64_t before = monotonic_ns(), ticks = ticks_of(clock), after = monotonic_ns();
      EXPECT_GE(line.ns_of(ticks), static_cast<double>(before) - kError);
      EXPECT_LE(line.ns_of(ticks), static_cast<double>(after) + kError);
      usleep(20'000);
    }
    const uint64_t begin = ticks_of(clock), from = monotonic_ns();
    usleep(20'000);
    const uint64_t to = monotonic_ns(), end = ticks_of(clock);
    EXPECT_GE(line.duration_ns(end - begin), static_cast<double>(to - from) - kError);
    EXPECT_EQ(line.duration_ns(0), 0);
    EXPECT_LT(line.ns_of(line.anchor.ticks - 1000), line.ns_of(line.anchor.ticks)) << "also before the anchor";
    EXPECT_EQ(line.ns_of(line.anchor.ticks), static_cast<double>(line.anchor.ns));
    // The median of many intervals of nothing.
    EXPECT_LT(line.duration_ns(empty_interval_ticks(clock)), 1e6);
  }
  EXPECT_EQ(ClockCalibration::measure(ClockId::kMonotonic).ns_per_tick, 1);
  EXPECT_EQ(tick_clock(), tick_clock());
}

TEST(Ticks, AreSampledTogetherWithTheTime) {
  for (const ClockId clock : {tick_clock(), ClockId::kMonotonic}) {
    const uint64_t first_ticks = ticks_of(clock), first = monotonic_ns();
    const ClockSample sample = sample_clock(clock);
    const uint64_t last = monotonic_ns(), last_ticks = ticks_of(clock);
    EXPECT_GE(sample.ns, first);
    EXPECT_LE(sample.ns, last);
    EXPECT_GE(sample.ticks, first_ticks);
    EXPECT_LE(sample.ticks, last_ticks);
  }
}

}  // namespace
}  // namespace opd
