// What spans gave to devices: a kernel belongs to the innermost span that was open on its thread when it was launched,
// whenever it ran.
#include <gtest/gtest.h>

#include "report/report_rows.h"
#include "support/chrome_trace.h"
#include "trace_views/key_averages.h"
#include "trace_views/spans.h"
#include "trace_views/trace_report.h"

namespace opd {
namespace {

constexpr DLDevice kOpenCl = {kDLOpenCL, 0};

Event event(EventKind kind, const char *name, uint64_t begin, uint64_t end) {
  Event made{};
  made.kind = kind, made.name = name_id(name), made.begin = begin, made.end = end, made.recordings = 1, made.run = 1;
  return made;
}
Event kernel(const char *name, uint64_t launched, uint64_t begin, uint64_t end, uint32_t thread = 7,
             uint16_t stream = 0) {
  Event made = event(EventKind::kDeviceWork, name, begin, end);
  made.device = kOpenCl;
  set_device_work(made, {launched, 10, thread, 0, stream, WorkKind::kKernel});
  return made;
}

TraceTrack track(int64_t thread, const std::vector<Event> &outermost_first) {
  TraceTrack made;
  made.thread_id = thread, made.thread_name = concat("thread ", thread);
  made.add_open(outermost_first);
  return made;
}

// A tick is a nanosecond. Thread 7: a run from 0 to 1000 with the call `conv` from 100 to 300 in it.
TraceParts sample() {
  TraceParts made;
  Event call = event(EventKind::kCall, "conv", 100, 300);
  call.location = 3;
  made.tracks.push_back(track(7, {event(EventKind::kRun, "main", 0, 1000), call}));
  made.tracks.push_back(track(8, {event(EventKind::kRange, "load", 0, 500)}));
  made.tracks.push_back(track(9, {kernel("second", 290, 700, 900),          // in the call, though it ran after it
                                  kernel("first", 150, 400, 500),           // in the call
                                  kernel("tail", 800, 1200, 1250),          // in the run
                                  kernel("late", 1500, 1600, 1604),         // in nothing
                                  kernel("other", 150, 450, 451, 8, 2)}));  // of another thread, in another stream
  made.processes[0].line = {{0, 0}, 1};
  return made;
}

const KeyAverage &row(const std::vector<KeyAverage> &rows, std::string_view name) {
  for (const KeyAverage &each : rows)
    if (each.name() == name) return each;
  throw std::out_of_range(std::string(name));
}

TEST(WorkOfDevices, HasATrackForEachStreamBehindTheThreads) {
  const Ref<Trace> trace = make_object<Trace>(sample());
  std::vector<std::string> names;
  for (const TraceTrack &each : trace->parts.tracks) names.push_back(each.thread_name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"thread 7", "thread 8", "opencl:0, default stream", "opencl:0, stream 2"}));
  std::vector<std::string> works;
  for (const Event *work : trace->parts.tracks[2].device_work) works.push_back(name_text(work->name));
  EXPECT_EQ(works, (std::vector<std::string>{"first", "second", "tail", "late"})) << "by their ends";
  EXPECT_NE(trace->parts.tracks[2].thread_id, trace->parts.tracks[3].thread_id);
  TraceParts again = trace->parts;
  again.divide_device_work();
  EXPECT_EQ(again.tracks.size(), 4u) << "a trace that is divided stays as it is";
}

Event clock(uint64_t tick, uint64_t device_ns, uint64_t error_ns) {
  Event made = event(EventKind::kDeviceClock, "", tick, tick);
  made.device = kOpenCl;
  set_device_moment(made, {name_id("bracketed events"), tick, device_ns, error_ns});
  return made;
}
TraceParts with_clocks(const std::vector<Event> &clocks) {
  TraceParts made = sample();
  made.tracks.push_back(track(10, clocks));
  return made;
}
std::string clock_text(const TraceParts &parts) {
  const Ref<Trace> trace = make_object<Trace>(parts);
  const std::vector<const TraceTrack *> tracks = trace->parts.tracks_with_clocks();
  return tracks.empty() ? "" : tracks[0]->clock->text();
}

