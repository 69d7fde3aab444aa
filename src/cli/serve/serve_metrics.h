// Metrics of a server's sessions, for Prometheus and collectors of OpenTelemetry.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <opdyno/rpc.hpp>
#include <opdyno/telemetry.hpp>
#include <string>

#include "cli/serve/session.h"

namespace opd::cli {

// Each session is a separate process. It counts its requests, and notes how it ended, in memory that it shares with the
// server. If the process ends in another way, only the server sees that.
class ServeMetrics {
 public:
  static constexpr size_t num_outcomes = 5;  // number of outcomes that a session can note

  // Listens at `address`, and sends to the collector at `otlp`. If one of them is "", it does not.
  ServeMetrics(const std::string &address, const std::string &otlp);
  std::string address() const { return telemetry_.address(); }
  bool sends_spans() const { return sends_spans_; }

  // The server calls the following functions. `outcome`: "" selects the one that the session has noted. `why`: the
  // reason why the process ended, for its open spans.
  // Called before the session's process begins. `shared` must live until the session ends.
  void begin_session(int64_t number, SharedSession &shared);
  void end_session(int64_t number, const char *outcome, const std::string &why = "");
  void show();                   // shows the numbers so far
  void note_end(opd_code code);  // called in the session's process

 private:
  using Clock = std::chrono::steady_clock;
  struct Shared {  // clients' programs can write it, so its numbers are only shown
    std::array<std::atomic<uint64_t>, num_outcomes> ended{};
  };
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
  SharedMemory<Shared> shared_ = share_memory<Shared>();
  std::map<int64_t, Session> active_;
  Totals ended_totals_;                    // sums over ended sessions
  std::map<std::string, uint64_t> ended_;  // by outcome, for ends that only the server sees
  double seconds_ = 0;                     // duration of ended sessions
};

}  // namespace opd::cli
