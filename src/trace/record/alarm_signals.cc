#include "trace/record/alarm_signals.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "base/fork_mutex.h"
#include "trace/record/alarm.h"

namespace opd {
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
    if (::sigaction(signal, nullptr, &handled.before) != 0) fail(OPD_IO, "sigaction: ", error_text(errno));
    if (!is_free(handled.before))
      fail(OPD_FAILED_PRECONDITION, "signal ", signal,
           " is handled by the program already; choose another one for dumps");
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    if (::sigaction(signal, &action, nullptr) != 0) fail(OPD_IO, "sigaction: ", error_text(errno));
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
