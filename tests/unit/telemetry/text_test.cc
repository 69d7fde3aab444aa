// What telemetry reads and writes as text: addresses, settings, heads of HTTP, samples of Prometheus, JSON of OTLP.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "telemetry/http.h"
#include "telemetry/metric.h"
#include "telemetry/settings.h"
#include "telemetry/spans.h"

namespace opd {
namespace {

std::string refusal_of(const auto &action) {
  try {
    action();
  } catch (const Exception &e) { return e.error()->message; }
  return "";
}

std::string parts_of(const HttpUrl &url) {
  return concat(url.host, "|", url.port, "|", url.path, "|", url.authority());
}

TEST(AnAddressOfACollector, HasAHostAPortAndAPath) {
  const auto parts = [](const char *text) { return parts_of(HttpUrl::parse(text)); };
  EXPECT_EQ(parts("http://a"), "a|80||a:80");
  EXPECT_EQ(parts("http://a:4318"), "a|4318||a:4318");
  EXPECT_EQ(parts("http://a:0/"), "a|0||a:0");
  EXPECT_EQ(parts("http://a:65535/v1//"), "a|65535|/v1|a:65535");
  EXPECT_EQ(parts("http://[::1]:7/x/y/"), "::1|7|/x/y|[::1]:7");
  EXPECT_EQ(parts("http://[::1]"), "::1|80||[::1]:80");
}

TEST(AnAddressOfACollector, IsRefusedIfItIsInvalid) {
  const auto refusal = [](const char *text) { return refusal_of([&] { HttpUrl::parse(text); }); };
  for (const char *text : {"http://", "http://:80", "http://a:", "http://a:65536", "http://a:-1", "http://a:8x",
                           "http://[::1", "http://[]:1", "http://[::1]7"})
    EXPECT_NE(refusal(text), "") << text;
  EXPECT_EQ(refusal("http://[::1"), "\"http://[::1\" has a '[' without a ']'");
  EXPECT_EQ(refusal("http://a:"), "\"http://a:\" is not an address; write it as HOST:PORT, for example 127.0.0.1:9090");
  EXPECT_EQ(refusal("ftp://a"), "\"ftp://a\" must begin with http://");
  EXPECT_EQ(refusal("https://a"),
            "https://a: opdyno sends without TLS; send to a collector on this machine, which can use it");
  for (const char *text : {"http://a b", "http://a@b", "http://a?b", "http://a#b", "http://a\x7f", "http://a\n"})
    EXPECT_EQ(refusal(text), concat("\"", text, "\" has a character that no address of a collector has"));
}

TEST(AListOfPairs, IsReadInTheFormatOfOpenTelemetry) {
  using Pairs = TelemetrySettings::Pairs;
  const auto read = [](const char *text) { return read_pairs(text, "LIST"); };
  EXPECT_EQ(read(""), Pairs{});
  EXPECT_EQ(read(" , ,\t"), Pairs{});
  EXPECT_EQ(read("a=b"), (Pairs{{"a", "b"}}));
  EXPECT_EQ(read(" a = b c ,d=,\te=f=g\t"), (Pairs{{"a", "b c"}, {"d", ""}, {"e", "f=g"}}));
  EXPECT_EQ(read("a=%41%2c%3D%,b=%4,c=%4g,d=100%25,e=%0a"),
            (Pairs{{"a", "A,=%"}, {"b", "%4"}, {"c", "%4g"}, {"d", "100%"}, {"e", "\n"}}));
  EXPECT_EQ(refusal_of([&] { read("a=b,c"); }), "LIST must be KEY=VALUE,KEY=VALUE, but has \"c\"");
  EXPECT_EQ(refusal_of([&] { read("=b"); }), "LIST must be KEY=VALUE,KEY=VALUE, but has \"=b\"");
}

TEST(TheVariableOfTelemetry, HasEachSetting) {
  const TelemetrySettings all =
      read_telemetry_variable("prometheus=127.0.0.1:0,otlp=http://a,service_name=s,per_operator=1,interval=2.5");
  EXPECT_EQ(all.prometheus, "127.0.0.1:0");
  EXPECT_EQ(all.otlp, "http://a");
  EXPECT_EQ(all.service_name, "s");
  EXPECT_TRUE(all.per_operator);
  EXPECT_EQ(all.interval_ns, 2'500'000'000u);
  const TelemetrySettings none = read_telemetry_variable("per_operator=0");
  EXPECT_FALSE(none.per_operator);
  EXPECT_EQ(none.interval_ns, 10'000'000'000u);
  EXPECT_EQ(none.max_queue, 2048u);
  EXPECT_EQ(none.max_series, 1000u);
  EXPECT_EQ(none.max_bytes, 64u << 20);
  EXPECT_EQ(read_telemetry_variable("interval=0.001").interval_ns, 1'000'000u);
  EXPECT_EQ(read_telemetry_variable("interval=86400").interval_ns, 86'400'000'000'000u);
  const auto refusal = [](const char *text) { return refusal_of([&] { read_telemetry_variable(text); }); };
  for (const char *value : {"0.0009", "86401", "nan", "1s", "", "-1"})
    EXPECT_EQ(refusal(concat("interval=", value).c_str()),
              concat("interval must be seconds from 0.001 to 86400, but is ", value));
  for (const char *value : {"2", "true", "", "01"})
    EXPECT_EQ(refusal(concat("per_operator=", value).c_str()), concat("per_operator must be 0 or 1, but is ", value));
  EXPECT_EQ(refusal("port=1"), "\"port\" is none of prometheus, otlp, service_name, per_operator and interval");
}

// The variables of OpenTelemetry fill only what the program leaves open.
class Variables : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char *name : {"OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_EXPORTER_OTLP_PROTOCOL",
                             "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"})
      ::unsetenv(name);
  }
};

TEST_F(Variables, FillMissingSettings) {
  ::setenv("OTEL_SERVICE_NAME", "by variable", 1);
  ::setenv("OTEL_RESOURCE_ATTRIBUTES", "a=1,b=2,service.name=by attribute", 1);
  ::setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://there", 1);
  ::setenv("OTEL_EXPORTER_OTLP_HEADERS", "key=word", 1);
  using Pairs = TelemetrySettings::Pairs;
  TelemetrySettings open;
  open.resource = {{"b", "own"}};
  complete_settings(open);
  EXPECT_EQ(open.service_name, "by variable");
  EXPECT_EQ(open.resource, (Pairs{{"b", "own"}, {"a", "1"}}));
  EXPECT_EQ(open.otlp, "http://there");
  EXPECT_EQ(open.headers, (Pairs{{"key", "word"}}));
  TelemetrySettings given;
  given.service_name = "own", given.otlp = "http://here", given.headers = {{"own", "1"}};
  complete_settings(given);
  EXPECT_EQ(given.service_name, "own");
  EXPECT_EQ(given.otlp, "http://here");
  EXPECT_EQ(given.headers, (Pairs{{"own", "1"}}));
  TelemetrySettings named;
  named.resource = {{"service.name", "in its resource"}};
  complete_settings(named);
  EXPECT_EQ(named.service_name, "in its resource");
  ::unsetenv("OTEL_SERVICE_NAME");
  TelemetrySettings attribute;
  complete_settings(attribute);
  EXPECT_EQ(attribute.service_name, "by attribute");
}

TEST_F(Variables, LeaveTheProcessNameIfUnset) {
  TelemetrySettings settings;
  settings.resource = {{"a", "1"}};
  complete_settings(settings);
  std::string name;
  std::getline(std::ifstream("/proc/self/comm"), name);
  EXPECT_EQ(settings.service_name, name);
  EXPECT_EQ(settings.otlp, "");
  EXPECT_EQ(settings.resource, (TelemetrySettings::Pairs{{"a", "1"}}));
  EXPECT_TRUE(settings.headers.empty());
}

TEST_F(Variables, AreIgnoredIfTheEndpointIsForGrpc) {
  ::setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://there", 1);
  ::setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", 1);
  TelemetrySettings settings;
  complete_settings(settings);
  EXPECT_EQ(settings.otlp, "");
  ::setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", 1);
  complete_settings(settings);
  EXPECT_EQ(settings.otlp, "http://there");
}

TEST_F(Variables, HaveHeadersThatCannotEndTheirLine) {
  const auto refusal = [](const char *name, const char *value) {
    TelemetrySettings settings;
    settings.headers = {{"fine", "a b~"}, {name, value}};
    return refusal_of([&] { complete_settings(settings); });
  };
  EXPECT_EQ(refusal("a", "b c"), "");
  EXPECT_EQ(refusal("a", "b\x1f"), "the header a has a control character");
  EXPECT_EQ(refusal("a", "b\r\nc"), "the header a has a control character");
  EXPECT_EQ(refusal("a", "\x7f"), "the header a has a control character");
  EXPECT_EQ(refusal("a\t", "b"), "the header a\t has a control character");
  EXPECT_EQ(refusal("a b", "c"), "\"a b\" is not a name of a header");
  EXPECT_EQ(refusal("a:", "c"), "\"a:\" is not a name of a header");
}

TEST(AHeader, IsFoundByItsNameInAnyCase) {
  constexpr std::string_view kHead = "GET / HTTP/1.1\r\nAccept: x\r\nAccept-Encoding: gzip\r\nEmpty:\r\nLast: y z";
  EXPECT_EQ(header_in(kHead, "accept"), " x");
  EXPECT_EQ(header_in(kHead, "ACCEPT-encoding"), " gzip");
  EXPECT_EQ(header_in(kHead, "empty"), "");
  EXPECT_EQ(header_in(kHead, "last"), " y z");
  EXPECT_EQ(header_in(kHead, "las"), "");
  EXPECT_EQ(header_in(kHead, "get / http/1.1"), "") << "the first line is no header";
  EXPECT_EQ(header_in("GET\r\na", "a"), "");
}

Series series_of(SeriesKind kind, std::vector<Point> points) {
  return {"opdyno_n", "opdyno.n", "s", "Help \"me\"\\\n.", kind, std::move(points)};
}

TEST(SamplesOfPrometheus, HaveNumbersInItsFormat) {
  const std::pair<double, const char *> numbers[] = {
      {0, "0"},        {-3, "-3"},   {0.5, "0.5"},       {999'999'999'999'999, "999999999999999"},
      {1e15, "1e+15"}, {NAN, "NaN"}, {INFINITY, "+Inf"}, {-INFINITY, "-Inf"}};
  for (const auto &[number, text] : numbers)
    EXPECT_EQ(prometheus_text({series_of(SeriesKind::kGauge, {{{}, number}})}, false),
              concat("# HELP opdyno_n Help \"me\"\\\\\\n.\n# TYPE opdyno_n gauge\nopdyno_n ", text, "\n"));
}

TEST(SamplesOfPrometheus, HaveTheirLabelsAndTheEndOfCounters) {
  const std::vector<Series> all = {series_of(SeriesKind::kCounter, {{{{"a", "x\"\\\ny"}, {"b", "\xFF"}}, 1}}),
                                   series_of(SeriesKind::kGauge, {})};
  EXPECT_EQ(prometheus_text(all, false),
            "# HELP opdyno_n_total Help \"me\"\\\\\\n.\n# TYPE opdyno_n_total counter\n"
            "opdyno_n_total{a=\"x\\\"\\\\\\ny\",b=\"\uFFFD\"} 1\n");
  EXPECT_EQ(prometheus_text(all, true),
            "# HELP opdyno_n Help \\\"me\\\"\\\\\\n.\n# TYPE opdyno_n counter\n"
            "opdyno_n_total{a=\"x\\\"\\\\\\ny\",b=\"\uFFFD\"} 1\n# EOF\n");
}

// A duration at a bound is not above it.
TEST(Durations, AreCountedUpToTheirBounds) {
  DurationHistogram histogram;
  for (const double seconds : {0.0, 1e-6, 1.1e-6, 1.0, 100.0, 100.1}) histogram.add(seconds);
  EXPECT_EQ(histogram.count, 6u);
  EXPECT_DOUBLE_EQ(histogram.sum, 1e-6 + 1.1e-6 + 1 + 100 + 100.1);
  EXPECT_EQ(histogram.counts[0], 2u);
  EXPECT_EQ(histogram.counts[1], 1u);
  EXPECT_EQ(histogram.counts[18], 1u) << "1 s";
  EXPECT_EQ(histogram.counts[24], 1u) << "100 s";
  EXPECT_EQ(histogram.counts[25], 1u);
  size_t place = 0;  // 1, 2 and 5 times each power of ten from 1 µs to 100 s
  for (int power = -6; power <= 2; ++power)
    for (const int times : {1, 2, 5}) {
      if (power == 2 && times > 1) break;
      ASSERT_LT(place, DurationHistogram::kBounds.size());
      EXPECT_DOUBLE_EQ(DurationHistogram::kBounds[place++], times * std::pow(10, power));
    }
  EXPECT_EQ(place, DurationHistogram::kBounds.size());
  const std::string text = prometheus_text({series_of(SeriesKind::kHistogram, {{{{"a", "b"}}, 0, histogram}})}, true);
  for (const char *line : {"\nopdyno_n_bucket{a=\"b\",le=\"1e-06\"} 2\n", "\nopdyno_n_bucket{a=\"b\",le=\"2e-06\"} 3\n",
                           "\nopdyno_n_bucket{a=\"b\",le=\"0.5\"} 3\n", "\nopdyno_n_bucket{a=\"b\",le=\"1.0\"} 4\n",
                           "\nopdyno_n_bucket{a=\"b\",le=\"100.0\"} 5\n", "\nopdyno_n_bucket{a=\"b\",le=\"+Inf\"} 6\n",
                           "\nopdyno_n_count{a=\"b\"} 6\n", "\nopdyno_n_sum{a=\"b\"} 201.10000"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_NE(prometheus_text({series_of(SeriesKind::kHistogram, {{{}, 0, histogram}})}, false)
                .find("\nopdyno_n_bucket{le=\"1\"} 4\n"),
            std::string::npos);
}

TEST(MetricsOfOtlp, HaveAKindAndWriteNanAndInfinityAsText) {
  TelemetrySettings settings;
  settings.version = "1.2";
  const auto text = [&](SeriesKind kind, double value) {
    return otlp_metrics({series_of(kind, {{{{"a", "b"}}, value}}), series_of(kind, {})}, settings, 5, 9);
  };
  const std::string gauge = text(SeriesKind::kGauge, -INFINITY), sum = text(SeriesKind::kCounter, 2.5);
  EXPECT_NE(gauge.find(R"("gauge":{"dataPoints":[{"attributes":[{"key":"opdyno.a","value":{"stringValue":"b"}}],)"
                       R"("timeUnixNano":"9","asDouble":"-Infinity"}]}}]}]}]})"),
            std::string::npos)
      << gauge;
  EXPECT_NE(text(SeriesKind::kGauge, NAN).find(R"("asDouble":"NaN")"), std::string::npos);
  EXPECT_NE(text(SeriesKind::kGauge, INFINITY).find(R"("asDouble":"Infinity")"), std::string::npos);
  EXPECT_NE(sum.find(R"("sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{"attributes":)"),
            std::string::npos)
      << sum;
  EXPECT_NE(sum.find(R"("startTimeUnixNano":"5","timeUnixNano":"9","asDouble":2.5}]}}]}]}]})"), std::string::npos)
      << sum;
  EXPECT_NE(sum.find(R"("scope":{"name":"opdyno","version":"1.2"})"), std::string::npos) << sum;
  const std::string histogram = text(SeriesKind::kHistogram, 0);
  EXPECT_NE(histogram.find(R"("histogram":{"aggregationTemporality":2,"dataPoints")"), std::string::npos) << histogram;
  EXPECT_NE(histogram.find(R"("count":"0","sum":0,"bucketCounts":["0","0",)"), std::string::npos) << histogram;
  EXPECT_NE(histogram.find(R"("explicitBounds":[1e-06,2e-06,)"), std::string::npos) << histogram;
}

// The names of metrics that are not opdyno's have no prefix, and neither have their labels.
TEST(MetricsOfOtlp, AreADocumentWithTheirResourceAndScope) {
  TelemetrySettings settings;
  settings.version = "1.2", settings.service_name = "s";
  settings.resource = {{"process.pid", "7"}, {"host.name", "h"}, {"more", "m"}};
  const Series own{"my_n", "my.n", "By", "Help.", SeriesKind::kGauge, {{{{"a", "b"}, {"c", "d"}}, 1}, {{}, 2}}};
  EXPECT_EQ(
      otlp_metrics({own}, settings, 5, 9),
      R"({"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}},)"
      R"({"key":"process.pid","value":{"stringValue":"7"}},{"key":"host.name","value":{"stringValue":"h"}},)"
      R"({"key":"more","value":{"stringValue":"m"}}]},"scopeMetrics":[{"scope":{"name":"opdyno","version":"1.2"},)"
      R"("metrics":[{"name":"my.n","description":"Help.","unit":"By","gauge":{"dataPoints":[{"attributes":[)"
      R"({"key":"a","value":{"stringValue":"b"}},{"key":"c","value":{"stringValue":"d"}}],"timeUnixNano":"9",)"
      R"("asDouble":1},{"attributes":[],"timeUnixNano":"9","asDouble":2}]}}]}]}]})");
  settings.resource = {{"process", "p"}};
  char host[256] = "";
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_EQ(
      otlp_metrics({}, settings, 5, 9),
      concat(R"({"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}},)"
             R"({"key":"process.pid","value":{"intValue":")",
             ::getpid(), R"("}},{"key":"host.name","value":{"stringValue":")", host, R"("}},)",
             R"({"key":"process","value":{"stringValue":"p"}}]},"scopeMetrics":[{"scope":{"name":"opdyno",)"
             R"("version":"1.2"},"metrics":[]}]}]})"));
  EXPECT_EQ(otlp_spans({}, settings),
            concat(R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}},)"
                   R"({"key":"process.pid","value":{"intValue":")",
                   ::getpid(), R"("}},{"key":"host.name","value":{"stringValue":")", host, R"("}},)",
                   R"({"key":"process","value":{"stringValue":"p"}}]},"scopeSpans":[{"scope":{"name":"opdyno",)"
                   R"("version":"1.2"},"spans":[]}]}]})"));
}

