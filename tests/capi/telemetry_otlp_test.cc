// What a collector of OpenTelemetry gets, and what happens if it takes nothing.
#include "support/telemetry_otlp.h"

#include <set>

using namespace opdyno_test;
using namespace opdyno_test::otlp;

namespace {

class TelemetryOtlp : public testing::Test {
 protected:
  TelemetryOtlp() : vm_(make_program(&vm_)) {
    options_ = opdyno::defaults(opd_telemetry_options_init);
    options_.interval_ns = 3'600'000'000'000;  // metrics are sent when the test asks
    options_.service_name = "a test";
  }
  ~TelemetryOtlp() { check(opd_telemetry_set_parent(nullptr)); }

  Telemetry start(const Receiver &collector) {
    url_ = collector.url();
    options_.otlp_endpoint = url_.c_str();
    return Telemetry(&options_);
  }
  void call(const char *function, int times = 1) const {
    const Tensor x = floats({1, 2, 3, 4});
    for (int i = 0; i < times; ++i) vm_.call(function, x);
  }

  Vm vm_;
  opd_telemetry_options options_;
  std::string url_;
};

TEST_F(TelemetryOtlp, SendsMetricsAsTheProtocolSays) {
  const Receiver collector;
  options_.resource_attributes = "deployment.environment=test,team=a%2Cb";
  options_.otlp_headers = "api-key=secret%20key";
  const auto before = time(nullptr);
  const Telemetry telemetry = start(collector);
  call("main", 5);
  telemetry.flush(kLong);
  const auto requests = collector.requests(kMetrics);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_NE(requests[0].head.find("\r\napi-key: secret key\r\n"), std::string::npos) << requests[0].head;
  EXPECT_NE(requests[0].head.find("\r\nContent-Type: application/json\r\n"), std::string::npos);
  const Json resource = Json(requests[0].body)["resourceMetrics"][0];
  const Json attributes = resource["resource"]["attributes"];
  EXPECT_EQ(attributes.attribute("service.name"), "a test");
  EXPECT_EQ(attributes.attribute("deployment.environment"), "test");
  EXPECT_EQ(attributes.attribute("team"), "a,b");
  EXPECT_EQ(attributes.attribute("process.pid"), std::to_string(getpid()));
  EXPECT_EQ(resource["scopeMetrics"][0]["scope"]["name"].text(), "opdyno");
  const Json metrics = resource["scopeMetrics"][0]["metrics"];
  std::set<std::string> names;
  for (int i = 0; i < metrics.size(); ++i) {
    const Json metric = metrics[i];
    names.insert(metric["name"].text());
    if (metric["name"].text() == "opdyno.calls") {
      EXPECT_EQ(metric["sum"]["aggregationTemporality"].number(), 2) << "cumulative";
      const Json point = metric["sum"]["dataPoints"][0];
      EXPECT_EQ(point["asDouble"].number(), 5);
      EXPECT_EQ(point["attributes"].attribute("opdyno.function"), "main");
      const int64_t begin = std::stoll(point["startTimeUnixNano"].text()),
                    now = std::stoll(point["timeUnixNano"].text());
      EXPECT_GE(begin / 1'000'000'000, before - 1);
      EXPECT_LE(begin, now);
    } else if (metric["name"].text() == "opdyno.call.duration") {
      EXPECT_EQ(metric["unit"].text(), "s");
      const Json point = metric["histogram"]["dataPoints"][0];
      EXPECT_EQ(point["count"].text(), "5");
      EXPECT_EQ(point["explicitBounds"].size() + 1, point["bucketCounts"].size());
      EXPECT_EQ(point["explicitBounds"][0].number(), 1e-6);
      int sum = 0;
      for (int b = 0; b < point["bucketCounts"].size(); ++b) sum += std::stoi(point["bucketCounts"][b].text());
      EXPECT_EQ(sum, 5);
      EXPECT_GT(point["sum"].number(), 0);
    } else if (metric["name"].text() == "opdyno.modules") {
      EXPECT_GE(metric["gauge"]["dataPoints"][0]["asDouble"].number(), 1);
    }
  }
  for (const char *name : {"opdyno.calls", "opdyno.call.duration", "opdyno.modules", "process.cpu.time"})
    EXPECT_TRUE(names.count(name)) << name;
  EXPECT_EQ(telemetry.stats().metrics_sent_count, 1u);
}

TEST_F(TelemetryOtlp, SendsASpanForEachCallAndNestsThem) {
  const Receiver collector;
  const Telemetry telemetry = start(collector);
  call("main", 2);
  call("outer");
  expect_throws([&] { call("fail"); }, OPD_CALL_FAILED);
  telemetry.flush(kLong);
  const auto spans = spans_in(collector.requests(kTraces));
  ASSERT_EQ(spans.size(), 6u);
  std::set<std::string> ids, traces;
  std::string outer_id, outer_trace;
  for (const SpanRow &span : spans) {
    ids.insert(span.id), traces.insert(span.trace);
    if (span.name == "outer") outer_id = span.id, outer_trace = span.trace;
  }
  EXPECT_EQ(ids.size(), 6u);
  EXPECT_EQ(traces.size(), 4u) << "each call from outside has one";
  int nested = 0;
  for (const SpanRow &span : spans) {
    EXPECT_EQ(span.kind, "function");
    EXPECT_EQ(span.has_failed, span.name == "fail");
    EXPECT_EQ(span.error.find("no luck") != std::string::npos, span.name == "fail");
    if (span.parent.empty()) continue;
    EXPECT_EQ(span.name, "main");
    EXPECT_EQ(span.parent, outer_id);
    EXPECT_EQ(span.trace, outer_trace);
    ++nested;
  }
  EXPECT_EQ(nested, 2);
  EXPECT_EQ(telemetry.stats().spans_sent_count, 6u);
}

TEST_F(TelemetryOtlp, PutsSpansIntoTheTraceOfTheRequest) {
  const Receiver collector;
  const Telemetry telemetry = start(collector);
  {
    const opdyno::TraceParent parent(kParent);
    call("outer");
    std::thread([&] { call("main"); }).join();  // has no request
  }
  call("main");  // not any more
  check(opd_telemetry_set_parent(("00-" + kTrace + "-" + kCaller + "-00").c_str()));
  call("outer", 3);  // the caller keeps no trace
  telemetry.flush(kLong);
  const auto spans = spans_in(collector.requests(kTraces));
  ASSERT_EQ(spans.size(), 5u);
  int of_request = 0, own = 0;
  std::string outer_id;
  for (const SpanRow &span : spans)
    if (span.name == "outer") outer_id = span.id;
  for (const SpanRow &span : spans) {
    if (span.trace != kTrace) {
      EXPECT_EQ(span.parent, "");
      ++own;
      continue;
    }
    EXPECT_EQ(span.parent, span.name == "outer" ? kCaller : outer_id);
    ++of_request;
  }
  EXPECT_EQ(of_request, 3);
  EXPECT_EQ(own, 2);
  EXPECT_EQ(telemetry.stats().spans_dropped_count, 0u) << "what nobody wants is not lost";
}

TEST_F(TelemetryOtlp, NestsOperatorsInTheSpansOfTheirCalls) {
  const Receiver collector;
  options_.per_operator = 1;
  const Telemetry telemetry = start(collector);
  check(opd_telemetry_set_parent(kParent.c_str()));
  // The operators of a run are read before it ends.
  define("test.fail", [&](const opd_value *args, int32_t, opd_value *) {
    vm_.call("main", Tensor::of(args[0]));
    telemetry.flush(kLong);
    throw std::runtime_error("no luck");
  });
  const Vm vm = make_vm(".func late(x) {\n  call test.inner(%x)\n  call test.fail(%x)\n  ret %x\n}\n");
  const Tensor x = floats({1, 2, 3, 4});
  expect_throws([&] { vm.call("late", x); }, OPD_CALL_FAILED);
  check(opd_telemetry_set_parent(("00-" + kTrace + "-" + kCaller + "-00").c_str()));
  call("main");
  telemetry.flush(kLong);
  std::map<std::string, std::vector<SpanRow>> by_name;
  for (const SpanRow &span : spans_in(collector.requests(kTraces))) by_name[span.name].push_back(span);
  ASSERT_EQ(by_name["late"].size(), 1u);
  ASSERT_EQ(by_name["main"].size(), 3u);
  ASSERT_EQ(by_name["test.add_one"].size(), 3u);
  ASSERT_EQ(by_name["test.inner"].size(), 1u);
  ASSERT_EQ(by_name["test.fail"].size(), 1u);
  const SpanRow late = by_name["late"][0];
  EXPECT_EQ(late.parent, kCaller);
  EXPECT_EQ(by_name["test.inner"][0].parent, late.id);
  EXPECT_EQ(by_name["test.inner"][0].kind, "operator");
  EXPECT_TRUE(by_name["test.fail"][0].has_failed);
  std::set<std::string> mains;
  for (const SpanRow &span : by_name["main"]) {
    mains.insert(span.id);
    EXPECT_EQ(span.parent, late.id) << "also where the outer call had not ended when it was sent";
    EXPECT_EQ(span.trace, kTrace);
  }
  for (const SpanRow &span : by_name["test.add_one"]) {
    EXPECT_TRUE(mains.count(span.parent));
    EXPECT_EQ(span.trace, kTrace);
  }
}

TEST_F(TelemetryOtlp, SendsInBatchesAndDropsTheOldest) {
  std::atomic<bool> takes{false};
  const Receiver collector([&](const Request &) { return takes ? Receiver::ok() : Receiver::status("503 Busy"); });
  options_.max_queue = 1500;
  const Telemetry telemetry = start(collector);
  for (int i = 0; i < 4; ++i) {
    call("main", 1000);
    telemetry.text();  // reads them
  }
  expect_error(opd_telemetry_flush(telemetry.get(), kLong), OPD_IO, "503 Busy");
  takes = true;
  telemetry.flush(kLong);
  const opd_telemetry_stats stats = telemetry.stats();
  EXPECT_EQ(stats.is_sending_spans, 1u);
  EXPECT_EQ(stats.spans_sent_count, 1500u);
  EXPECT_EQ(stats.spans_dropped_count, 2500u);
  EXPECT_EQ(stats.spans_waiting_count, 0u);
  EXPECT_GE(stats.failed_count, 1u);
  size_t taken = 0;
  for (const Request &request : collector.requests(kTraces)) {
    const size_t spans = spans_in({request}).size();
    EXPECT_LE(spans, 512u);
    taken = spans;
  }
  EXPECT_EQ(taken, 1500u % 512) << "the last batch";
}

TEST_F(TelemetryOtlp, CountsRejectedSpans) {
  const std::vector<std::string> answers{
      Receiver::ok(R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}})"),
      Receiver::status("400 Bad Request", "what is this"),  // is not tried again
      "nonsense\r\n\r\n", "", "HTTP/1.1 200 OK\r\n\r\n"};   // without a length: until it closes
  std::atomic<size_t> turn{0};
  const Receiver collector([&](const Request &) { return answers[turn]; });
  const LogMessages log;
  const Telemetry telemetry = start(collector);
  call("main", 5);
  telemetry.flush(kLong);
  EXPECT_EQ(telemetry.stats().spans_sent_count, 3u);
  EXPECT_EQ(telemetry.stats().spans_dropped_count, 2u);
  turn = 1;
  call("main", 4);
  expect_error(opd_telemetry_flush(telemetry.get(), kLong), OPD_IO, "400 Bad Request: what is this");
  EXPECT_EQ(telemetry.stats().spans_sent_count, 3u);
  EXPECT_EQ(telemetry.stats().spans_dropped_count, 6u);
  EXPECT_EQ(telemetry.stats().spans_waiting_count, 0u);
  EXPECT_NE(log.text().find("telemetry is not sent: "), std::string::npos);
  turn = 2;
  call("main", 1);
  expect_error(opd_telemetry_flush(telemetry.get(), kLong), OPD_IO, "does not speak HTTP/1.1");
  turn = 3;
  expect_error(opd_telemetry_flush(telemetry.get(), kLong), OPD_IO, "does not speak HTTP/1.1");
  turn = 4;
  telemetry.flush(kLong);
  EXPECT_EQ(telemetry.stats().spans_sent_count, 4u) << "the span waited";
  EXPECT_EQ(telemetry.stats().spans_dropped_count, 6u);
}

