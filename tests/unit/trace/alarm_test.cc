// Alarms of recordings: what one thread raises, another waits for.
#include "trace/alarm.h"

#include <gtest/gtest.h>

namespace opd {
namespace {

TEST(AnAlarm, ThatIsArmedAgainForgetsWhatNobodyWaitedFor) {
  Alarm alarm;
  alarm.arm({.slow_ticks = 1});
  alarm.raise_by_request();
  alarm.raise_by_signal();
  alarm.raise(kNoName, 5, false);
  alarm.raise(kNoName, 6, false);
  alarm.disarm();
  alarm.arm({.slow_ticks = 1});
  alarm.raise(kNoName, 7, true);
  const Alarm::Raised raised = alarm.wait();
  EXPECT_FALSE(raised.by_request || raised.by_signal);
  ASSERT_TRUE(raised.span);
  EXPECT_EQ(raised.span->ticks, 7u);
  EXPECT_EQ(raised.other_spans, 0u);
  alarm.disarm();
  EXPECT_FALSE(alarm.wait().is_any());
}

TEST(AnAlarm, TellsAllThatWasRaisedSinceTheLastWait) {
  Alarm alarm;
  alarm.raise_by_request();  // not armed
  alarm.arm({.slow_ticks = 1});
  for (uint64_t ticks = 1; ticks <= 3; ++ticks) alarm.raise(kNoName, ticks, false);
  alarm.raise_by_request();
  alarm.disarm();
  const Alarm::Raised raised = alarm.wait();
  EXPECT_TRUE(raised.by_request);
  EXPECT_FALSE(raised.by_signal);
  ASSERT_TRUE(raised.span);
  EXPECT_EQ(raised.span->ticks, 1u);
  EXPECT_EQ(raised.other_spans, 2u);
  EXPECT_FALSE(alarm.wait().is_any()) << "it was told, and the alarm is disarmed";
}

}  // namespace
}  // namespace opd
