// Triggers of a recording's dump: a span took too long, a run failed, a signal came, or the program requested it. The
// triggering thread only notes the trigger and wakes the thread that writes dumps, which waits here.
#pragma once
#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/static_guard.h"
#include "trace/model/names.h"

namespace opd {

struct AlarmOptions {
  uint64_t slow_ticks = UINT64_MAX;  // a range or a run that takes at least this long raises the alarm
  bool on_error = false;             // a failed run raises the alarm
  int signal = 0;                    // this signal raises the alarm while an AlarmSignal of it lives; 0: none
};

// The alarm of one slot of recordings. Never destroyed, because a thread or a signal handler may be about to raise it.
class Alarm {
 public:
  Alarm() { sem_init(&wakes_, 0, 0); }
  Alarm(const Alarm &) = delete;

  struct Span {
    NameId name = kNoName;
    uint64_t ticks = 0;  // duration
    int64_t thread_id = 0;
    bool has_failed = false;  // false: it was slow
  };
  // Everything that was raised since the last wait(). Empty: the alarm was disarmed.
  struct Raised {
    bool by_signal = false, by_request = false;
    std::optional<Span> span;
    uint64_t other_spans = 0;  // number of further spans

    bool is_any() const { return by_signal || by_request || span; }
  };

  // One thread at a time may call wait(), between arm() and disarm().
  void arm(const AlarmOptions &options) noexcept;
  void disarm() noexcept;

  // Also for signal handlers: takes no lock and allocates nothing.
  void raise_by_signal() noexcept { raise(by_signal_); }
  void raise_by_request() noexcept { raise(by_request_); }
  void raise(NameId name, uint64_t ticks, bool has_failed) noexcept;
  // Waits until the alarm is raised or disarmed. If it was raised before it was disarmed, that is returned first.
  Raised wait() noexcept;

  uint64_t slow_ticks() const { return slow_ticks_.load(std::memory_order_relaxed); }
  bool listens_to_errors() const { return on_error_.load(std::memory_order_relaxed); }
  bool listens_to(int signal) const { return signal_.load(std::memory_order_relaxed) == signal; }

 private:
  enum class State : uint32_t { kNone, kBeingWritten, kWritten };
  void raise(std::atomic<bool> &cause) noexcept;

  std::atomic<uint64_t> slow_ticks_{UINT64_MAX};
  std::atomic<bool> on_error_{false}, is_armed_{false};
  std::atomic<int> signal_{0};
  std::atomic<bool> by_signal_{false}, by_request_{false};
  std::atomic<State> span_state_{State::kNone};
  std::atomic<uint64_t> other_spans_{0};
  uint32_t generation_ = 0;  // fork_generation() of the process that armed it last
  Span span_;                // kBeingWritten: owned by the raising thread; kWritten: owned by the waiting thread
  sem_t wakes_;              // not a futex: POSIX permits signal handlers to call sem_post()
};

// For the signal handler: raises the alarms that listen to the signal.
void raise_alarms(int signal) noexcept;

namespace detail {
// The least slow_ticks of all armed alarms, and whether any of them listens to errors.
extern std::atomic<uint64_t> slow_ticks;
extern std::atomic<bool> error_alarms;
}  // namespace detail

// ---- signals of the system that raise alarms

// While an object lives, the process handles the signal. When the last object ends, the former handler is restored. The
// signal does nothing if no alarm is armed; without the handler it might kill the process.
class AlarmSignal {
 public:
  // `signal`: 0 (none) or a signal that passed check_alarm_signal(). Throws OPD_FAILED_PRECONDITION if the program
  // handles it.
  explicit AlarmSignal(int signal);
  ~AlarmSignal();
  AlarmSignal(const AlarmSignal &) = delete;

 private:
  const int signal_;
};

// Throws OPD_INVALID_ARGUMENT if the signal cannot be handled, or reports a fault of the program.
void check_alarm_signal(int signal);

}  // namespace opd