// The device's clock is 500 ns ahead of the host's at first, and 540 ns at the end, 10 ms later: 4 ppm.
TEST(ClocksOfDevices, AreDescribedByTheTracks) {
  constexpr uint64_t kStep = 10'000'000, kNone = DeviceMoment::kNotKnown;
  const Event first = clock(100, 600, 100), last = clock(100 + kStep, 600 + kStep + 40, 200);
  EXPECT_EQ(clock_text(with_clocks({last, first})),
            "bracketed events, error 200 ns, offset -540 ns, drift 4.00 ppm within 30.00 ppm")
      << "in any order";
  EXPECT_EQ(clock_text(with_clocks({first})), "bracketed events, error 100 ns, offset -500 ns, drift not known");
  EXPECT_EQ(clock_text(with_clocks({first, clock(100 + kStep, 600 + kStep, 401)})),
            "bracketed events, error 401 ns, offset -500 ns, drift not known")
      << "501 ns of 10 ms are more than 50 ppm";
  EXPECT_EQ(clock_text(with_clocks({first, clock(100 + kStep, kNone, 300)})),
            "bracketed events, error 300 ns, offset not known, drift not known");
  EXPECT_EQ(clock_text(with_clocks({clock(5, 5, kNone), first})),
            "bracketed events, error not known, offset -500 ns, drift not known");
  EXPECT_EQ(clock_text(sample()), "");
  Event other = first;
  other.device.device_id = 1;
  EXPECT_EQ(clock_text(with_clocks({other})), "") << "that of a device without work";
}

TEST(ClocksOfDevices, AreInReportsAndChromeTraces) {
  TraceParts parts = with_clocks({clock(100, 600, 100)});
  const Ref<Trace> trace = make_object<Trace>(parts);
  EXPECT_EQ(trace->parts.tracks_with_clocks().size(), 1u) << "two streams of a device have one clock";
  for (const Ref<Report> &report :
       {report_of_events(*trace), report_of_averages(*trace, {}), report_of_run(*trace, {})}) {
    EXPECT_EQ(report->configuration_metric("Device clock error: opencl0 (us)").number(), 0.1);
    EXPECT_EQ(report->text(report->configuration_metric("Device clock: opencl0").text()),
              "bracketed events, error 100 ns, offset -500 ns, drift not known");
  }
  StringSink sink;
  write_chrome_trace(*trace, "", sink);
  const std::string chrome = sink.take();
  EXPECT_NE(chrome.find(R"("opdyno_device_clocks":[{"pid":0,"device":"opencl:0","method":"bracketed events",)"
                        R"("error_ns":100,"offset_ns":-500,"drift_ppm":null,"drift_error_ppm":null}])"),
            std::string::npos)
      << chrome;

  parts.processes[0].id = 1;
  parts.processes[0].name = "left";
  const Ref<Trace> left = make_object<Trace>(parts);
  parts.processes[0].name = "right";
  const Ref<Trace> right = make_object<Trace>(parts);
  const Trace *const both[] = {left.get(), right.get()};
  const Ref<Report> merged = report_of_events(*merge_traces(both, {}));
  for (const char *name : {"Device clock: left, opencl0", "Device clock: right, opencl0"})
    EXPECT_TRUE(merged->configuration_metric(name).is_text()) << name;
}

TEST(WorkOfDevices, BelongsToTheSpanThatLaunchedIt) {
  const Ref<Trace> trace = make_object<Trace>(sample());
  const GivenWork work(*trace);
  EXPECT_EQ(work.kind(), "opencl");
  EXPECT_EQ(work.of(trace->parts.tracks[0]).size(), 4u);
  EXPECT_EQ(work.of(trace->parts.tracks[1]).size(), 1u);
  EXPECT_TRUE(work.of(trace->parts.tracks[2]).empty()) << "a device launches nothing";
  const std::vector<SpanDevice> spans = work.of_spans(nest_spans(trace->parts.tracks[0]));
  ASSERT_EQ(spans.size(), 2u);  // main, conv
  EXPECT_EQ(spans[0].self, 50u);
  EXPECT_EQ(spans[0].total, 350u);
  EXPECT_EQ(spans[1].self, 300u);
  EXPECT_EQ(spans[1].total, 300u);
}

TEST(WorkOfDevices, IsInTheAveragesOfSpansAndHasItsOwn) {
  const Ref<Trace> trace = make_object<Trace>(sample());
  HostStacks host(*trace);
  const auto threads = nest_all_spans(*trace, false);
  const auto rows = key_averages(*trace, threads, GivenWork(*trace), {}, host);
  EXPECT_EQ(row(rows, "main").device.total, 350u);
  EXPECT_EQ(row(rows, "main").total_ticks, 1000u);
  EXPECT_EQ(row(rows, "load").device.self, 1u);
  EXPECT_EQ(row(rows, "second").device.self, 200u);
  EXPECT_EQ(row(rows, "second").total_ticks, 0u) << "of the host";
  EXPECT_EQ(row(rows, "second").self_ticks, 0u);
}

TEST(WorkOfDevices, IsNotJoinedIfItIsOfTwoKinds) {
  TraceParts parts = sample();
  Event copy = kernel("first", 160, 170, 175);
  copy.device = {kDLVulkan, 0};
  parts.tracks.push_back(track(10, {copy}));
  const Ref<Trace> trace = make_object<Trace>(parts);
  const GivenWork work(*trace);
  EXPECT_EQ(work.kind(), "device");
  HostStacks host(*trace);
  const auto threads = nest_all_spans(*trace, false);
  std::vector<uint64_t> ticks;
  for (const KeyAverage &each : key_averages(*trace, threads, work, {}, host))
    if (each.name() == "first") ticks.push_back(each.device.self);
  EXPECT_EQ(ticks, (std::vector<uint64_t>{5, 100}));
}

