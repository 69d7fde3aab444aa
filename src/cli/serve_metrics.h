// Metrics of a server's sessions, for Prometheus.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <opdyno/telemetry.hpp>
#include <string>

namespace opd::cli {

// Sessions are processes of their own. How one ended is known in it alone, so it counts that in memory that it shares
// with the server; what ends a process otherwise, the server sees.
class ServeMetrics {
 public:
  explicit ServeMetrics(const std::string &address);  // listens
  ~ServeMetrics();
  ServeMetrics(const ServeMetrics &) = delete;
  std::string address() const { return telemetry_.address(); }

  // In the server. `outcome`: "": as the session has noted.
  void begin_session(int64_t number);
  void end_session(int64_t number, const char *outcome);
  // In the session's process, at its end.
  void note_end(opd_code code);

 private:
  using Clock = std::chrono::steady_clock;
  struct Shared;
  void set(const char *name, const char *help, opd_telemetry_kind kind, double value, const char *outcome = nullptr);
  void show();

  opdyno::Telemetry telemetry_;
  Shared *shared_;
  std::map<int64_t, Clock::time_point> active_;  // and when they began
  std::map<std::string, uint64_t> ended_;        // by outcome, of those that the server sees
  double seconds_ = 0;                           // of those that ended
};

}  // namespace opd::cli
