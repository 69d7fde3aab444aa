// What a collector of OpenTelemetry gets, and what happens if it takes nothing.
#include <cjson/cJSON.h>
#include <sys/wait.h>

#include <set>

#include "support/add_one.h"
#include "support/http.h"
#include "support/log_messages.h"

using namespace opdyno_test;
using opdyno::Telemetry;

namespace {

constexpr uint64_t kLong = 60'000'000'000;
const std::string kTraces = "/v1/traces", kMetrics = "/v1/metrics";
const std::string kTrace = "0af7651916cd43dd8448eb211c80319c", kCaller = "b7ad6b7169203331";
const std::string kParent = "00-" + kTrace + "-" + kCaller + "-01";

class Json {
 public:
  explicit Json(const std::string &text) : root_(cJSON_Parse(text.c_str()), cJSON_Delete), at_(root_.get()) {
    EXPECT_NE(at_, nullptr) << text;
  }
  Json operator[](const char *key) const { return {root_, cJSON_GetObjectItemCaseSensitive(at_, key)}; }
  Json operator[](int index) const { return {root_, cJSON_GetArrayItem(at_, index)}; }
  int size() const { return cJSON_GetArraySize(at_); }
  bool exists() const { return at_ != nullptr; }
  std::string text() const {
    EXPECT_TRUE(cJSON_IsString(at_));
    return cJSON_IsString(at_) ? at_->valuestring : "";
  }
  double number() const {
    EXPECT_TRUE(cJSON_IsNumber(at_));
    return cJSON_IsNumber(at_) ? at_->valuedouble : NAN;
  }
  // Of a list of {"key": …, "value": {"stringValue": …}}.
  std::string attribute(const std::string &key) const {
    for (int i = 0; i < size(); ++i) {
      const Json one = (*this)[i];
      if (one["key"].text() != key) continue;
      return one["value"]["stringValue"].exists() ? one["value"]["stringValue"].text()
                                                  : one["value"]["intValue"].text();
    }
    return "(none)";
  }

 private:
  Json(std::shared_ptr<cJSON> root, const cJSON *at) : root_(std::move(root)), at_(at) {}
  std::shared_ptr<cJSON> root_;
  const cJSON *at_;
};

struct SpanRow {
  std::string name, trace, id, parent, error, kind;
  bool has_failed;
  int64_t begin, end;
};

std::vector<SpanRow> spans_in(const std::vector<Request> &requests) {
  std::vector<SpanRow> rows;
  for (const Request &request : requests) {
    const Json spans = Json(request.body)["resourceSpans"][0]["scopeSpans"][0]["spans"];
    for (int i = 0; i < spans.size(); ++i) {
      const Json span = spans[i], status = span["status"];
      EXPECT_EQ(span["kind"].number(), 1);
      rows.push_back({span["name"].text(), span["traceId"].text(), span["spanId"].text(),
                      span["parentSpanId"].exists() ? span["parentSpanId"].text() : "",
                      status.exists() && status["message"].exists() ? status["message"].text() : "",
                      span["attributes"].attribute("opdyno.kind"), status.exists() && status["code"].number() == 2,
                      std::stoll(span["startTimeUnixNano"].text()), std::stoll(span["endTimeUnixNano"].text())});
      EXPECT_EQ(rows.back().trace.size(), 32u);
      EXPECT_EQ(rows.back().id.size(), 16u);
      EXPECT_LE(rows.back().begin, rows.back().end);
    }
  }
  return rows;
}

// `again`: the VM that its function `outer` calls twice.
Vm make_program(const Vm *again) {
  define("test.fail", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("no luck"); });
  define("test.inner", [again](const opd_value *args, int32_t, opd_value *) {
    for (int i = 0; i < 2; ++i) again->call("main", Tensor::of(args[0]));
  });
  return make_vm(kTelemetryProgram);
}

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

