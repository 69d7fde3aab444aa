#include "serve_metrics.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "failure.h"
#include "file.h"

namespace opd::cli {

namespace {

constexpr std::array outcomes{"done", "bad_key", "bad_format", "limit", "broken"};

// The number of the outcome that opd_rpc_serve() returned the code for.
size_t outcome_of(opd_code code) {
  switch (code) {
    case OPD_OK:
      return 0;
    case OPD_FAILED_PRECONDITION:
      return 1;
    case OPD_BAD_FORMAT:
      return 2;
    case OPD_DEADLINE_EXCEEDED:
      return 3;
    default:
      return 4;
  }
}

opdyno::Telemetry listening(const std::string &address) {
  opd_telemetry_options options = opdyno::defaults(opd_telemetry_options_init);
  options.prometheus_address = address.c_str();
  return opdyno::Telemetry(&options);
}

}  // namespace

// Programs of clients run in processes that can write it, so its numbers are only shown.
struct ServeMetrics::Shared {
  std::array<std::atomic<uint64_t>, outcomes.size()> ended{};
};

ServeMetrics::ServeMetrics(const std::string &address) : telemetry_(listening(address)) {
  void *const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_errno("share", "memory", errno);
  shared_ = new (memory) Shared;
  show();
}

ServeMetrics::~ServeMetrics() { munmap(shared_, sizeof(Shared)); }

void ServeMetrics::begin_session(int64_t number) {
  active_[number] = Clock::now();
  show();
}

void ServeMetrics::end_session(int64_t number, const char *outcome) {
  if (const auto session = active_.extract(number))
    seconds_ += std::chrono::duration<double>(Clock::now() - session.mapped()).count();
  if (*outcome) ++ended_[outcome];
  show();
}

void ServeMetrics::note_end(opd_code code) { ++shared_->ended[outcome_of(code)]; }

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
  constexpr const char *help = "Sessions that have ended, by how.";
  for (size_t i = 0; i < outcomes.size(); ++i)
    set("rpc_sessions", help, OPD_TELEMETRY_COUNTER, static_cast<double>(shared_->ended[i].load()), outcomes[i]);
  for (const char *seen : {"crashed", "exited", "no_process"})
    set("rpc_sessions", help, OPD_TELEMETRY_COUNTER, static_cast<double>(ended_[seen]), seen);
}

}  // namespace opd::cli
