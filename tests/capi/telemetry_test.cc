// Metrics as text: what is counted, and how much of it.
#include <map>
#include <sstream>

#include "support/telemetry_text.h"

using namespace opdyno_test;

namespace {

TEST(TelemetryText, CountsCallsErrorsAndDurationsExactly) {
  const Vm vm = make_program();
  call(vm, "main", 3);  // before it starts
  const Telemetry telemetry;
  call(vm, "main", 7);
  for (int i = 0; i < 2; ++i) fail(vm);
  const std::string text = telemetry.text();
  EXPECT_EQ(sample(text, "opdyno_calls_total" + kMain), 7) << text;
  EXPECT_EQ(sample(text, "opdyno_calls_total" + kFail), 2);
  EXPECT_EQ(sample(text, "opdyno_call_errors_total" + kMain), 0);
  EXPECT_EQ(sample(text, "opdyno_call_errors_total" + kFail), 2);
  EXPECT_EQ(sample(text, "opdyno_call_duration_seconds_count" + kMain), 7);
  EXPECT_EQ(sample(text, "opdyno_events_dropped_total"), 0);
  EXPECT_EQ(text.find("opdyno_operator"), std::string::npos) << "only if asked";
  call(vm, "main", 5);
  EXPECT_EQ(sample(telemetry.text(), "opdyno_calls_total" + kMain), 12) << "sums go on";
}

TEST(TelemetryText, HasHistogramsWithCumulativeBuckets) {
  const Vm vm = make_program(20'000);
  const Telemetry telemetry;
  call(vm, "outer", 3);
  const std::string text = telemetry.text();
  const std::string begin = R"(opdyno_call_duration_seconds_bucket{program="",function="outer",le=")";
  double before = 0;
  std::vector<std::string> bounds;
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const size_t end = text.find('"', at + begin.size());
    bounds.push_back(text.substr(at + begin.size(), end - at - begin.size()));
    const double count = std::stod(text.substr(end + 2));
    EXPECT_GE(count, before) << bounds.back();
    if (bounds.back() != "+Inf" && std::stod(bounds.back()) < 0.02) { EXPECT_EQ(count, 0) << bounds.back(); }
    before = count;
  }
  EXPECT_EQ(before, 3);
  ASSERT_EQ(bounds.size(), 26u);
  EXPECT_EQ(bounds.front(), "1e-06");
  EXPECT_EQ(bounds[24], "100");
  EXPECT_EQ(bounds.back(), "+Inf");
  EXPECT_GE(sample(text, R"(opdyno_call_duration_seconds_sum{program="",function="outer"})"), 0.06);
}

TEST(TelemetryText, HasOperatorsIfAsked) {
  const Vm vm = make_program();
  Options options;
  options.per_operator = 1;
  const Telemetry telemetry(&options);
  call(vm, "main", 4);
  fail(vm);
  const std::string text = telemetry.text();
  EXPECT_EQ(sample(text, R"(opdyno_operator_calls_total{operator="test.add_one"})"), 4) << text;
  EXPECT_EQ(sample(text, R"(opdyno_operator_calls_total{operator="test.fail"})"), 1);
  EXPECT_EQ(sample(text, R"(opdyno_operator_errors_total{operator="test.fail"})"), 1);
  EXPECT_EQ(sample(text, R"(opdyno_operator_errors_total{operator="test.add_one"})"), 0);
  const double in_operator = sample(text, R"(opdyno_operator_seconds_total{operator="test.add_one"})");
  EXPECT_GT(in_operator, 0);
  EXPECT_LT(in_operator, sample(text, "opdyno_call_duration_seconds_sum" + kMain));
}