// What the collector's thread is to answer.
class Answer {
 public:
  void operator=(const std::string &text) {
    const std::scoped_lock lock(guard_);
    text_ = text;
  }
  operator std::string() const {
    const std::scoped_lock lock(guard_);
    return text_;
  }

 private:
  mutable std::mutex guard_;
  std::string text_;
};

TEST_F(TelemetryOtlp, SendsRequestsWithAllHeaders) {
  const Receiver collector;
  const std::string endpoint = collector.url() + "/prefix/";
  options_.otlp_endpoint = endpoint.c_str();
  options_.otlp_headers = "a=b,c=d e";
  const Telemetry telemetry(&options_);
  call("main");
  telemetry.flush(kLong);
  for (const char *path : {"/prefix/v1/traces", "/prefix/v1/metrics"}) {
    const std::vector<Request> requests = collector.requests(path);
    ASSERT_EQ(requests.size(), 1u) << path;
    EXPECT_EQ(requests[0].head, std::string("POST ") + path + " HTTP/1.1\r\nHost: " + collector.address() +
                                    "\r\nUser-Agent: opdyno/" + opd_version() +
                                    "\r\nContent-Type: application/json\r\nConnection: close\r\na: b\r\nc: d e\r\n" +
                                    "Content-Length: " + std::to_string(requests[0].body.size()));
  }
}