TEST(SpansOfOtlp, HaveTheirFields) {
  SentSpan span;
  span.trace[15] = 1, span.id[7] = 2;
  span.begin_ns = 3, span.end_ns = 4, span.thread = 5;
  const TelemetrySettings settings;
  const auto text = [&] {
    const std::string all = otlp_spans({span}, settings);
    return all.substr(all.find("\"spans\":["));
  };
  EXPECT_EQ(text(),
            R"("spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","name":"call",)"
            R"("kind":1,"startTimeUnixNano":"3","endTimeUnixNano":"4","attributes":[{"key":"opdyno.kind","value":)"
            R"({"stringValue":"function"}},{"key":"thread.id","value":{"intValue":"5"}}]}]}]}]})");
  span.parent[0] = 9, span.name = name_id("main"), span.program = name_id("program"), span.is_operator = true;
  span.has_failed = true, span.message = "why";
  EXPECT_EQ(text(),
            R"("spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002",)"
            R"("parentSpanId":"0900000000000000","name":"main","kind":1,"startTimeUnixNano":"3","endTimeUnixNano":"4",)"
            R"("attributes":[{"key":"opdyno.program","value":{"stringValue":"program"}},{"key":"opdyno.kind","value":)"
            R"({"stringValue":"operator"}},{"key":"thread.id","value":{"intValue":"5"}}],)"
            R"("status":{"code":2,"message":"why"}}]}]}]})");
  span.message = "", span.program = name_id("");
  EXPECT_NE(text().find(R"("attributes":[{"key":"opdyno.kind")"), std::string::npos) << text();
  EXPECT_NE(text().find(R"("status":{"code":2}})"), std::string::npos) << text();
}

