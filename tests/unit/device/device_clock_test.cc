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
  DeviceClock clock_;
};

TEST_F(ADeviceClock, IsPlacedInTheMiddleOfWhatIsPossible) {
  clock_.observe(kDevice + 1'000'000, {tick(990'000), tick(1'010'000)});
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 1'000'000)), 1'000'000, 50);
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice + 3'000'000)), 3'000'000, 50);
  EXPECT_NEAR(ns(clock_.ticks_at(kDevice)), 0, 50) << "also before the observation";
}

TEST_F(ADeviceClock, IsNarrowedByEachMomentThatIsKnown) {
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

TEST_F(ADeviceClock, IsPlacedByMomentsThatAreKnownOnOneSide) {
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
  const TickInterval work = clock_.interval_of(kDevice + 1'000, kDevice + 4'000, {tick(2'000), tick(2'100)});
  EXPECT_NEAR(ns(work.begin), 2'000, 50);
  EXPECT_NEAR(ns(work.end), 5'000, 50);
}

TEST_F(ADeviceClock, FollowsOneThatWasSetAnew) {
  clock_.observe(kDevice, {tick(0), tick(100)});
  clock_.observe(77'000'000, {tick(1'000'000), tick(1'000'200)});
  EXPECT_NEAR(ns(clock_.ticks_at(77'000'000)), 1'000'100, 50);
}

}  // namespace
}  // namespace opd
