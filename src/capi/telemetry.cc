// Implements include/opdyno/telemetry.h.
#include "telemetry/telemetry.h"

#include "base/bytes.h"
#include "capi/handles.h"
#include "trace/record/run_recorder.h"

using namespace opd;

namespace {

// Starts the session of OPDYNO_TELEMETRY when the library is loaded.
[[maybe_unused]] const bool kStarted = (start_telemetry_of_environment(kVersion, kAbi), true);

std::string text_of(const char *given) { return given ? given : ""; }

TelemetrySettings settings_of(const opd_telemetry_options &how) {
  constexpr uint64_t kLeastInterval = 1'000'000, kLongestInterval = 86'400'000'000'000;
  constexpr int32_t kMost = 1'000'000;
  for (const auto &[name, flag] : {std::pair("per_operator", how.per_operator), std::pair("spans", how.spans),
                                   std::pair("process_metrics", how.process_metrics)})
    require(flag == 0 || flag == 1, name, " must be 0 or 1, but is ", flag);
  require(how.interval_ns >= kLeastInterval && how.interval_ns <= kLongestInterval,
          "interval_ns must be from 1 ms to a day, but is ", how.interval_ns);
  require(how.max_queue >= 1 && how.max_queue <= kMost, "max_queue must be from 1 to ", kMost, ", but is ",
          how.max_queue);
  require(how.max_series >= 1 && how.max_series <= kMost, "max_series must be from 1 to ", kMost, ", but is ",
          how.max_series);
  require(how.max_bytes > 0, "max_bytes must not be 0");
  TelemetrySettings settings;
  settings.prometheus = text_of(how.prometheus_address);
  settings.otlp = text_of(how.otlp_endpoint);
  settings.headers = read_pairs(text_of(how.otlp_headers), "otlp_headers");
  settings.service_name = text_of(how.service_name);
  settings.resource = read_pairs(text_of(how.resource_attributes), "resource_attributes");
  settings.version = kVersion, settings.abi = kAbi;
  settings.interval_ns = how.interval_ns;
  settings.max_queue = static_cast<size_t>(how.max_queue);
  settings.max_series = static_cast<size_t>(how.max_series);
  settings.max_bytes = how.max_bytes;
  settings.per_operator = how.per_operator != 0;
  settings.spans = how.spans != 0;
  settings.process_metrics = how.process_metrics != 0;
  return settings;
}

bool is_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

Labels labels_of(const opd_telemetry_value &given) {
  OPD_REQUIRE_ITEMS(given.label_names, given.num_label_names);
  OPD_REQUIRE_ITEMS(given.label_values, given.num_label_names);
  Labels labels;
  for (int32_t i = 0; i < given.num_label_names; ++i) {
    const char *const label = given.label_names[i];
    const bool is_good = given.kind == OPD_TELEMETRY_SPAN
                             ? !text_of(label).empty()
                             : label && is_name(label) && !std::string_view(label).starts_with("__");
    require(is_good, "\"", text_of(label), "\" is not a name of a label");
    require(given.label_values[i], "label_values[", i, "] must not be NULL");
    labels.emplace_back(label, given.label_values[i]);
  }
  return labels;
}

SentSpan span_of(const opd_telemetry_value &given) {
  constexpr int32_t kLastKind = 5;
  require(given.name && *given.name, "the name of a span must not be empty");
  require(given.reserved == 0 && given.reserved2 == 0, "reserved and reserved2 must be 0");
  require(given.begin_ns > 0 && given.begin_ns <= given.end_ns, "begin_ns must be from 1 to end_ns, ", given.end_ns,
          ", but is ", given.begin_ns);
  require(given.span_kind >= 1 && given.span_kind <= kLastKind, "span_kind must be from 1 to ", kLastKind, ", but is ",
          given.span_kind);
  const std::optional<TraceContext> own = TraceContext::parse(text_of(given.traceparent));
  require(own.has_value(), "\"", text_of(given.traceparent), "\" is not a valid traceparent header");
  SentSpan span{.trace = own->trace,
                .id = own->span,
                .is_kept = own->is_sampled(),
                .title = given.name,
                .labels = labels_of(given),
                .kind = given.span_kind,
                .has_failed = given.error != nullptr,
                .begin_ns = given.begin_ns,
                .end_ns = given.end_ns,
                .message = text_of(given.error)};
  if (given.parent_span) {
    // The span's number has the same form as in a traceparent header.
    const auto parent = TraceContext::parse(concat("00-", hex(own->trace), "-", given.parent_span, "-01"));
    require(parent.has_value(), "\"", given.parent_span, "\" is not the id of a span");
    span.parent = parent->span;
  }
  return span;
}

Series series_of(const opd_telemetry_value &given) {
  require(given.name && is_name(given.name), "\"", text_of(given.name), "\" is not a valid name of a metric");
  const std::string_view name = given.name;
  require(!name.ends_with("_total") && !name.starts_with("opdyno_") && !name.starts_with("process_"), "\"", name,
          "\": the name of a metric of the program's own ends without _total, and begins with neither opdyno_ nor "
          "process_");
  require(given.kind == OPD_TELEMETRY_COUNTER || given.kind == OPD_TELEMETRY_GAUGE,
          "kind must be a kind of metrics, but is ", static_cast<int>(given.kind));
  require(given.reserved == 0, "reserved must be 0, but is ", given.reserved);
  Point point{labels_of(given), given.value};
  const SeriesKind kind = given.kind == OPD_TELEMETRY_COUNTER ? SeriesKind::kCounter : SeriesKind::kGauge;
  return {std::string(name), std::string(name), "", text_of(given.help), kind, {std::move(point)}};
}

TelemetrySession &session_of(opd_telemetry *telemetry) {
  OPD_REQUIRE(telemetry);
  return *unwrap<Telemetry>(telemetry)->session;
}

}  // namespace

