// Ranges that end on another thread than they began on, and ranges nested deeper than usual.
#include <algorithm>
#include <thread>

#include "support/recording_files.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

std::vector<uint64_t> begin_ranges(size_t count) {
  std::vector<uint64_t> ranges;
  for (size_t i = 0; i < count; ++i) ranges.push_back(opd_range_begin(opdyno::range_name("handed over")));
  return ranges;
}
void end_elsewhere(const std::vector<uint64_t> &ranges) {
  std::thread([&] {
    for (const uint64_t range : ranges) opd_range_end(range);
  }).join();
}

// The trace has `count` ended ranges, of the thread that began them.
void expect_ended(const Trace &trace, size_t count, double thread) {
  const Report events = trace.report(OPD_TRACE_EVENTS);
  size_t found = 0;
  for (size_t row = 0; row < events.count(); ++row) {
    if (call_text(events, row, "Name") != "handed over") continue;
    ++found;
    EXPECT_EQ(call_number(events, row, "Thread ID"), thread);
    EXPECT_GT(call_number(events, row, "Duration (us)"), 0);
  }
  const std::vector<std::string> columns = events.columns();
  EXPECT_EQ(std::ranges::count(columns, "Open"), 0) << "none is open";
  EXPECT_EQ(found, count);
  EXPECT_EQ(trace.dropped(), 0u);
}
double this_thread() { return static_cast<double>(::gettid()); }

TEST(ARange, ThatEndsOnAnotherThreadIsOfTheThreadThatBeganIt) {
  for (const size_t count : {1u, 64u, 65u, 100u, 3'000u}) {
    const Trace trace = record(RecordingOptions(), [&] { end_elsewhere(begin_ranges(count)); });
    expect_ended(trace, count, this_thread());
  }
}

TEST(ARange, ThatEndsOnAnotherThreadIsInAFile) {
  const ScratchDirectory directory;
  const std::string path = directory.file("events");
  const Trace trace = record(RecordingOptions(path.c_str()), [&] { end_elsewhere(begin_ranges(100)); });
  expect_ended(trace, 100, this_thread());
  expect_ended(Trace::load(path.c_str()), 100, this_thread());
}

TEST(ARange, MayEndAfterTheThreadThatBeganIt) {
  for (const size_t count : {1u, 100u}) {
    double thread = 0;
    const Trace trace = record(RecordingOptions(), [&] {
      std::vector<uint64_t> ranges;
      std::thread([&] { thread = this_thread(), ranges = begin_ranges(count); }).join();
      { const Range other("other"); }
      for (const uint64_t range : ranges) opd_range_end(range);
    });
    expect_ended(trace, count, thread);
  }
}

// Two threads of an executor: one begins ranges all the time, the other ends them.
TEST(ARange, MayEndElsewhereWhileItsThreadGoesOn) {
  constexpr size_t kCount = 20'000;
  double thread = 0;
  const Trace trace = record(RecordingOptions(), [&] {
    std::vector<std::atomic<uint64_t>> handed(kCount);
    std::thread begins([&] {
      thread = this_thread();
      for (std::atomic<uint64_t> &range : handed) {
        range.store(opd_range_begin(opdyno::range_name("handed over")));
        opd_range_end(opd_range_begin(opdyno::range_name("own")));
      }
    });
    for (std::atomic<uint64_t> &range : handed) {
      while (range.load() == 0) std::this_thread::yield();
      opd_range_end(range.load());
    }
    begins.join();
  });
  expect_ended(trace, kCount, thread);
  EXPECT_EQ(num_spans(trace), 2 * kCount);
}

TEST(ARange, EndsOnce) {
  const Trace trace = record(RecordingOptions(), [] {
    const std::vector<uint64_t> ranges = begin_ranges(1);
    end_elsewhere(ranges);
    end_elsewhere(ranges);
    opd_range_end(ranges[0]);
    opd_range_end(12345);  // never began
  });
  expect_ended(trace, 1, this_thread());
}

TEST(ARange, IsKeptAtAnyDepth) {
  constexpr size_t kDepth = (1 << 16) + 1;
  const Trace trace = record(RecordingOptions(), [] {
    const std::vector<uint64_t> ranges = begin_ranges(kDepth);
    for (size_t i = kDepth; i-- > 0;) opd_range_end(ranges[i]);
  });
  expect_ended(trace, kDepth, this_thread());
}

}  // namespace
