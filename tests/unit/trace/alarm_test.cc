// Alarms of recordings: what one thread raises, another waits for.
#include "trace/record/alarm.h"

#include <gtest/gtest.h>

#include <functional>

#include "trace/record/ranges.h"
#include "trace/record/recording.h"
#include "trace/record/run_recorder.h"

namespace opd {
namespace {

TEST(AnAlarm, ForgetsEarlierEventsWhenArmedAgain) {
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

TEST(AnAlarm, ReportsAllCausesSinceTheLastWait) {
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

TEST(AnAlarm, IsNotRaisedWhenDisarmed) {
  Alarm alarm;
  const auto raise_all = [&] {
    alarm.raise_by_request();
    alarm.raise_by_signal();
    alarm.raise(kNoName, 5, true);
  };
  raise_all();
  alarm.arm({.slow_ticks = 1, .on_error = true, .signal = 10});
  EXPECT_EQ(alarm.slow_ticks(), 1u);
  EXPECT_TRUE(alarm.listens_to_errors());
  EXPECT_TRUE(alarm.listens_to(10));
  EXPECT_FALSE(alarm.listens_to(12));
  alarm.disarm();
  EXPECT_EQ(alarm.slow_ticks(), UINT64_MAX);
  EXPECT_FALSE(alarm.listens_to_errors());
  EXPECT_FALSE(alarm.listens_to(10));
  raise_all();
  EXPECT_FALSE(alarm.wait().is_any());
}

// A run that takes 10 µs at least.
void a_run(bool fails = false) {
  RunRecorder recorder;
  RunRecording run;
  recorder.reset();
  if (is_recording()) run.begin(recorder, {&recorder, kNoName, name_id("alarm.run")}, nullptr);
  const Ref<Error> error = make_error(OPD_CALL_FAILED, "alarm");
  if (fails) run.note_failure(*error);
  for (const uint64_t begin = monotonic_ns(); monotonic_ns() - begin < 10'000;) {}
}
std::string what(Alarm &alarm) {  // that was raised so far
  alarm.raise_by_request();       // so it does not wait
  const Alarm::Raised raised = alarm.wait();
  if (!raised.span) return "nothing";
  const std::string others = raised.other_spans ? concat(" and ", raised.other_spans) : "";
  return concat(name_text(raised.span->name), raised.span->has_failed ? " failed" : " was slow", others);
}

TEST(Alarms, AreRaisedByTheirOwnCauses) {
  const auto errors = Recording::start({}), slow = Recording::start({}), both = Recording::start({}),
             patient = Recording::start({});
  errors->alarm().arm({.on_error = true});
  slow->alarm().arm({.slow_ticks = 2});
  both->alarm().arm({.slow_ticks = 2, .on_error = true});
  patient->alarm().arm({.slow_ticks = UINT64_MAX - 1});
  const auto expect = [&](const char *of_errors, const char *of_slow, const char *of_both) {
    EXPECT_EQ(what(errors->alarm()), of_errors);
    EXPECT_EQ(what(slow->alarm()), of_slow);
    EXPECT_EQ(what(both->alarm()), of_both);
    EXPECT_EQ(what(patient->alarm()), "nothing");
  };
  a_run();
  expect("nothing", "alarm.run was slow", "alarm.run was slow");
  a_run(true);
  expect("alarm.run failed", "alarm.run was slow", "alarm.run failed");
  a_run();
  a_run();
  expect("nothing", "alarm.run was slow and 1", "alarm.run was slow and 1");
  slow->alarm().disarm();
  both->alarm().disarm();
  a_run();
  a_run(true);
  EXPECT_EQ(what(errors->alarm()), "alarm.run failed");
  errors->alarm().disarm();
  patient->alarm().disarm();
  EXPECT_EQ(detail::slow_ticks, UINT64_MAX) << "nothing costs time any more";
  EXPECT_FALSE(detail::error_alarms);
}

TEST(Alarms, AreRaisedByARunThatAnExceptionEnds) {
  const auto recording = Recording::start({}), other = Recording::start({});
  recording->alarm().arm({.on_error = true});
  other->alarm().arm({});
  const auto run_that = [](bool throws) {
    RunRecorder recorder;
    RunRecording run;
    recorder.reset();
    run.begin(recorder, {&recorder, kNoName, name_id("alarm.run")}, nullptr);
    if (throws) throw 1;
  };
  EXPECT_ANY_THROW(run_that(true));
  EXPECT_EQ(what(recording->alarm()), "alarm.run failed");
  EXPECT_EQ(what(other->alarm()), "nothing");
  struct Cleaner {
    const std::function<void(bool)> run;
    ~Cleaner() { run(false); }
  };
  const auto clean_up = [&] {
    const Cleaner cleaner{run_that};
    throw 1;
  };
  EXPECT_ANY_THROW(clean_up());
  EXPECT_EQ(what(recording->alarm()), "nothing") << "the run ended well, though an exception was under way";
  recording->alarm().disarm();
  other->alarm().disarm();
}

TEST(Alarms, AreNotRaisedBySpansFromBeforeTheirRecording) {
  RecordingOptions options;
  options.ranges = true, options.waits = false;
  const auto first = Recording::start(options);
  first->alarm().arm({.slow_ticks = 1});
  const uint64_t range = begin_range(name_id("alarm.range"));
  const auto second = Recording::start(options);
  second->alarm().arm({.slow_ticks = 1});
  for (const uint64_t begin = monotonic_ns(); monotonic_ns() - begin < 10'000;) {}
  end_range(range);
  EXPECT_EQ(what(first->alarm()), "alarm.range was slow");
  EXPECT_EQ(what(second->alarm()), "nothing");
  first->alarm().disarm();
  second->alarm().disarm();
}

}  // namespace
}  // namespace opd
