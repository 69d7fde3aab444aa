#include "telemetry/spans.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/json_document.h"
#include "base/json_writer.h"
#include "base/random_bytes.h"

namespace opd {

void SpanQueue::add(SentSpan span) {
  if (spans_.size() == most_) {
    ++num_dropped_;
    if (spans_.empty()) return;
    spans_.pop_front();
  }
  spans_.push_back(std::move(span));
}

std::vector<SentSpan> SpanQueue::take(size_t most) {
  const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(std::min(most, spans_.size()));
  std::vector<SentSpan> taken(std::make_move_iterator(spans_.begin()), std::make_move_iterator(end));
  spans_.erase(spans_.begin(), end);
  return taken;
}

void SpanQueue::give_back(std::vector<SentSpan> spans) {
  for (; !spans.empty() && spans_.size() < most_; spans.pop_back()) spans_.push_front(std::move(spans.back()));
  num_dropped_ += spans.size();
}

namespace {

// The output function of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
uint64_t mixed(uint64_t number) {
  number += 0x9E3779B97F4A7C15u;
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
  number = (number ^ number >> 27) * 0x94D049BB133111EBu;
  return number ^ number >> 31;
}

// Ids of spans and traces must not be 0.
void write_number(uint64_t number, uint8_t *out) {
  const uint64_t kept = number ? number : 1;
  std::memcpy(out, &kept, sizeof kept);
}

TraceContext context_of(const Event &run) {
  TraceContext context{};
  const std::string_view bytes = item_text(run, EventItem::Type::kContext);
  if (bytes.size() == sizeof context) std::memcpy(static_cast<void *>(&context), bytes.data(), sizeof context);
  return context;
}

bool is_before(uint64_t begin, uint64_t end, uint64_t other_begin, uint64_t other_end) {
  return begin != other_begin ? begin < other_begin : end > other_end;
}

}  // namespace

SpanMaker::SpanMaker(bool per_operator, SpanQueue &queue)
    : per_operator_(per_operator), queue_(queue), seeds_(draw_unique<decltype(seeds_)>()) {}

SentSpan::Id SpanMaker::run_id(uint64_t run) const {
  SentSpan::Id id;
  write_number(mixed(seeds_[0] ^ run), id.data());
  return id;
}

SentSpan::TraceId SpanMaker::own_trace(uint64_t run) const {
  SentSpan::TraceId trace;
  write_number(mixed(seeds_[1] ^ run), trace.data());
  write_number(mixed(seeds_[2] + run), trace.data() + 8);
  return trace;
}

void SpanMaker::add(const TraceParts &parts) {
  for (const TraceTrack &track : parts.tracks) {
    if (per_operator_) keep_operators(parts, track);
    add_runs(parts, track);
  }
}

void SpanMaker::keep_operators(const TraceParts &parts, const TraceTrack &track) {
  const TraceProcess &process = parts.process_of(track);
  for (const Event *call : track.calls) {
    const std::string_view error = error_of(*call);
    SentSpan span{.name = call->name,
                  .is_operator = true,
                  .has_failed = !error.empty(),
                  .begin_ns = process.unix_ns(call->begin),
                  .end_ns = process.unix_ns(std::max(call->begin, call->end)),
                  .thread = track.thread_id,
                  .message = std::string(error)};
    operators_[call->run].push_back({call->begin, call->end, std::move(span)});
    ++num_operators_;
    while (num_operators_ > queue_.most())  // for example, operators of a run that the ring lost
      queue_.count_dropped(take_operators(operators_.begin()->first).size());
  }
}

// If there are more runs than the queue has room for, only the newest are added, which end last.
void SpanMaker::add_runs(const TraceParts &parts, const TraceTrack &track) {
  const auto num_open = static_cast<size_t>(std::ranges::count_if(track.runs, &Event::is_open));
  const size_t most = queue_.most() + num_open;
  const size_t left_out = track.runs.size() - std::min(track.runs.size(), most);
  for (size_t i = 0; i < left_out; ++i) {
    const TraceContext context = context_of(*track.runs[i]);
    const size_t num_operators = take_operators(track.runs[i]->run).size();
    if (!context.is_any() || context.is_sampled()) queue_.count_dropped(1 + num_operators);
  }
  std::vector<Placed> runs;
  runs.reserve(track.runs.size() - left_out);
  for (size_t i = left_out; i < track.runs.size(); ++i) runs.push_back({track.runs[i], nullptr, {}});
  std::ranges::stable_sort(runs, [](const Placed &a, const Placed &b) {
    return is_before(a.event->begin, a.event->end, b.event->begin, b.event->end);
  });
  std::vector<Placed *> around;
  for (Placed &run : runs) {
    while (!around.empty() && around.back()->event->end <= run.event->begin) around.pop_back();
    run.outer = around.empty() ? nullptr : around.back();
    around.push_back(&run);
    add_run(parts, track, run);
  }
}

void SpanMaker::add_run(const TraceParts &parts, const TraceTrack &track, Placed &placed) {
  const Event &run = *placed.event;
  const TraceContext context = context_of(run);  // the context of an open run is not known yet
  placed.trace = context.is_any() ? context.trace
                 : placed.outer   ? placed.outer->trace
                 : run.parent_run ? own_trace(run.parent_run)
                                  : own_trace(run.run);
  if (run.is_open) return;
  const bool is_wanted = !context.is_any() || context.is_sampled();
  if (is_wanted) {
    const TraceProcess &process = parts.process_of(track);
    SentSpan span{.trace = placed.trace,
                  .id = run_id(run.run),
                  .name = run.name,
                  .program = run.location,
                  .has_failed = failure_of(run).data() != nullptr,
                  .begin_ns = process.unix_ns(run.begin),
                  .end_ns = process.unix_ns(std::max(run.begin, run.end)),
                  .thread = track.thread_id,
                  .message = std::string(failure_of(run))};
    span.parent = placed.outer     ? run_id(placed.outer->event->run)
                  : run.parent_run ? run_id(run.parent_run)
                                   : context.span;
    add_operators(run, span);
    queue_.add(std::move(span));
  } else {
    take_operators(run.run);
  }
}

std::vector<SpanMaker::Operator> SpanMaker::take_operators(uint64_t run) {
  auto kept = operators_.extract(run);
  if (!kept) return {};
  num_operators_ -= kept.mapped().size();
  return std::move(kept.mapped());
}

// Calls of one run are nested or apart.
void SpanMaker::add_operators(const Event &run, const SentSpan &of_run) {
  std::vector<Operator> calls = take_operators(run.run);
  std::ranges::stable_sort(
      calls, [](const Operator &a, const Operator &b) { return is_before(a.begin, a.end, b.begin, b.end); });
  struct Around {
    uint64_t end;
    SentSpan::Id id;
  };
  std::vector<Around> around;
  for (Operator &call : calls) {
    while (!around.empty() && around.back().end <= call.begin) around.pop_back();
    call.span.trace = of_run.trace;
    call.span.id = run_id(~num_ids_++);  // differs from the ids of runs, whose numbers are below 2^63
    call.span.program = of_run.program;
    call.span.parent = around.empty() ? of_run.id : around.back().id;
    around.push_back({call.end, call.span.id});
    queue_.add(std::move(call.span));
  }
}

// ---- requests of OTLP

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
    return std::ranges::any_of(settings.resource, [&](const auto &pair) { return pair.first == key; });
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
  // The conditional operator would make a temporary string from a literal and a string.
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