TEST(TelemetryText, DescribesTheProcessAndTheLibrary) {
  const Telemetry telemetry;
  const Tensor held({1 << 20}, "float32");
  const std::string text = telemetry.text();
  EXPECT_EQ(sample(text, std::string(R"(opdyno_build_info{version=")") + opd_version() + R"(",abi="1"})"), 1) << text;
  EXPECT_GE(sample(text, R"(opdyno_memory_bytes{device="cpu:0",kind="live"})"), 4 << 20);
  EXPECT_GE(sample(text, R"(opdyno_memory_peak_bytes{device="cpu:0"})"), 4 << 20);
  EXPECT_GT(sample(text, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(sample(text, "process_cpu_seconds_total"), 0);
  EXPECT_GE(sample(text, "process_open_fds"), 3);
  const double started = sample(text, "process_start_time_seconds"), now = static_cast<double>(time(nullptr));
  EXPECT_GT(started, now - 3600 * 24 * 365);
  EXPECT_LE(started, now + 1);
  const double vms = sample(text, "opdyno_vms"), modules = sample(text, "opdyno_modules");
  {
    const Vm vm = make_program();
    EXPECT_EQ(sample(telemetry.text(), "opdyno_vms"), vms + 1);
    EXPECT_EQ(sample(telemetry.text(), "opdyno_modules"), modules + 1);
  }
  EXPECT_EQ(sample(telemetry.text(), "opdyno_vms"), vms);
  EXPECT_EQ(sample(telemetry.text(), "opdyno_modules"), modules);
  Options without;
  without.process_metrics = 0;
  EXPECT_EQ(Telemetry(&without).text().find("process_"), std::string::npos);
}

// The kinds of metrics by their names, as they stand behind "# TYPE".
std::map<std::string, std::string> kinds_in(const std::string &text) {
  std::map<std::string, std::string> kinds;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# TYPE ")) continue;
    const size_t end = line.find(' ', 7);
    EXPECT_TRUE(kinds.emplace(line.substr(7, end - 7), line.substr(end + 1)).second) << line;
  }
  return kinds;
}

// As docs/telemetry.md lists them.
TEST(TelemetryText, HasAllMetricsThatAreAskedFor) {
  const Vm vm = make_program();
  Options few, all;
  few.process_metrics = 0;
  const Telemetry first(&few);
  call(vm, "main");
  std::map<std::string, std::string> expected{{"opdyno_build_info", "gauge"},
                                              {"opdyno_modules", "gauge"},
                                              {"opdyno_vms", "gauge"},
                                              {"opdyno_memory_bytes", "gauge"},
                                              {"opdyno_memory_peak_bytes", "gauge"},
                                              {"opdyno_calls_total", "counter"},
                                              {"opdyno_call_errors_total", "counter"},
                                              {"opdyno_call_duration_seconds", "histogram"},
                                              {"opdyno_label_overflow_total", "counter"},
                                              {"opdyno_events_dropped_total", "counter"}};
  EXPECT_EQ(kinds_in(first.text()), expected);
  for (const char *name : {"opdyno_operator_calls_total", "opdyno_operator_errors_total",
                           "opdyno_operator_seconds_total", "opdyno_spans_sent_total", "opdyno_spans_dropped_total",
                           "opdyno_sends_failed_total", "process_cpu_seconds_total"})
    expected[name] = "counter";
  for (const char *name : {"process_resident_memory_bytes", "process_virtual_memory_bytes", "process_open_fds",
                           "process_max_fds", "process_start_time_seconds"})
    expected[name] = "gauge";
  const Receiver collector;
  const std::string url = collector.url();
  all.per_operator = 1, all.otlp_endpoint = url.c_str();
  const Telemetry second(&all);
  call(vm, "main");
  EXPECT_EQ(kinds_in(second.text()), expected);
}

TEST(TelemetryText, HasTheMemoryOfADeviceAsItsStatistics) {
  define_add_one();
  const Vm vm = make_vm(R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.add_one(%x, %t)
  ret %void
})");
  { const Tensor peak({1 << 20}, "float32"); }
  call(vm, "main");
  const Telemetry telemetry;
  opd_memory_stats stats{};
  stats.struct_size = sizeof stats;
  check(opd_memory_get_stats({kDLCPU, 0}, &stats));
  ASSERT_GT(stats.idle_bytes, 0u) << "the VM keeps memory for its next call";
  ASSERT_GT(stats.peak_bytes, stats.live_bytes);
  ASSERT_GT(stats.reserved_bytes, stats.live_bytes);
  const std::string text = telemetry.text();
  const auto bytes = [&](const std::string &kind) {
    return sample(text, R"(opdyno_memory_bytes{device="cpu:0",kind=")" + kind + "\"}");
  };
  EXPECT_EQ(bytes("live"), static_cast<double>(stats.live_bytes)) << text;
  EXPECT_EQ(bytes("reserved"), static_cast<double>(stats.reserved_bytes));
  EXPECT_EQ(bytes("idle"), static_cast<double>(stats.idle_bytes));
  EXPECT_EQ(sample(text, R"(opdyno_memory_peak_bytes{device="cpu:0"})"), static_cast<double>(stats.peak_bytes));
}

