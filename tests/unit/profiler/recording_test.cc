// Warm-ups, runs and the limit on records, with a "program" that only writes records.
#include "profiler/recording.h"

#include <gtest/gtest.h>

namespace opd {
namespace {

constexpr DLDevice kCpu{kDLCPU, 0};

// Each run records `calls` calls of a vector with run + 1 elements.
Recording record(RunRecordingOptions plan, int calls) {
  plan.devices = {kCpu};
  return record_calls(std::move(plan), [&](CallEventBuffer *buffer, uint64_t run) {
    int64_t size = static_cast<int64_t>(run) + 1;
    DLTensor vector{nullptr, kCpu, 1, {kDLFloat, 32, 1}, &size, nullptr, 0};
    const View args[] = {opd_dltensor(&vector)};
    for (int i = 0; i < calls; ++i) {
      CallEvent *record = buffer->describe(args, 0);
      if (!record) continue;
      record->begin = record->end = buffer->now();
      record->name = name_id("add"), record->location = record->depth = 0;
      record->run = run;
      buffer->commit();
    }
  });
}

RunRecordingOptions plan(int32_t warmup, int32_t repeat, uint64_t max_records = 1 << 20) {
  RunRecordingOptions made;
  made.warmup = warmup, made.repeat = repeat, made.options.max_records = max_records, made.num_threads = 1;
  return made;
}

TEST(Recording, KeepsNothingOfTheWarmUps) {
  for (const int warmup : {0, 1, 3}) {
    const auto report = record(plan(warmup, 2), 5).report;
    EXPECT_EQ(report->num_rows(), 10u + 2) << warmup;
    EXPECT_EQ(report->get_device("cpu0", "Count").u.int64, 2) << warmup << ": runs";
  }
}

TEST(Recording, CountsAsDroppedOnlyWhatTheMeasuredRunsLost) {
  const auto report = record(plan(2, 3, 4), 5).report;  // each warm-up alone is over the limit
  EXPECT_EQ(report->num_rows(), 4u + 2);
  EXPECT_EQ(report->get_configuration("Dropped calls").u.int64, 3 * 5 - 4);
}

TEST(Recording, KeepsTheOrderAndShapesOverManyBlocks) {
  const int calls = 1500, runs = 9;  // more than three blocks of 4096
  const auto report = record(plan(1, runs), calls).report;
  ASSERT_EQ(report->num_rows(), static_cast<size_t>(calls * runs + 2));
  for (const int run : {0, 4, 8})
    for (const int call : {0, calls - 1})
      EXPECT_EQ(as_text(report->get_call(static_cast<size_t>(run * calls + call), "Argument Shapes"), "shapes"),
                concat("float32[", run + 1, "]"));
}

}  // namespace
}  // namespace opd
