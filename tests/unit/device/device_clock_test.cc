#include "device/device_clock.h"

#include <gtest/gtest.h>

namespace opd {
namespace {

// The host's ticks `ns` after the process began to measure, as near as the calibration says.
class ADeviceClock : public testing::Test {
 protected:
  uint64_t tick(int64_t ns) const {
    return origin_ + static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(ns) / line_.ns_per_tick));
  }
  double ns(uint64_t ticks) const {
    return static_cast<double>(static_cast<int64_t>(ticks - origin_)) * line_.ns_per_tick;
  }
  const ClockCalibration line_ = ClockCalibration::measure(tick_clock());
  const uint64_t origin_ = ticks_of(tick_clock());
  static constexpr uint64_t kDevice = 5'000'000'000'000;  // its time at the origin
  DeviceClock clock_{"test"};
};

TEST_F(ADeviceClock, IsPlacedInTheMiddleOfThePossibleRange) {
  clock_.observe(kDevice + 1'000'000, {tick(990'000), tick(1'010'000)});
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 1'000'000)), 1'000'000, 50);
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 3'000'000)), 3'000'000, 50);
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice)), 0, 50) << "also before the observation";
}

TEST_F(ADeviceClock, IsNarrowedByEachObservation) {
  clock_.observe(kDevice + 1'000'000, {tick(990'000), tick(1'000'500)});    // it is not later
  clock_.observe(kDevice + 1'100'000, {tick(1'099'800), tick(1'150'000)});  // it is not earlier
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 1'000'000)), 1'000'150, 50);
}

TEST_F(ADeviceClock, IsLessCertainAsTimeGoesOn) {
  clock_.observe(kDevice, {tick(-100), tick(100)});
  constexpr int64_t kSecond = 1'000'000'000;
  clock_.observe_not_after(kDevice + kSecond, tick(kSecond - 60'000));
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + kSecond)), kSecond - 80'050, 100) << "within 100 ppm, the clock ran faster";
}

TEST_F(ADeviceClock, IsPlacedByBoundsOnOneSide) {
  clock_.observe_not_before(kDevice + 1'000, tick(800));
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 1'000)), 800, 50) << "nothing else is known";
  clock_.observe_not_after(kDevice + 5'000, tick(5'400));
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 1'000)), 1'100, 50) << "the middle";
  clock_.observe(kDevice + 9'000, {tick(0), tick(99'000)});  // a launch that waited
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 1'000)), 1'100, 50);
  clock_.observe_not_before(kDevice + 9'000, tick(9'300));
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 1'000)), 1'350, 50);
}

TEST_F(ADeviceClock, TrustsEndsMoreThanLaunchesThatWaited) {
  clock_.observe_not_before(kDevice + 20'000'000, tick(0));  // it was launched 20 ms earlier
  clock_.observe_not_after(kDevice + 30'000'000, tick(30'010'000));
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 30'000'000)), 29'960'000, 50);
}