TEST_F(TelemetryOtlp, SendsMoreThanASocketHolds) {
  const Receiver collector;
  const std::string big(12 << 20, 'x'), attributes = "big=" + big;
  options_.resource_attributes = attributes.c_str();
  const Telemetry telemetry = start(collector);
  telemetry.flush(kLong);
  const std::vector<Request> requests = collector.requests(kMetrics);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(Json(requests[0].body)["resourceMetrics"][0]["resource"]["attributes"].attribute("big") == big);
}

TEST_F(TelemetryOtlp, FindsTheAddressOfAName) {
  const Receiver collector;
  const std::string endpoint = "http://localhost:" + std::to_string(collector.port());
  options_.otlp_endpoint = endpoint.c_str();
  const Telemetry telemetry(&options_);
  telemetry.flush(kLong);
  EXPECT_EQ(collector.requests(kMetrics).size(), 1u);
  options_.otlp_endpoint = "http://host.invalid:4318";
  const Telemetry nowhere(&options_);
  expect_error(opd_telemetry_flush(nowhere.get(), kLong), OPD_IO, "there is no address for host.invalid: ");
}

// The collector leaves the connections open, so nothing but the answer tells where it ends.
TEST_F(TelemetryOtlp, ReadsAnAnswerToItsEnd) {
  Answer answer;
  const Receiver collector([&](const Request &) -> std::string { return answer; }, true);
  options_.spans = 0;
  const Telemetry telemetry = start(collector);
  const std::string ok = "HTTP/1.1 200 OK\r\n", long_body(70'000, 'x');
  uint64_t sent = 0;
  for (const std::string &good :
       {ok + "Content-Length: 0\r\n\r\n", ok + "content-length:2\r\n\r\n{}", ok + "CONTENT-LENGTH:   2 \r\n\r\n{}",
        ok + "Content-Length: 9000\r\n\r\n" + std::string(9000, ' '),
        ok + "Content-Length: 65536\r\n\r\n" + std::string(65536, ' '),
        ok + "Content-Length: 99999999\r\n\r\n" + long_body, ok + "\r\n" + long_body,
        ok + "Content-Length:\r\n\r\n" + long_body, ok + "Content-Length: x\r\n\r\n" + long_body,
        std::string("HTTP/1.0 299 \r\nContent-Length: 1\r\n\r\nx"),
        std::string("HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx")}) {
    answer = good;
    telemetry.flush(kLong);
    EXPECT_EQ(telemetry.stats().metrics_sent_count, ++sent) << good.substr(0, 60);
  }
  EXPECT_EQ(telemetry.stats().failed_count, 0u);
}

TEST_F(TelemetryOtlp, ErrorsContainTheCollectorsAnswer) {
  Answer answer;
  const Receiver collector([&](const Request &) -> std::string { return answer; });
  options_.spans = 0;
  const Telemetry telemetry = start(collector);
  EXPECT_EQ(telemetry.stats().is_sending_spans, 0u);
  const auto refusal = [&] {
    opd_error *const error = opd_telemetry_flush(telemetry.get(), kLong);
    EXPECT_EQ(opd_error_code(error), OPD_IO);
    const std::string message = error ? opd_error_message(error) : "";
    opd_error_release(error);
    return message;
  };
  for (const char *text : {"", "H", "HTTP/1.1 200 OK\r\n", "HTTP/2.0 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n",
                           "HTTP/1.1\r\n\r\n", "HTTP/1.1 \r\n\r\n", "HTTP/1.1 ok\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n"}) {
    answer = text;
    EXPECT_EQ(refusal(), "what answers at " + collector.address() + " does not speak HTTP/1.1") << text;
  }
  const std::string begin = collector.address() + " answers ";
  for (const char *line : {"100 Continue", "199 Low", "300 High", "404 Not Found"}) {
    answer = Receiver::status(line);
    EXPECT_EQ(refusal(), begin + line);
  }
  answer = Receiver::status("500 Broken", std::string(150, 'a') + std::string(10'000, 'b'));
  EXPECT_EQ(refusal(), begin + "500 Broken: " + std::string(150, 'a') + std::string(50, 'b'));
}

// Those of the OTLP specification after which the same request may succeed.
TEST_F(TelemetryOtlp, KeepsSpansForTheNextTryIfTheErrorIsTemporary) {
  Answer answer;
  const Receiver collector([&](const Request &) -> std::string { return answer; });
  const Telemetry telemetry = start(collector);
  uint64_t dropped = 0;
  for (const int code : {400, 401, 408, 428, 429, 430, 500, 501, 502, 503, 504, 505}) {
    const std::string status = std::to_string(code) + " X";
    answer = Receiver::status(status);
    const bool is_kept = code == 429 || (code >= 502 && code <= 504);
    call("main");
    expect_error(opd_telemetry_flush(telemetry.get(), kLong), OPD_IO, status);
    opd_telemetry_stats stats = telemetry.stats();
    EXPECT_EQ(stats.spans_waiting_count, is_kept ? 1u : 0u) << status;
    EXPECT_EQ(stats.spans_dropped_count, dropped += is_kept ? 0 : 1) << status;
    answer = Receiver::ok();
    telemetry.flush(kLong);
    EXPECT_EQ(telemetry.stats().spans_waiting_count, 0u);
  }
  EXPECT_EQ(telemetry.stats().spans_sent_count, 4u);
  const std::string text = telemetry.text();
  EXPECT_NE(text.find("\nopdyno_spans_sent_total 4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nopdyno_spans_dropped_total 8\n"), std::string::npos);
  EXPECT_NE(text.find("\nopdyno_sends_failed_total 24\n"), std::string::npos) << "spans and metrics, 12 times each";
}

TEST_F(TelemetryOtlp, CountsAtMostTheSentSpansAsRejected) {
  const Receiver collector([](const Request &) { return Receiver::ok(R"({"partialSuccess":{"rejectedSpans":99}})"); });
  const Telemetry telemetry = start(collector);
  call("main", 3);
  telemetry.flush(kLong);
  EXPECT_EQ(telemetry.stats().spans_sent_count, 0u);
  EXPECT_EQ(telemetry.stats().spans_dropped_count, 3u);
}

TEST_F(TelemetryOtlp, WarnsOfTheFirstOfFailuresThatFollowEachOther) {
  std::atomic<bool> takes{false};
  const Receiver collector([&](const Request &) { return takes ? Receiver::ok() : Receiver::status("400 No"); });
  const LogMessages log;
  const Telemetry telemetry = start(collector);
  const std::string warning =
      "telemetry is not sent: " + collector.address() + " answers 400 No; further failures are counted\n";
  for (int i = 0; i < 3; ++i) expect_error(opd_telemetry_flush(telemetry.get(), kLong), OPD_IO, "400 No");
  EXPECT_EQ(log.text(), warning);
  takes = true;
  telemetry.flush(kLong);
  takes = false;
  for (int i = 0; i < 3; ++i) expect_error(opd_telemetry_flush(telemetry.get(), kLong), OPD_IO, "400 No");
  EXPECT_EQ(log.text(), warning + warning);
}

TEST_F(TelemetryOtlp, TriesAgainByItself) {
  std::atomic<int> left{2};
  const Receiver collector([&](const Request &) { return left-- > 0 ? Receiver::status("503 Busy") : Receiver::ok(); });
  options_.interval_ns = 1'000'000;
  const Telemetry telemetry = start(collector);
  call("main");
  collector.wait_for(kMetrics, 2);
  EXPECT_EQ(spans_in({collector.wait_for(kTraces, 1).back()}).size(), 1u);
}

TEST_F(TelemetryOtlp, WaitsAsLongAsTheCollectorAsks) {
  const Receiver collector([](const Request &) { return Receiver::status("503 Busy", "", "Retry-After: 200\r\n"); });
  options_.interval_ns = 1'000'000;
  const Telemetry telemetry = start(collector);
  call("main");
  collector.wait_for(kMetrics, 1);
  collector.wait_for(kTraces, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));  // a second would be its own pause
  EXPECT_EQ(collector.requests(kMetrics).size(), 1u);
  EXPECT_EQ(collector.requests(kTraces).size(), 1u);
}

TEST_F(TelemetryOtlp, DoesNotHoldUpCallsOrTheEndIfNobodyListens) {
  options_.otlp_endpoint = "http://127.0.0.1:1";
  std::optional<Telemetry> telemetry(&options_);
  call("main", 100);
  expect_error(opd_telemetry_flush(telemetry->get(), kLong), OPD_IO, "cannot connect to 127.0.0.1:1");
  EXPECT_EQ(telemetry->stats().spans_sent_count, 0u);
  EXPECT_EQ(telemetry->stats().spans_dropped_count, 0u);
  telemetry.reset();
}

TEST_F(TelemetryOtlp, DoesNotWaitForACollectorThatHangs) {
  std::mutex gate;
  std::unique_lock closed(gate);
  const Receiver collector([&](const Request &) {
    const std::scoped_lock lock(gate);
    return Receiver::ok();
  });
  std::optional<Telemetry> telemetry(start(collector));
  call("main", 3);
  expect_error(opd_telemetry_flush(telemetry->get(), 1'000'000), OPD_DEADLINE_EXCEEDED,
               "did not accept all data before the timeout");
  call("main", 3);
  EXPECT_FALSE(telemetry->text().empty());
  telemetry.reset();  // gives up after a second
  closed.unlock();
}

TEST_F(TelemetryOtlp, SendsRemainingDataAtItsEnd) {
  const Receiver collector;
  {
    const Telemetry telemetry = start(collector);
    call("main", 3);
  }
  EXPECT_EQ(spans_in(collector.requests(kTraces)).size(), 3u);
  EXPECT_EQ(collector.requests(kMetrics).size(), 1u);
}

TEST_F(TelemetryOtlp, SendsWithoutBeingAsked) {
  const Receiver collector;
  options_.interval_ns = 1'000'000;
  const Telemetry telemetry = start(collector);
  call("main");
  collector.wait_for(kMetrics, 3);
  EXPECT_EQ(spans_in(collector.wait_for(kTraces, 1)).size(), 1u);
}

TEST_F(TelemetryOtlp, SendsNoSpansIfNotAsked) {
  const Receiver collector;
  options_.spans = 0;
  const Telemetry telemetry = start(collector);
  call("main", 3);
  telemetry.flush(kLong);
  EXPECT_TRUE(collector.requests(kTraces).empty());
  EXPECT_EQ(collector.requests(kMetrics).size(), 1u);
}

}  // namespace