TEST_F(TelemetryOtlp, CountsWhatTheCollectorRefuses) {
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

TEST_F(TelemetryOtlp, SaysWhatTheCollectorAnswers) {
  Answer answer;
  const Receiver collector([&](const Request &) -> std::string { return answer; });
  options_.spans = 0;
  const Telemetry telemetry = start(collector);
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
TEST_F(TelemetryOtlp, KeepsSpansForTheNextTryIfTheAnswerIsOfTheMoment) {
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

TEST_F(TelemetryOtlp, TakesNoMoreForRejectedThanItSent) {
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
  expect_error(opd_telemetry_flush(telemetry->get(), 1'000'000), OPD_DEADLINE_EXCEEDED, "has not taken all in time");
  call("main", 3);
  EXPECT_FALSE(telemetry->text().empty());
  telemetry.reset();  // gives up after a second
  closed.unlock();
}

TEST_F(TelemetryOtlp, SendsWhatThereIsAtItsEnd) {
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

TEST(TraceParents, AreReadAsTheRecommendationSays) {
  for (const std::string &good :
       {kParent, "01-" + kTrace + "-" + kCaller + "-01-more", "fe-" + kTrace + "-" + kCaller + "-ff"})
    check(opd_telemetry_set_parent(good.c_str()));
  for (const std::string &bad :
       {std::string(), "00-" + kTrace + "-" + kCaller, kParent + "-more", kParent + "x",
        "ff-" + kTrace + "-" + kCaller + "-01", "00-" + std::string(32, '0') + "-" + kCaller + "-01",
        "00-" + kTrace + "-" + std::string(16, '0') + "-01", "0g-" + kTrace + "-" + kCaller + "-01",
        "00-0AF7651916CD43DD8448EB211C80319C-" + kCaller + "-01", " " + kParent, "00_" + kTrace + "-" + kCaller + "-01",
        "01-" + kTrace + "-" + kCaller + "-01more"})
    expect_error(opd_telemetry_set_parent(bad.c_str()), OPD_INVALID_ARGUMENT, "traceparent");
  check(opd_telemetry_set_parent(nullptr));
}

// Another program of this test's own, whose environment is what a test says.
class TelemetryEnvironment : public testing::Test {
 protected:
  // What a child does after its library was loaded with the environment; returns what it exits with.
  static int run(const std::string &filter, const std::vector<std::pair<const char *, std::string>> &environment) {
    const pid_t child = fork();
    if (child == 0) {
      for (const auto &[name, value] : environment) setenv(name, value.c_str(), 1);
      setenv("OPDYNO_TEST_CHILD", "1", 1);
      const std::string argument = "--gtest_filter=" + filter;
      execl("/proc/self/exe", "child", argument.c_str(), "--gtest_also_run_disabled_tests", nullptr);
      _exit(127);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST(TelemetryChild, DISABLED_CallsAndExits) {
  make_program(nullptr).call("main", floats({1, 2, 3, 4}));
  exit(0);  // sends what there is
}

TEST_F(TelemetryEnvironment, TurnsItOnForAnUnchangedProgram) {
  const Receiver collector;
  ASSERT_EQ(run("TelemetryChild.DISABLED_CallsAndExits", {{"OPDYNO_TELEMETRY", "otlp=" + collector.url()},
                                                          {"OTEL_SERVICE_NAME", "by name"},
                                                          {"OTEL_RESOURCE_ATTRIBUTES", "a=b,service.name=no"},
                                                          {"OTEL_EXPORTER_OTLP_HEADERS", "key=1"}}),
            0);
  const auto requests = collector.requests(kTraces);
  ASSERT_EQ(spans_in(requests).size(), 1u);
  EXPECT_NE(requests[0].head.find("\r\nkey: 1\r\n"), std::string::npos);
  const Json attributes = Json(requests[0].body)["resourceSpans"][0]["resource"]["attributes"];
  EXPECT_EQ(attributes.attribute("service.name"), "by name");
  EXPECT_EQ(attributes.attribute("a"), "b");
}

TEST_F(TelemetryEnvironment, FillsWhatIsNotGivenOnlyOnceItIsOn) {
  const Receiver collector;
  const std::string endpoint = collector.url() + "/";
  const char *const test = "TelemetryChild.DISABLED_CallsAndExits";
  ASSERT_EQ(run(test, {{"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}}), 0);
  EXPECT_TRUE(collector.requests(kTraces).empty());
  ASSERT_EQ(run(test, {{"OPDYNO_TELEMETRY", "interval=5"}, {"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}}), 0);
  EXPECT_EQ(spans_in(collector.requests(kTraces)).size(), 1u);
  ASSERT_EQ(run(test, {{"OPDYNO_TELEMETRY", "per_operator=1"},
                       {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
                       {"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}}),
            0);
  EXPECT_EQ(spans_in(collector.requests(kTraces)).size(), 1u) << "gRPC is something else";
}

TEST(TelemetryChild, DISABLED_HasAWarning) {
  const LogMessages log;
  exit(log.text().find("OPDYNO_TELEMETRY: ") == 0 ? 0 : 1);
}

TEST_F(TelemetryEnvironment, IsWarnedOfIfItCannotBeUnderstood) {
  for (const char *text : {"nonsense", "color=red", "interval=x", "per_operator=2", "prometheus=nowhere:1",
                           "otlp=https://a", "prometheus=192.0.2.1:0"})
    EXPECT_EQ(run("TelemetryChild.DISABLED_HasAWarning", {{"OPDYNO_TELEMETRY", text}}), 0) << text;
}

}  // namespace
