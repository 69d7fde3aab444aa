// What a collector of OpenTelemetry gets, and a program whose calls are its spans.
#pragma once
#include <cjson/cJSON.h>

#include "support/add_one.h"
#include "support/http.h"
#include "support/log_messages.h"

namespace opdyno_test::otlp {

using opdyno::Telemetry;

inline const std::string kTraces = "/v1/traces", kMetrics = "/v1/metrics";
inline const std::string kTrace = "0af7651916cd43dd8448eb211c80319c", kCaller = "b7ad6b7169203331";
inline const std::string kParent = "00-" + kTrace + "-" + kCaller + "-01";

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

inline std::vector<SpanRow> spans_in(const std::vector<Request> &requests) {
  std::vector<SpanRow> rows;
  for (const Request &request : requests) {
    const Json spans = Json(request.body)["resourceSpans"][0]["scopeSpans"][0]["spans"];
    for (int i = 0; i < spans.size(); ++i) {
      const Json span = spans[i], status = span["status"];
      const std::string kind = span["attributes"].attribute("opdyno.kind");
      EXPECT_EQ(span["kind"].number(), kind == "session" || kind == "call" ? 2 : 1) << "server or internal";
      rows.push_back({span["name"].text(), span["traceId"].text(), span["spanId"].text(),
                      span["parentSpanId"].exists() ? span["parentSpanId"].text() : "",
                      status.exists() && status["message"].exists() ? status["message"].text() : "", kind,
                      status.exists() && status["code"].number() == 2, std::stoll(span["startTimeUnixNano"].text()),
                      std::stoll(span["endTimeUnixNano"].text())});
      EXPECT_EQ(rows.back().trace.size(), 32u);
      EXPECT_EQ(rows.back().id.size(), 16u);
      EXPECT_LE(rows.back().begin, rows.back().end);
    }
  }
  return rows;
}

// `again`: the VM that its function `outer` calls twice.
inline Vm make_program(const Vm *again) {
  define("test.fail", [](const opd_value *, int32_t, opd_value *) { throw std::runtime_error("no luck"); });
  define("test.inner", [again](const opd_value *args, int32_t, opd_value *) {
    for (int i = 0; i < 2; ++i) again->call("main", Tensor::of(args[0]));
  });
  return make_vm(kTelemetryProgram);
}

}  // namespace opdyno_test::otlp