TEST_F(ADeviceClock, KeepsTheLengthOfWorkThatSeemsToBeginBeforeItsLaunch) {
  clock_.observe(kDevice, {tick(0), tick(10)});
  const TickInterval work = clock_.times_of(kDevice + 1'000, kDevice + 4'000, {tick(2'000), tick(2'100)}).work;
  EXPECT_NEAR(ns(work.begin), 2'000, 50);
  EXPECT_NEAR(ns(work.end), 5'000, 50);
}

TEST_F(ADeviceClock, HasTheErrorBoundOfItsTimes) {
  EXPECT_EQ(clock_.error_ns_at(kDevice), DeviceMoment::kNotKnown) << "nothing was observed";
  clock_.observe_not_after(kDevice + 1'000'000, tick(1'030'000));
  EXPECT_EQ(clock_.error_ns_at(kDevice), DeviceMoment::kNotKnown) << "it may be as early as you like";
  clock_.observe_not_before(kDevice + 1'000'000, tick(990'000));
  constexpr double kRounding = 2 * 1 + 4;  // of two times of the device, and of conversions
  EXPECT_NEAR(clock_.error_ns_at(kDevice + 1'000'000), 20'000 + 4 + kRounding, 3) << "half of the range, and drift";
  EXPECT_NEAR(clock_.error_ns_at(kDevice + 1'001'000'000), 20'000 + 100'000 + kRounding, 10) << "100 ppm of a second";
  EXPECT_NEAR(clock_.error_ns_at(kDevice - 999'000'000), 20'000 + 100'000 + kRounding, 10) << "also of one before it";
}

// The end counts more than the launch: so the error is that to the farther one.
TEST_F(ADeviceClock, HasTheErrorToTheFartherBound) {
  clock_.observe_not_before(kDevice + 20'000'000, tick(0));
  clock_.observe_not_after(kDevice + 30'000'000, tick(30'010'000));
  EXPECT_NEAR(clock_.error_ns_at(kDevice + 30'000'000), 20'010'000 - 50'000 + 3'000, 100) << "and 100 ppm of 30 ms";
}

TEST_F(ADeviceClock, IsLessExactIfTheDeviceCountsInLargeSteps) {
  DeviceClock coarse("test", 1'000);
  for (DeviceClock *each : {&clock_, &coarse}) each->observe(kDevice, {tick(0), tick(100)});
  EXPECT_NEAR(coarse.error_ns_at(kDevice) - clock_.error_ns_at(kDevice), 2 * 999, 1);
}

// The clock was set back by 2 ms, or its device rested: one side is not known until it is observed.
TEST_F(ADeviceClock, HasAnUnknownErrorIfObservationsConflict) {
  clock_.observe(kDevice, {tick(0), tick(100)});
  clock_.observe_not_before(kDevice + 1'000'000, tick(3'000'000));
  EXPECT_EQ(clock_.error_ns_at(kDevice + 1'000'000), DeviceMoment::kNotKnown);
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 1'000'000)), 3'000'000, 50);
  clock_.observe_not_after(kDevice + 2'000'000, tick(4'010'000));
  EXPECT_NEAR(clock_.error_ns_at(kDevice + 2'000'000), 5'000 + 6 + 50, 100);
}

TEST_F(ADeviceClock, MayShowUnixTime) {
  constexpr uint64_t kNow =
      1'795'000'000'000'000'000;  // of 2026: as far from the host's as the library's numbers allow
  clock_.observe(kNow, {tick(0), tick(100)});
  EXPECT_NEAR(clock_.error_ns_at(kNow), 50 + 6, 10);
  EXPECT_NEAR(ns(clock_.ticks_at(kNow)), 50, 50);
}

TEST_F(ADeviceClock, ReturnsTheMomentThatItsTimesAreBasedOn) {
  clock_.observe(kDevice, {tick(0), tick(100)});
  const DeviceMoment moment = clock_.times_of(kDevice + 1'000, kDevice + 4'000, {tick(0), tick(10)}).clock;
  EXPECT_EQ(name_text(moment.method), "test");
  EXPECT_EQ(moment.device_ns, kDevice + 4'000);
  EXPECT_NEAR(ns(moment.ticks), 4'050, 50);
  EXPECT_EQ(moment.error_ns, clock_.error_ns_at(kDevice + 4'000));
  DeviceClock relative("test", 1, DeviceClock::Zero::kOfReference);
  relative.observe(0, {tick(0), tick(100)});
  EXPECT_EQ(relative.times_of(1'000, 4'000, {tick(0), tick(10)}).clock.device_ns, DeviceMoment::kNotKnown);
}

TEST_F(ADeviceClock, FollowsAResetOfTheDevice) {
  clock_.observe(kDevice, {tick(0), tick(100)});
  clock_.observe(77'000'000, {tick(1'000'000), tick(1'000'200)});
  EXPECT_NEAR(ns(clock_.ticks_at(77'000'000)), 1'000'100, 50);
}

}  // namespace
}  // namespace opd