// While a recording's end waits for a device, the other threads go on.
TEST(WorkOfDevices, IsLeftOutIfItCameAfterTheEnd) {
  TraceParts parts = sample();
  parts.drop_after(290);
  const Ref<Trace> trace = make_object<Trace>(parts);
  ASSERT_EQ(trace->parts.tracks.size(), 4u);
  EXPECT_EQ(trace->parts.tracks[0].runs.size(), 1u) << "it had begun";
  EXPECT_TRUE(trace->parts.tracks[0].calls.empty()) << "it had not ended";
  EXPECT_EQ(trace->parts.tracks[2].device_work.size(), 2u) << "those that had been launched, whenever they ran";
}

// Both processes have a thread 7 and an opencl:0.
TEST(WorkOfDevices, IsKeptApartForEachProcess) {
  TraceParts far = sample();
  far.processes[0].id = 2, far.processes[0].line = {{0, 0}, 2};
  const Ref<Trace> one = make_object<Trace>(sample()), other = make_object<Trace>(far);
  const Trace *traces[] = {one.get(), other.get()};
  TraceMergeOptions options;
  options.labels = {"near", "far"};
  const Ref<Trace> both = merge_traces(traces, options);
  EXPECT_EQ(both->parts.tracks.size(), 8u);
  const GivenWork work(*both);
  for (const TraceTrack &each : both->parts.tracks)
    if (each.thread_id == 7) { EXPECT_EQ(work.of(each).size(), 4u); }
  HostStacks host(*both);
  const auto threads = nest_all_spans(*both, false);
  const auto rows = key_averages(*both, threads, work, {}, host);
  EXPECT_EQ(row(rows, "conv").device.total, 300u + 600u) << "in ticks of the first one";
  const std::string chrome = chrome_trace(*both);
  for (const char *device : {R"("args":{"name":"near, opencl:0"})", R"("args":{"name":"far, opencl:0"})"})
    EXPECT_NE(chrome.find(device), std::string::npos) << device;
}

TEST(WorkOfDevices, IsJoinedWithItsOperatorInChromesTraces) {
  const std::string chrome = chrome_trace(*make_object<Trace>(sample()));
  const auto id_of = [&](const std::string &name) {  // the external id of the event
    const size_t at = chrome.find("\"External id\":", chrome.find("\"name\":\"" + name + "\""));
    return chrome.substr(at, chrome.find(',', at) - at);
  };
  EXPECT_EQ(id_of("first"), id_of("conv"));
  EXPECT_EQ(id_of("second"), id_of("conv"));
  EXPECT_EQ(id_of("other"), id_of("load"));
  EXPECT_EQ(id_of("late"), "\"External id\":0");
}

// Each piece of work is in two rows, its own and that of the span that launched it, and in one sum.
TEST(WorkOfDevices, CountsOnceInTheSumsOfReports) {
  const Ref<Trace> trace = make_object<Trace>(sample());
  for (const Ref<Report> &report : {report_of_events(*trace), report_of_averages(*trace, {})})
    for (const bool aggregate : {false, true}) {
      const ReportRows rows(*report, false, aggregate, true);
      const size_t sums = rows.num_calls() + 1;
      ASSERT_EQ(rows.text(sums, ReportRows::kName), "Sum");
      for (const std::string_view column : {kDeviceColumn, kSelfDeviceColumn}) {
        const size_t place = rows.find(column);
        ASSERT_NE(place, SIZE_MAX);
        EXPECT_NEAR(rows.cell(sums, place).number(), 0.355, 1e-9) << column << " " << aggregate;
      }
      const size_t thread = rows.find("Thread ID");
      EXPECT_TRUE(thread == SIZE_MAX || !rows.cell(sums, thread)) << "numbers of threads do not add up";
    }
}

// Of the runs' time: kernels may overlap, and those of nothing do not count.
TEST(WorkOfDevices, HasDurationAndLaunchGapInReportsOfRuns) {
  TraceParts parts = sample();
  parts.processes[0].recordings = 1;
  RunReportOptions options;
  options.devices = {kOpenCl};
  const Ref<Report> report = report_of_run(*make_object<Trace>(parts), options);
  const auto cell = [&](const char *column) {
    const Column *found = report->find_column(column);
    return found ? found->at(0).number() : -1;
  };
  EXPECT_NEAR(cell("Device Duration (us)"), 0.3, 1e-9);
  EXPECT_NEAR(cell("Launch Gap (us)"), 0.4 - 0.16, 1e-9) << "of the first one that was launched";
}

}  // namespace
}  // namespace opd
