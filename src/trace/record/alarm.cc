#include "trace/record/alarm.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/fork_mutex.h"
#include "trace/record/recorder.h"

namespace opd {

std::atomic<uint64_t> detail::slow_ticks{UINT64_MAX};
std::atomic<bool> detail::error_alarms{false};

namespace {

void sum_up() {
  const Recorder &recorder = Recorder::get();
  uint64_t slow_ticks = UINT64_MAX;
  bool on_error = false;
  for (const Slot &slot : recorder.slots) {
    slow_ticks = std::min(slow_ticks, slot.alarm.slow_ticks());
    on_error |= slot.alarm.listens_to_errors();
  }
  detail::slow_ticks.store(slow_ticks, std::memory_order_relaxed);
  detail::error_alarms.store(on_error, std::memory_order_relaxed);
}

}  // namespace

void Alarm::arm(const AlarmOptions &options) noexcept {
  const std::scoped_lock lock(Recorder::get().guard);
  // If a thread of the parent was writing the span during fork(), nothing completes it in the child, so the state is
  // reset. In the same process, such a span may still arrive late; it then causes one extra dump.
  if (std::exchange(generation_, fork_generation()) != fork_generation()) span_state_.store(State::kNone);
  State written = State::kWritten;
  span_state_.compare_exchange_strong(written, State::kNone);
  while (sem_trywait(&wakes_) == 0) {}
  by_signal_.store(false);
  by_request_.store(false);
  other_spans_.store(0);
  slow_ticks_.store(options.slow_ticks);
  on_error_.store(options.on_error);
  is_armed_.store(true);
  signal_.store(options.signal);
  sum_up();
}

void Alarm::disarm() noexcept {
  signal_.store(0);
  {
    const std::scoped_lock lock(Recorder::get().guard);
    slow_ticks_.store(UINT64_MAX);
    on_error_.store(false);
    sum_up();
  }
  is_armed_.store(false);
  sem_post(&wakes_);
}

void Alarm::raise(std::atomic<bool> &cause) noexcept {
  if (is_armed_.load() && !cause.exchange(true)) sem_post(&wakes_);
}

void Alarm::raise(NameId name, uint64_t ticks, bool has_failed) noexcept {
  if (!is_armed_.load()) return;
  State none = State::kNone;
  if (!span_state_.compare_exchange_strong(none, State::kBeingWritten)) {
    other_spans_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  span_ = {name, ticks, ::syscall(SYS_gettid), has_failed};
  span_state_.store(State::kWritten);
  sem_post(&wakes_);
}

Alarm::Raised Alarm::wait() noexcept {
  for (;;) {
    const bool was_armed = is_armed_.load();  // read first, so that anything raised before the disarming is seen
    Raised raised;
    raised.by_signal = by_signal_.exchange(false);
    raised.by_request = by_request_.exchange(false);
    if (span_state_.load() == State::kWritten) {
      raised.span = span_;
      span_state_.store(State::kNone);
    }
    // Further spans count even if there is no span now: they may have come after wait() took the last span and before
    // the place of that span was free.
    if (raised.is_any()) raised.other_spans = other_spans_.exchange(0);
    if (raised.is_any() || !was_armed) return raised;
    while (sem_wait(&wakes_) != 0 && errno == EINTR) {}
  }
}

void raise_alarms(int signal) noexcept {
  for (Slot &slot : Recorder::get().slots)
    if (slot.alarm.listens_to(signal)) slot.alarm.raise_by_signal();
}

// ---- signals

namespace {

struct Handled {
  int holds = 0;
  struct sigaction before {};
};

struct HandledSignals {
  ForkMutex guard{LockRank::kAlarmSignals};
  std::array<Handled, 65> signals;  // index: the signal; the last one is SIGRTMAX, 64

  static HandledSignals &get() {
    static auto *signals = new HandledSignals;  // never destroyed: threads may record while the process exits
    return *signals;
  }
};

void handle(int signal) {
  const int error = errno;
  raise_alarms(signal);
  errno = error;
}

// SIGSTOP and SIGKILL cannot be handled. The others end the program, so no dump could be written.
bool can_be_alarm(int signal) {
  constexpr std::array kOthers{SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  return ((signal > 0 && signal < 32) || (signal >= SIGRTMIN && signal <= std::min(SIGRTMAX, 64))) &&
         std::ranges::find(kOthers, signal) == kOthers.end();
}

bool is_free(const struct sigaction &action) {
  return !(action.sa_flags & SA_SIGINFO) && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

}  // namespace

void check_alarm_signal(int signal) {
  require(can_be_alarm(signal), "signal ", signal,
          " cannot ask for a dump: choose one such as SIGUSR2, after which a program goes on");
}

AlarmSignal::AlarmSignal(int signal) : signal_(signal) {
  if (!signal) return;
  HandledSignals &all = HandledSignals::get();
  const std::scoped_lock lock(all.guard);
  Handled &handled = all.signals[static_cast<size_t>(signal)];
  if (handled.holds == 0) {
    if (::sigaction(signal, nullptr, &handled.before) != 0)
      fail(OPD_IO, "cannot read the handler of signal ", signal, ": ", error_text(errno));
    if (!is_free(handled.before))
      fail(OPD_FAILED_PRECONDITION, "signal ", signal,
           " is handled by the program already; choose another one for dumps");
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    if (::sigaction(signal, &action, nullptr) != 0)
      fail(OPD_IO, "cannot set a handler for signal ", signal, ": ", error_text(errno));
  }
  ++handled.holds;
}

AlarmSignal::~AlarmSignal() {
  if (!signal_) return;
  HandledSignals &all = HandledSignals::get();
  const std::scoped_lock lock(all.guard);
  Handled &handled = all.signals[static_cast<size_t>(signal_)];
  if (--handled.holds > 0) return;
  // If the program has set another handler since then, that one stays.
  struct sigaction now {};
  if (::sigaction(signal_, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == handle)
    ::sigaction(signal_, &handled.before, nullptr);
}

}  // namespace opd