// A line "NAME: 12 kB" of /proc/self/status, in bytes.
double status_bytes(const std::string &name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) * 1024;
  return -1;
}

double processor_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

const time_t loaded_at = ::time(nullptr);  // a moment after the process started

TEST(MetricsOfTheProcess, MatchTheSystemsValues) {
  rusage used{};
  const auto tenths = [](const timeval &time) { return time.tv_sec * 10 + time.tv_usec / 100'000; };
  // So that one cannot be taken for the other, where the system tells them apart.
  while ((tenths(used.ru_utime) < 2 || tenths(used.ru_stime) < 2) && processor_seconds() < 5) {
    ::getrusage(RUSAGE_SELF, &used);
    for (int i = 0; tenths(used.ru_utime) < 2 && i < 100'000; ++i) asm volatile("");
    for (int i = 0; tenths(used.ru_stime) < 2 && i < 1000; ++i) ::access("/proc/self/status", R_OK);
  }
  const double used_before = processor_seconds(), size_before = status_bytes("VmSize");
  std::vector<Series> all;
  add_process_metrics(all);
  const double used_after = processor_seconds(), size_after = status_bytes("VmSize");
  std::map<std::string, double> values;
  for (const Series &series : all) {
    ASSERT_EQ(series.points.size(), 1u);
    EXPECT_EQ(series.points[0].labels, Labels());
    EXPECT_EQ(series.kind == SeriesKind::kCounter, series.name == "process_cpu_seconds");
    values[series.name] = series.points[0].value;
  }
  ASSERT_EQ(values.size(), 6u);
  constexpr double kTick = 0.05;  // the kernel counts hundredths of a second for each thread
  EXPECT_GE(values["process_cpu_seconds"], used_before - kTick);
  EXPECT_LE(values["process_cpu_seconds"], used_after + kTick);
  constexpr double kLittle = 1 << 20;
  EXPECT_GE(values["process_virtual_memory_bytes"], std::min(size_before, size_after) - kLittle);
  EXPECT_LE(values["process_virtual_memory_bytes"], std::max(size_before, size_after) + kLittle);
  const double resident = status_bytes("VmRSS");
  EXPECT_GT(values["process_resident_memory_bytes"], resident / 2);
  EXPECT_LT(values["process_resident_memory_bytes"], resident * 2);
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(values["process_max_fds"], static_cast<double>(files.rlim_cur));
  EXPECT_GE(values["process_start_time_seconds"], static_cast<double>(loaded_at) - 60);
  EXPECT_LE(values["process_start_time_seconds"], static_cast<double>(loaded_at) + 2);
  const auto num_files = [&] {
    std::vector<Series> now;
    add_process_metrics(now);
    for (const Series &series : now)
      if (series.name == "process_open_fds") return series.points[0].value;
    return -1.0;
  };
  EXPECT_EQ(num_files(), values["process_open_fds"]);
  double listed = -1;  // without the list's own
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) ++listed;
  EXPECT_EQ(num_files(), listed);
  const int more = ::dup(0);
  EXPECT_EQ(num_files(), listed + (more >= 0));
  ::close(more);
}

TEST(ACollectorsAnswer, HasTheNumberOfRejectedSpans) {
  EXPECT_EQ(rejected_spans(R"({"partialSuccess":{"rejectedSpans":"7","errorMessage":"full"}})"), 7u);
  EXPECT_EQ(rejected_spans(R"({"a":1,"partialSuccess":{"rejectedSpans":8}})"), 8u);
  for (const char *answer : {"", "no", "{}", "[]", R"({"partialSuccess":{}})", R"({"partialSuccess":3})",
                             R"({"partialSuccess":{"rejectedSpans":"x"}})", R"({"rejectedSpans":9})"})
    EXPECT_EQ(rejected_spans(answer), 0u) << answer;
}

}  // namespace
}  // namespace opd