TEST(TelemetryText, HasAtMostMaxSeriesLabelSets) {
  std::string program;
  for (int i = 0; i < 10; ++i) program += ".func f" + std::to_string(i) + "() {\n  ret %void\n}\n";
  const Vm vm = make_vm(program);
  Options options;
  options.max_series = 3;
  const Telemetry telemetry(&options);
  for (int i = 0; i < 10; ++i) vm.call(("f" + std::to_string(i)).c_str());
  const std::string text = telemetry.text();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(sample(text, R"(opdyno_calls_total{program="",function="f)" + std::to_string(i) + "\"}"), 1) << text;
  EXPECT_EQ(sample(text, R"(opdyno_calls_total{program="other",function="other"})"), 7);
  EXPECT_EQ(sample(text, "opdyno_label_overflow_total"), 7);
  EXPECT_EQ(text.find("f3"), std::string::npos);
}

TEST(TelemetryText, CountsTheEventsForWhichTheRingHadNoRoom) {
  const Vm vm = make_program();
  const Tensor x = floats({1, 2, 3, 4});
  Options options;
  options.max_bytes = 1;  // a block of 64 KiB for each thread, 1,020 events
  const Telemetry telemetry(&options);
  constexpr int kCalls = 100'000;
  for (int i = 0; i < kCalls; ++i) vm.call("main", x);
  const std::string text = telemetry.text();
  const double counted = sample(text, "opdyno_calls_total" + kMain);
  EXPECT_GT(counted, 0);
  EXPECT_GT(sample(text, "opdyno_events_dropped_total"), 0) << "they are looked at once a second";
  EXPECT_EQ(counted + sample(text, "opdyno_events_dropped_total"), kCalls)
      << "whenever they were read; operators are not recorded";
  EXPECT_EQ(telemetry.stats().events_dropped_count, sample(text, "opdyno_events_dropped_total"));
}

TEST(TelemetryText, CountsCallsOfManyThreadsThatEnd) {
  const Vm vm = make_vm(".func main() {\n  ret %void\n}\n");
  Options options;
  options.max_bytes = 1 << 18;
  const Telemetry telemetry(&options);
  std::atomic<bool> ends{false};
  std::thread reader([&] {
    while (!ends) telemetry.text();
  });
  constexpr int kThreads = 40, kCalls = 3000;
  for (int turn = 0; turn < kThreads / 4; ++turn) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int call = 0; call < kCalls; ++call) vm.call("main");
      });
    for (std::thread &thread : threads) thread.join();
  }
  ends = true;
  reader.join();
  const std::string text = telemetry.text();
  EXPECT_EQ(sample(text, "opdyno_calls_total" + kMain) + sample(text, "opdyno_events_dropped_total"),
            kThreads * kCalls);
}

TEST(TelemetryText, GoesOnBesideProfilersAndOtherTelemetry) {
  const Vm vm = make_program();
  const Telemetry first;
  call(vm, "main", 2);
  const opdyno::Profiler profiler;
  profiler.start();
  const Telemetry second;
  call(vm, "main", 3);
  fail(vm);
  const opdyno::Trace trace = profiler.stop();
  EXPECT_EQ(trace.size(), 4u) << "operators of the profiler's own";
  call(vm, "main", 1);
  EXPECT_EQ(sample(first.text(), "opdyno_calls_total" + kMain), 6);
  EXPECT_EQ(sample(second.text(), "opdyno_calls_total" + kMain), 4);
  EXPECT_EQ(sample(second.text(), "opdyno_call_errors_total" + kFail), 1);
  EXPECT_EQ(second.text().find("opdyno_operator"), std::string::npos);
}

