#include "cli/serve/serve_metrics.h"

#include <algorithm>

#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// Outcomes by the code that opd_rpc_serve() returned. The last outcome is for all other codes.
constexpr std::array<std::pair<const char *, opd_code>, ServeMetrics::num_outcomes> outcomes{
    {{"done", OPD_OK},
     {"bad_key", OPD_FAILED_PRECONDITION},
     {"bad_format", OPD_BAD_FORMAT},
     {"limit", OPD_DEADLINE_EXCEEDED},
     {"broken", OPD_INTERNAL}}};

opdyno::Telemetry started(const std::string &address, const std::string &otlp) {
  opd_telemetry_options options = opdyno::defaults(opd_telemetry_options_init);
  if (!address.empty()) options.prometheus_address = address.c_str();
  if (!otlp.empty()) options.otlp_endpoint = otlp.c_str();
  return opdyno::Telemetry(&options);
}

}  // namespace

ServeMetrics::ServeMetrics(const std::string &address, const std::string &otlp)
    : telemetry_(started(address, otlp)), sends_spans_(telemetry_.stats().is_sending_spans != 0) {
  show();
}

void ServeMetrics::begin_session(int64_t number, SharedSession &shared) {
  active_[number] = {Clock::now(), &shared};
  show();
}

void ServeMetrics::end_session(int64_t number, const char *outcome, const std::string &why) {
  if (const auto found = active_.extract(number)) {
    Session &session = found.mapped();
    seconds_ += std::chrono::duration<double>(Clock::now() - session.begin).count();
    take_spans(number, session);
    session.shared->spans.take_open([&](const SharedSpan &open) {
      using std::chrono::system_clock;
      SharedSpan span = open;
      span.end_ns = std::max(span.begin_ns, std::chrono::nanoseconds(system_clock::now().time_since_epoch()).count());
      span.has_failed = 1;
      span.error[why.copy(span.error.data(), span.error.size() - 1)] = '\0';
      send(span, number);
    });
    ended_totals_.add(*session.shared);
  }
  if (*outcome) ++ended_[outcome];
  show();
}

void ServeMetrics::take_spans(int64_t number, Session &session) {
  session.shared->spans.take(session.spans_taken, [&](const SharedSpan &span) { send(span, number); });
}

void ServeMetrics::send(const SharedSpan &span, int64_t session) {
  static constexpr std::array labels{"opdyno.kind", "opdyno.session"};
  const std::string number = cat(session);
  const std::array values{span.kind.data(), number.c_str()};
  opd_telemetry_value value = opdyno::defaults(opd_telemetry_value_init);
  value.kind = OPD_TELEMETRY_SPAN, value.name = span.name.data();
  value.label_names = labels.data(), value.label_values = values.data(), value.num_label_names = labels.size();
  value.traceparent = span.traceparent.data();
  if (span.parent[0]) value.parent_span = span.parent.data();
  if (span.has_failed) value.error = span.error.data();
  value.begin_ns = span.begin_ns, value.end_ns = span.end_ns, value.span_kind = span.span_kind;
  try {
    telemetry_.set_value(value);
  } catch (const opdyno::Error &) { ++ended_totals_.spans_dropped; }  // a program of the client has changed the span
}

void ServeMetrics::Totals::add(const SharedSession &shared) {
  const auto read = [](const uint64_t &number) {
    return std::atomic_ref(const_cast<uint64_t &>(number)).load(std::memory_order_relaxed);
  };
  requests += read(shared.progress.num_requests);
  received_bytes += read(shared.progress.received_bytes), sent_bytes += read(shared.progress.sent_bytes);
  bad_traceparents += read(shared.progress.num_bad_traceparents);
  spans_dropped += shared.spans.num_dropped();
}

void ServeMetrics::note_end(opd_code code) {
  const auto found =
      std::ranges::find(outcomes.begin(), outcomes.end() - 1, code, [](const auto &one) { return one.second; });
  ++shared_->ended[static_cast<size_t>(found - outcomes.begin())];
}

void ServeMetrics::set(const char *name, const char *help, opd_telemetry_kind kind, double value, const char *outcome) {
  static constexpr const char *label = "outcome";
  opd_telemetry_value metric = opdyno::defaults(opd_telemetry_value_init);
  metric.name = name, metric.help = help, metric.kind = kind, metric.value = value;
  if (outcome) metric.label_names = &label, metric.label_values = &outcome, metric.num_label_names = 1;
  telemetry_.set_value(metric);
}

void ServeMetrics::show() {
  set("rpc_sessions_active", "Sessions that have not ended.", OPD_TELEMETRY_GAUGE, static_cast<double>(active_.size()));
  set("rpc_session_seconds", "Time of the sessions that have ended.", OPD_TELEMETRY_COUNTER, seconds_);
  for (auto &[number, session] : active_) take_spans(number, session);
  Totals totals = ended_totals_;
  for (const auto &[number, session] : active_) totals.add(*session.shared);
  const auto count = [&](const char *name, const char *help, uint64_t value) {
    set(name, help, OPD_TELEMETRY_COUNTER, static_cast<double>(value));
  };
  count("rpc_requests", "Requests of clients.", totals.requests);
  count("rpc_received_bytes", "Bytes of requests.", totals.received_bytes);
  count("rpc_sent_bytes", "Bytes of answers.", totals.sent_bytes);
  if (sends_spans_) {
    count("rpc_spans_dropped", "Spans of sessions for which there was no room.", totals.spans_dropped);
    count("rpc_bad_traceparents", "Trace contexts that clients said and that are none.", totals.bad_traceparents);
  }
  constexpr const char *help = "Sessions that have ended, by how.";
  for (size_t i = 0; i < outcomes.size(); ++i)
    set("rpc_sessions", help, OPD_TELEMETRY_COUNTER,
        static_cast<double>(shared_->ended[i].load() + ended_[outcomes[i].first]), outcomes[i].first);
  for (const char *seen : {"crashed", "exited", "no_process"})
    set("rpc_sessions", help, OPD_TELEMETRY_COUNTER, static_cast<double>(ended_[seen]), seen);
}

}  // namespace opd::cli
