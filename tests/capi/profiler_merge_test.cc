// Traces merged and compared through the C API.
#include "support/occurrences.h"
#include "support/recording_files.h"
#include "support/report_test.h"

using namespace opdyno_test;
using opdyno::Profiler;
using opdyno::Range;
using opdyno::Trace;

namespace {

Trace recorded_requests(int requests, bool has_extra = false, bool with_stack = false) {
  define("test.merge.kernel", [](const opd_value *, int32_t, opd_value *) {});
  const Vm vm(Executable::assemble(".func main(x) {\n  call test.merge.kernel(%x)\n  ret %x\n}").to_module());
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.with_stack = with_stack;
  const Profiler profiler(&options);
  profiler.start();
  for (int i = 0; i < requests; ++i) {
    const Range request("request");
    vm.call("main", floats({1, 2}));
    if (has_extra) vm.call("main", floats({1}));
  }
  return profiler.stop();
}

TEST(MergedTraces, HaveTheEventsOfAll) {
  const Trace one = recorded_requests(2), two = recorded_requests(3);
  const Trace both = Trace::merge({one, two});
  EXPECT_EQ(both.size(), one.size() + two.size());
  const std::string json = both.chrome();
  EXPECT_EQ(occurrences(json, "\"process_name\""), 2u);
  EXPECT_EQ(occurrences(json, "\"name\":\"request\""), 5u);
  EXPECT_NE(json.find("\"opdyno_processes\":["), std::string::npos);
  EXPECT_EQ(one.chrome().find("opdyno_processes"), std::string::npos);
  const Report events = both.report(OPD_TRACE_EVENTS);
  EXPECT_EQ(events.count(OPD_REPORT_CALLS), 15u) << "a range, a run and a call of each request";
  for (size_t row = 1; row < 15; ++row)
    EXPECT_GE(call_number(events, row, "Start (us)"), call_number(events, row - 1, "Start (us)"))
        << "recorded one after the other, on one clock";
  EXPECT_EQ(Trace::merge({both, recorded_requests(1)}).size(), 6u);
}

TEST(MergedTraces, TakeLabelsOffsetsAndErrors) {
  const Trace one = recorded_requests(1), two = recorded_requests(1);
  const char *const labels[] = {"rank 0", nullptr};
  const int64_t offsets[] = {0, 3'600'000'000'000}, errors[] = {12, 0};
  auto options = opdyno::defaults(opd_trace_merge_options_init);
  options.labels = labels, options.num_labels = 2;
  options.offsets_ns = offsets, options.num_offsets_ns = 2;
  options.clock_errors_ns = errors, options.num_clock_errors_ns = 2;
  const Trace both = Trace::merge({one, two}, &options);
  const Report events = both.report(OPD_TRACE_EVENTS);
  EXPECT_EQ(call_text(events, 0, "Process"), "rank 0");
  EXPECT_GE(call_number(events, 3, "Start (us)"), 3.6e9);
  EXPECT_NE(both.chrome().find("\"clock_error_ns\":12,"), std::string::npos);
  EXPECT_NE(both.chrome().find("\"clock_error_ns\":0,"), std::string::npos);
  EXPECT_NE(both.chrome().find("\"offset_ns\":3600000000000}"), std::string::npos);
}

TEST(MergedTraces, JoinSpansByNameWhetherTheyHaveStacksOrNot) {
  const Report report =
      Trace::merge({recorded_requests(2, false, true), recorded_requests(1)}).report(OPD_TRACE_KEY_AVERAGES);
  ASSERT_EQ(report.count(OPD_REPORT_CALLS), 3u) << "a range, a run and a call";
  for (size_t row = 0; row < 3; ++row) EXPECT_EQ(call_number(report, row, "Count"), 3.0);
}

TEST(MergedTraces, HaveMemoryIfOneHas) {
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.profile_memory = 1;
  const Profiler profiler(&options);
  profiler.start();
  static_cast<void>(floats({1.f}));
  const Trace with_memory = profiler.stop(), without = recorded_requests(1);
  for (const Trace &both : {Trace::merge({with_memory, without}), Trace::merge({without, with_memory})})
    EXPECT_FALSE(both.write(OPD_TRACE_MEMORY_TIMELINE_RAW).empty());
}

TEST(MergedTraces, RefuseBadTracesAndOptions) {
  const Trace one = recorded_requests(1);
  opd_trace *out = nullptr;
  const opd_trace *traces[] = {one.get(), nullptr};
  const auto refuses = [&](size_t count, const opd_trace_merge_options *options, const char *part) {
    expect_error(opd_trace_merge(traces, count, options, &out), OPD_INVALID_ARGUMENT, part);
  };
  refuses(0, nullptr, "at least one trace");
  refuses(2, nullptr, "traces[1] must not be NULL");
  traces[1] = one.get();
  refuses(2, nullptr, "trace 1 is trace 0 again");
  expect_error(opd_trace_merge(nullptr, 1, nullptr, &out), OPD_INVALID_ARGUMENT, "traces");
  expect_error(opd_trace_merge(traces, 1, nullptr, nullptr), OPD_INVALID_ARGUMENT, "out_trace");
  auto options = opdyno::defaults(opd_trace_merge_options_init);
  options.num_labels = 1;
  refuses(1, &options, "labels must not be NULL");
  options.num_labels = 0, options.num_offsets_ns = -1;
  refuses(1, &options, "num_offsets_ns must be >= 0, but is -1");
  const int64_t errors[] = {1, 2};
  options.num_offsets_ns = 0, options.clock_errors_ns = errors, options.num_clock_errors_ns = 2;
  refuses(1, &options, "clock_errors_ns must be as many as the traces, 1, but are 2");
  options.struct_size = 3;
  expect_error(opd_trace_merge(traces, 1, &options, &out), OPD_INVALID_ARGUMENT, "struct_size is 3");
  EXPECT_EQ(out, nullptr);
}

// What is said of the process in a file is what is said of one that records into memory: so they share a clock.
TEST(MergedTraces, MayComeFromFiles) {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("recording");
  const RecordingOptions options(path.c_str());
  const Profiler profiler(&options);
  profiler.start();
  opd_range_mark(opdyno::range_name("written"));
  profiler.stop();
  const std::string json = Trace::merge({Trace::load(path.c_str()), recorded_requests(1)}).chrome();
  const size_t begin = json.find("\"process_id\":"), end = json.find(",\"clock_error_ns\":");
  ASSERT_LT(begin, end);
  EXPECT_EQ(occurrences(json, json.substr(begin, end - begin)), 2u) << json;
  EXPECT_NE(json.find("\"name\":\"written\""), std::string::npos);
  EXPECT_NE(json.find("\"name\":\"request\""), std::string::npos);
}

std::vector<std::string> names(const Report &report) {
  std::vector<std::string> found;
  for (size_t row = 0; row < report.count(OPD_REPORT_CALLS); ++row) found.push_back(call_text(report, row, "Name"));
  return found;
}
using Names = std::vector<std::string>;

TEST(AComparisonOfTraces, HasARunForEachPart) {
  const Trace before = recorded_requests(5), after = recorded_requests(7, true);
  EXPECT_EQ(names(before.report(OPD_TRACE_PATHS)),
            (Names{"request", "request;main", "request;main;test.merge.kernel"}));
  EXPECT_EQ(before.report(OPD_TRACE_KEY_AVERAGES_BY_PART).count(OPD_REPORT_CALLS), 10u) << "main and kernel of 5 runs";
  for (const opd_trace_view view : {OPD_TRACE_KEY_AVERAGES_BY_PART, OPD_TRACE_PATHS_BY_PART}) {
    const Report diff = Report::diff({before.report(view)}, {after.report(view)});
    EXPECT_EQ(diff.count(OPD_REPORT_CALLS), 3u) << "the two, and the total";
    for (size_t row = 0; row < 3; ++row) {
      EXPECT_EQ(call_number(diff, row, "Runs Before"), 5);
      EXPECT_EQ(call_number(diff, row, "Runs After"), 14);
    }
  }
}

TEST(AComparisonOfTraces, IsDrawn) {
  const Trace before = recorded_requests(3), after = recorded_requests(4, true);
  auto options = opdyno::defaults(opd_trace_write_options_init);
  options.before = before.get();
  const std::string svg = after.write(OPD_TRACE_FLAME_SVG, &options);
  EXPECT_NE(svg.find("Times of a part, of 3 before and 8 after"), std::string::npos) << svg;
  EXPECT_EQ(after.write(OPD_TRACE_FLAME_SVG).find("before"), std::string::npos);
}

}  // namespace