TEST(TelemetryText, LeavesTheReportsOfProfilesAsTheyAre) {
  const Vm vm = make_program();
  const Tensor x = floats({1, 2, 3, 4});
  const auto shape = [&] {  // the columns, and the number of rows
    const opdyno::Report report = vm.profile("main", opdyno::Views{opd_value_of_object(x.get())}).report;
    std::vector<std::string> columns = report.columns();
    std::erase(columns, "Waited (us)");  // there if another program had the processor
    return std::pair(columns, report.count());
  };
  const auto before = shape();
  const Telemetry telemetry;
  check(opd_telemetry_set_parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
  EXPECT_EQ(shape(), before);
  check(opd_telemetry_set_parent(nullptr));
}

TEST(TelemetryText, HasValuesOfTheProgram) {
  const Telemetry telemetry;
  const char *const names[] = {"queue"}, *const values[] = {"a\"b\\c\nd"};
  opd_telemetry_value value = opdyno::defaults(opd_telemetry_value_init);
  value.name = "my_jobs", value.help = "Jobs that wait.", value.value = 2.5;
  value.label_names = names, value.label_values = values, value.num_label_names = 1;
  telemetry.set_value(value);
  value.value = 3.5;
  telemetry.set_value(value);
  opd_telemetry_value sum = opdyno::defaults(opd_telemetry_value_init);
  sum.kind = OPD_TELEMETRY_COUNTER, sum.name = "my_bytes", sum.value = 1e300;
  telemetry.set_value(sum);
  const std::string text = telemetry.text(), open = telemetry.text(OPD_TELEMETRY_OPEN_METRICS);
  EXPECT_NE(text.find("# HELP my_jobs Jobs that wait.\n# TYPE my_jobs gauge\nmy_jobs{queue=\"a\\\"b\\\\c\\nd\"} 3.5\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("# TYPE my_bytes_total counter\nmy_bytes_total 1e+300\n"), std::string::npos);
  EXPECT_NE(open.find("# TYPE my_bytes counter\nmy_bytes_total 1e+300\n"), std::string::npos);
  EXPECT_TRUE(open.ends_with("# EOF\n"));
  sum.kind = OPD_TELEMETRY_GAUGE;
  expect_error(opd_telemetry_set_value(telemetry.get(), &sum), OPD_INVALID_ARGUMENT, "of another kind");
  for (const char *name : {"", "1st", "a-b", "my_total", "opdyno_calls", "process_x"}) {
    sum.name = name;
    expect_error(opd_telemetry_set_value(telemetry.get(), &sum), OPD_INVALID_ARGUMENT, "name");
  }
}

TEST(TelemetryText, HasAValueOfTheProgramForEachSetOfLabels) {
  const Telemetry telemetry;
  const char *const names[] = {"a", "b"};
  opd_telemetry_value value = opdyno::defaults(opd_telemetry_value_init);
  value.name = "my", value.help = "Mine.", value.label_names = names, value.num_label_names = 2;
  const std::vector<std::array<const char *, 2>> labels{{"1", "1"}, {"1", "2"}, {"2", "1"}, {"1", "2"}};
  for (const auto &one : labels) value.label_values = one.data(), value.value += 1, telemetry.set_value(value);
  const std::string text = telemetry.text();
  EXPECT_NE(text.find("# HELP my Mine.\n# TYPE my gauge\nmy{a=\"1\",b=\"1\"} 1\nmy{a=\"1\",b=\"2\"} 4\n"
                      "my{a=\"2\",b=\"1\"} 3\n"),
            std::string::npos)
      << text;
}

TEST(TelemetryText, HasAtMostMaxSeriesValuesOfTheProgram) {
  Options options;
  options.max_series = 2;
  const Telemetry telemetry(&options);
  opd_telemetry_value value = opdyno::defaults(opd_telemetry_value_init);
  for (const char *name : {"a", "b", "a"}) value.name = name, telemetry.set_value(value);
  value.name = "c";
  expect_error(opd_telemetry_set_value(telemetry.get(), &value), OPD_OUT_OF_RANGE, "2 label sets");
}

TEST(TelemetryOptions, AreChecked) {
  opd_telemetry *none = nullptr;
  const auto refused = [&](auto set, opd_code code, const std::string &part) {
    Options options;
    set(options);
    expect_error(opd_telemetry_start(&options, &none), code, part);
    EXPECT_EQ(none, nullptr);
  };
  refused([](Options &o) { o.per_operator = 2; }, OPD_INVALID_ARGUMENT, "per_operator must be 0 or 1, but is 2");
  refused([](Options &o) { o.spans = -1; }, OPD_INVALID_ARGUMENT, "spans must be");
  refused([](Options &o) { o.process_metrics = 5; }, OPD_INVALID_ARGUMENT, "process_metrics must be");
  refused([](Options &o) { o.interval_ns = 5; }, OPD_INVALID_ARGUMENT, "interval_ns");
  refused([](Options &o) { o.max_queue = 0; }, OPD_INVALID_ARGUMENT, "max_queue");
  refused([](Options &o) { o.max_series = 0; }, OPD_INVALID_ARGUMENT, "max_series");
  refused([](Options &o) { o.max_bytes = 0; }, OPD_INVALID_ARGUMENT, "max_bytes");
  for (const char *address : {"9464", "127.0.0.1", "127.0.0.1:99999", ":9464", "127.0.0.1:94x"})
    refused([&](Options &o) { o.prometheus_address = address; }, OPD_INVALID_ARGUMENT, "is not an address");
  refused([](Options &o) { o.prometheus_address = "[::1:9464"; }, OPD_INVALID_ARGUMENT, "a '[' without a ']'");
  refused([](Options &o) { o.prometheus_address = "example.org:1"; }, OPD_INVALID_ARGUMENT,
          "is not an address of this");
  refused([](Options &o) { o.prometheus_address = "192.0.2.1:0"; }, OPD_IO, "cannot listen at 192.0.2.1:0");
  refused([](Options &o) { o.otlp_endpoint = "https://a:1"; }, OPD_UNSUPPORTED, "without TLS");
  for (const char *url : {"127.0.0.1:4318", "ftp://a", "http://", "http://u:p@a", "http://a b", "http://a\r\nX: y"})
    refused([&](Options &o) { o.otlp_endpoint = url; }, OPD_INVALID_ARGUMENT, "");
  refused([](Options &o) { o.otlp_headers = "a"; }, OPD_INVALID_ARGUMENT, "otlp_headers must be KEY=VALUE");
  refused([](Options &o) { o.otlp_headers = "a=b%0D%0Ac"; }, OPD_INVALID_ARGUMENT, "control character");
  refused([](Options &o) { o.resource_attributes = "=a"; }, OPD_INVALID_ARGUMENT, "resource_attributes must be");
  const Telemetry one;
  opd_buffer *text = nullptr;
  expect_error(opd_telemetry_to_text(one.get(), static_cast<opd_telemetry_format>(7), &text), OPD_INVALID_ARGUMENT,
               "format must be a format of telemetry, but is 7");
  opd_telemetry_stats stats{};
  expect_error(opd_telemetry_get_stats(one.get(), &stats), OPD_INVALID_ARGUMENT, "struct_size");
  EXPECT_STREQ(opd_telemetry_address(one.get()), "");
  one.flush(kLong);  // nothing is sent
}

TEST(TelemetryOptions, RunInSixteenRecordingsAtMost) {
  std::vector<Telemetry> all;
  for (int i = 0; i < 16; ++i) all.emplace_back();
  opd_telemetry *none = nullptr;
  expect_error(opd_telemetry_start(nullptr, &none), OPD_FAILED_PRECONDITION, "16 recordings");
}

}  // namespace