opd_error *opd_telemetry_start(const opd_telemetry_options *options, opd_telemetry **out_telemetry) {
  return guard([&] {
    OPD_REQUIRE(out_telemetry);
    TelemetrySettings settings = settings_of(read_options(options, opd_telemetry_options_init));
    *out_telemetry = wrap<opd_telemetry>(make_object<Telemetry>(TelemetrySession::start(std::move(settings))));
  });
}

const char *opd_telemetry_address(const opd_telemetry *telemetry) {
  return telemetry ? unwrap<Telemetry>(telemetry)->session->address().c_str() : "";
}

opd_error *opd_telemetry_to_text(opd_telemetry *telemetry, opd_telemetry_format format, opd_buffer **out_text) {
  return guard([&] {
    OPD_REQUIRE(out_text);
    require(format == OPD_TELEMETRY_PROMETHEUS || format == OPD_TELEMETRY_OPEN_METRICS,
            "format must be a format of telemetry, but is ", static_cast<int>(format));
    give_text(session_of(telemetry).text(format == OPD_TELEMETRY_OPEN_METRICS), out_text);
  });
}

opd_error *opd_telemetry_set_value(opd_telemetry *telemetry, const opd_telemetry_value *value) {
  return guard([&] {
    OPD_REQUIRE(value);
    const opd_telemetry_value given = read_options(value, opd_telemetry_value_init);
    if (given.kind == OPD_TELEMETRY_SPAN) session_of(telemetry).add_span(span_of(given));
    else session_of(telemetry).set_value(series_of(given));
  });
}

opd_error *opd_telemetry_flush(opd_telemetry *telemetry, uint64_t timeout_ns) {
  return guard([&] { session_of(telemetry).flush(timeout_ns); });
}

opd_error *opd_telemetry_get_stats(opd_telemetry *telemetry, opd_telemetry_stats *out_stats) {
  return guard([&] {
    OPD_REQUIRE(out_stats);
    require_sized(*out_stats);
    const TelemetryStats now = session_of(telemetry).stats();
    opd_telemetry_stats stats{};
    stats.scrape_count = now.scrapes;
    stats.metrics_sent_count = now.metrics_sent;
    stats.spans_sent_count = now.spans_sent;
    stats.spans_dropped_count = now.spans_dropped;
    stats.spans_waiting_count = now.spans_waiting;
    stats.failed_count = now.sends_failed;
    stats.events_dropped_count = now.events_dropped;
    stats.is_sending_spans = session_of(telemetry).sends_spans() ? 1 : 0;
    write_sized(stats, out_stats);
  });
}

opd_error *opd_telemetry_set_parent(const char *traceparent) {
  return guard([&] {
    TraceContext context{};
    if (traceparent) {
      const std::optional<TraceContext> read = TraceContext::parse(traceparent);
      require(read.has_value(), "\"", traceparent, "\" is not a valid traceparent header");
      context = *read;
    }
    set_trace_context(context);
  });
}
