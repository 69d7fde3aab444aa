// A telemetry session. One thread folds the events of its recording into metrics and spans, and answers Prometheus.
// Another thread sends them to a collector. Cost for the program: that of a recording of runs; with operators, also
// that of recording their calls.
#pragma once
#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fork_mutex.h"
#include "telemetry/http.h"
#include "telemetry/metric.h"
#include "telemetry/settings.h"
#include "telemetry/spans.h"
#include "trace/record/recording.h"

namespace opd {

struct TelemetryStats {
  uint64_t scrapes = 0, spans_sent = 0, spans_dropped = 0, spans_waiting = 0;
  uint64_t metrics_sent = 0;    // number of accepted requests
  uint64_t sends_failed = 0;    // number of failed requests
  uint64_t events_dropped = 0;  // events for which the recording had no room
};

// The state that the handle shares with the threads, which may outlive the handle briefly.
class TelemetrySession : public std::enable_shared_from_this<TelemetrySession> {
 public:
  // Throws OPD_INVALID_ARGUMENT, OPD_UNSUPPORTED, OPD_IO, OPD_FAILED_PRECONDITION.
  static std::shared_ptr<TelemetrySession> start(TelemetrySettings settings);
  explicit TelemetrySession(TelemetrySettings settings);  // called by start()
  TelemetrySession(const TelemetrySession &) = delete;

  const std::string &address() const { return settings_.prometheus; }  // "": it does not listen
  bool sends_spans() const { return post_ && settings_.spans; }
  std::string text(bool open_metrics);
  void set_value(Series series);  // sets a metric of the program; `series` has one point
  void add_span(SentSpan span);   // adds a span of the program; it is sent soon, if spans are sent
  TelemetryStats stats();
  // Sends all pending data. Throws OPD_DEADLINE_EXCEEDED, OPD_IO, OPD_FAILED_PRECONDITION.
  void flush(uint64_t timeout_ns);
  // Sends all pending data and ends the threads. `patience_ns` is the longest wait.
  void finish(uint64_t patience_ns) noexcept;

 private:
  friend struct TelemetrySessions;
  struct Thread;
  void begin();
  void serve() noexcept;
  void send() noexcept;
  void fold();
  bool send_spans();
  void send_metrics();
  std::vector<Series> metrics();
  void note_result(const HttpPost::Result &result);
  void forget() noexcept;  // called in a forked child
  HttpAnswer answer(std::string_view path, std::string_view accept);

  TelemetrySettings settings_;
  const int64_t since_ns_;
  HttpServer server_;
  std::optional<HttpPost> post_;
  Wake serve_wake_, send_wake_;
  std::atomic<uint64_t> end_ns_{UINT64_MAX};  // deadline by monotonic_ns(), once the session ends
  uint32_t generation_;

  ForkMutex guard_{LockRank::kTelemetry};  // guards the members below
  std::condition_variable_any changed_;
  Ref<Recording> recording_;
  CallMetrics calls_;
  SpanQueue queue_;
  SpanMaker spans_;
  std::vector<Series> own_;
  size_t num_own_ = 0;
  TelemetryStats stats_;
  bool is_ending_ = false;
  int num_threads_ = 0;
  uint64_t flushes_wanted_ = 0, flushes_done_ = 0;
  std::string flush_problem_;  // error of the latest flush; "": none
  Backoff span_pause_, metric_pause_;
  bool is_failing_ = false;

  std::string problem_;  // error of the sending thread; "": none
};

struct Telemetry final : Object {
  static int32_t type() { return registered_type<"opdyno.Telemetry">(); }
  const std::shared_ptr<TelemetrySession> session;

  explicit Telemetry(std::shared_ptr<TelemetrySession> s) : session(std::move(s)) {}
  ~Telemetry();
};

// Starts the session of OPDYNO_TELEMETRY. Called once, when the library is loaded.
void start_telemetry_of_environment(const char *version, const char *abi) noexcept;

}  // namespace opd
