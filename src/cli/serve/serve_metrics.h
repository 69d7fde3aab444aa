// Metrics of a server's sessions, for Prometheus and collectors of OpenTelemetry.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <opdyno/rpc.hpp>
#include <opdyno/telemetry.hpp>
#include <string>

#include "cli/serve/session_share.h"

namespace opd::cli {

// Each session is a separate process. Only this process sees its requests and how it ended, so it counts them in
// memory that it shares with the server. If the process ends in another way, the server sees that.
class ServeMetrics {
 public:
  // Listens at `address`, sends to the collector at `otlp`; "": does not.
  ServeMetrics(const std::string &address, const std::string &otlp);
  ~ServeMetrics();
  ServeMetrics(const ServeMetrics &) = delete;
  std::string address() const { return telemetry_.address(); }
  bool sends_spans() const { return sends_spans_; }

  // In the server. `outcome`: "": as the session has noted. `why`: its process ended, for the spans of what it did
  // then.
  void begin_session(int64_t number, SharedSession &shared);  // before its process begins; shared until its end
  void end_session(int64_t number, const char *outcome, const std::string &why = "");
  void show();                   // what has happened until now
  void note_end(opd_code code);  // in the session's process

 private:
  using Clock = std::chrono::steady_clock;
  struct Shared;
  struct Session {
    Clock::time_point begin;
    SharedSession *shared;
    uint64_t spans_taken = 0;
  };
  struct Totals {
    uint64_t requests = 0, received_bytes = 0, sent_bytes = 0, bad_traceparents = 0, spans_dropped = 0;
    void add(const SharedSession &shared);
  };
  void take_spans(int64_t number, Session &session);
  void send(const SharedSpan &span, int64_t session);
  void set(const char *name, const char *help, opd_telemetry_kind kind, double value, const char *outcome = nullptr);

  opdyno::Telemetry telemetry_;
  const bool sends_spans_;
  Shared *shared_;
  std::map<int64_t, Session> active_;
  Totals ended_totals_;                    // of sessions that ended
  std::map<std::string, uint64_t> ended_;  // by outcome, of those that the server sees
  double seconds_ = 0;                     // of those that ended
};

}  // namespace opd::cli
