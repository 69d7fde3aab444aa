#include "telemetry/otlp_json.h"

#include <charconv>
#include <cmath>

#include "base/hex.h"
#include "base/json_document.h"
#include "base/json_writer.h"
#include "trace/model/process.h"

namespace opd {
namespace {

constexpr int kCumulative = 2;   // AggregationTemporality
constexpr int kStatusError = 2;  // Status.StatusCode

// 64-bit integers are written as strings, so that no reader loses digits.
template <class Number>
std::string quoted(Number number) {
  return concat("\"", number, "\"");
}

std::string real(double number) {
  if (std::isnan(number)) return "\"NaN\"";
  if (std::isinf(number)) return number < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  return concat(number);
}

void add_attribute(JsonWriter &json, std::string_view key, std::string_view text) {
  json.begin_object().key("key").value(key).key("value").begin_object().key("stringValue").value(text);
  json.end_object().end_object();
}
void add_attribute(JsonWriter &json, std::string_view key, int64_t number) {
  json.begin_object().key("key").value(key).key("value").begin_object().key("intValue").raw(quoted(number));
  json.end_object().end_object();
}

void add_attributes(JsonWriter &json, const Labels &labels, std::string_view prefix = "") {
  json.key("attributes").begin_array();
  for (const auto &[key, text] : labels) add_attribute(json, concat(prefix, key), text);
  json.end_array();
}

// Describes the process. Its pid and the machine's name make it distinct.
void add_resource(JsonWriter &json, const TelemetrySettings &settings) {
  json.key("resource").begin_object().key("attributes").begin_array();
  add_attribute(json, "service.name", settings.service_name);
  const TraceProcess process = TraceProcess::of_this();
  const auto is_given = [&](std::string_view key) {
    for (const auto &pair : settings.resource)
      if (pair.first == key) return true;
    return false;
  };
  if (!is_given("process.pid")) add_attribute(json, "process.pid", process.id);
  if (!is_given("host.name")) add_attribute(json, "host.name", process.host);
  for (const auto &[key, text] : settings.resource) add_attribute(json, key, text);
  json.end_array().end_object();
}

// A request: the items in their scope, the library, and their resource, the process. `what`: "Metrics" or "Spans".
template <class Add>
std::string request_of(std::string_view what, std::string_view items, const TelemetrySettings &settings,
                       const Add &add_items) {
  JsonWriter json;
  json.begin_object().key(concat("resource", what)).begin_array().begin_object();
  add_resource(json, settings);
  json.key(concat("scope", what)).begin_array().begin_object();
  json.key("scope").begin_object().key("name").value("opdyno").key("version").value(settings.version).end_object();
  json.key(items).begin_array();
  add_items(json);
  return json.end_array().end_object().end_array().end_object().end_array().end_object().take();
}

void add_histogram(JsonWriter &json, const DurationHistogram &histogram) {
  json.key("count").raw(quoted(histogram.count)).key("sum").raw(real(histogram.sum));
  json.key("bucketCounts").begin_array();
  for (const uint64_t count : histogram.counts) json.raw(quoted(count));
  json.end_array().key("explicitBounds").begin_array();
  for (const double bound : DurationHistogram::kBounds) json.raw(real(bound));
  json.end_array();
}

void add_metric(JsonWriter &json, const Series &series, int64_t since_ns, int64_t now_ns) {
  if (series.points.empty()) return;
  json.begin_object().key("name").value(series.otlp_name).key("description").value(series.help);
  json.key("unit").value(series.unit);
  const bool is_histogram = series.kind == SeriesKind::kHistogram, is_gauge = series.kind == SeriesKind::kGauge;
  json.key(is_histogram ? "histogram" : is_gauge ? "gauge" : "sum").begin_object();
  if (!is_gauge) json.key("aggregationTemporality").value(kCumulative);
  if (!is_gauge && !is_histogram) json.key("isMonotonic").value(true);
  json.key("dataPoints").begin_array();
  for (const Point &point : series.points) {
    json.begin_object();
    add_attributes(json, point.labels, series.name.starts_with("opdyno_") ? "opdyno." : "");
    if (!is_gauge) json.key("startTimeUnixNano").raw(quoted(since_ns));
    json.key("timeUnixNano").raw(quoted(now_ns));
    if (is_histogram) add_histogram(json, point.histogram);
    else json.key("asDouble").raw(real(point.value));
    json.end_object();
  }
  json.end_array().end_object().end_object();
}

void add_call_attributes(JsonWriter &json, const SentSpan &span) {
  json.key("attributes").begin_array();
  if (span.program != kNoName && !name_text(span.program).empty())
    add_attribute(json, "opdyno.program", name_text(span.program));
  add_attribute(json, "opdyno.kind", span.is_operator ? "operator" : "function");
  add_attribute(json, "thread.id", span.thread);
  json.end_array();
}

void add_span(JsonWriter &json, const SentSpan &span) {
  json.begin_object().key("traceId").value(hex(span.trace)).key("spanId").value(hex(span.id));
  if (span.parent != SentSpan::Id{}) json.key("parentSpanId").value(hex(span.parent));
  // Not the conditional operator, which would make a temporary string from a literal and a string.
  std::string_view name = "call";
  if (!span.title.empty()) name = span.title;
  else if (span.name != kNoName) name = name_text(span.name);
  json.key("name").value(name).key("kind").value(span.kind);
  json.key("startTimeUnixNano").raw(quoted(span.begin_ns)).key("endTimeUnixNano").raw(quoted(span.end_ns));
  if (span.title.empty()) add_call_attributes(json, span);
  else add_attributes(json, span.labels);
  if (span.has_failed) {
    json.key("status").begin_object().key("code").value(kStatusError);
    if (!span.message.empty()) json.key("message").value(span.message);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::string otlp_metrics(const std::vector<Series> &all, const TelemetrySettings &settings, int64_t since_ns,
                         int64_t now_ns) {
  return request_of("Metrics", "metrics", settings, [&](JsonWriter &json) {
    for (const Series &series : all) add_metric(json, series, since_ns, now_ns);
  });
}

std::string otlp_spans(const std::vector<SentSpan> &spans, const TelemetrySettings &settings) {
  return request_of("Spans", "spans", settings, [&](JsonWriter &json) {
    for (const SentSpan &span : spans) add_span(json, span);
  });
}

namespace {
const cJSON *member_of(const JsonDocument &document, const cJSON *object, std::string_view name) {
  const cJSON *member = cJSON_IsObject(object) ? object->child : nullptr;
  while (member && document.key(member) != name) member = member->next;
  return member;
}
}  // namespace

uint64_t rejected_spans(const std::string &answer) noexcept try {
  const JsonDocument document(answer, "answer");
  const cJSON *const number =
      member_of(document, member_of(document, document.root(), "partialSuccess"), "rejectedSpans");
  if (!number) return 0;
  const std::string text = cJSON_IsString(number) ? document.text(number) : std::string(document.number(number));
  uint64_t rejected = 0;
  std::from_chars(text.data(), text.data() + text.size(), rejected);
  return rejected;
} catch (...) { return 0; }  // the answer is not JSON

}  // namespace opd
