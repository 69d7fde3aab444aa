#include "base/signals.h"

#include <signal.h>

namespace opd {
namespace {

bool is_default(const struct sigaction &action) {
  return !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

}  // namespace

bool start_library_thread(const char *name, void *(*body)(void *), void *argument, pthread_t &out_thread) noexcept {
  sigset_t blocked, before;
  sigfillset(&blocked);
  // The thread that causes a fault gets its signal. If the signal were blocked, the process would end without running
  // the program's handler, which reports crashes (Python's faulthandler, a JVM's error file).
  constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  for (const int fault : faults) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  const bool is_started = pthread_create(&out_thread, nullptr, body, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_started) pthread_setname_np(out_thread, name);
  return is_started;
}

KeptSignalHandlers::KeptSignalHandlers() noexcept {
  before_.fill({});
  for (int signal = 1; signal < kMost; ++signal) ::sigaction(signal, nullptr, &before_[static_cast<size_t>(signal)]);
}

KeptSignalHandlers::~KeptSignalHandlers() {
  for (int signal = 1; signal < kMost; ++signal) {
    const struct sigaction &before = before_[static_cast<size_t>(signal)];
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now)) continue;  // glibc reserves two signals
    const bool is_changed = now.sa_flags != before.sa_flags || now.sa_handler != before.sa_handler;
    if (is_changed && !(signal == SIGFPE && is_default(before))) ::sigaction(signal, &before, nullptr);
  }
}

}  // namespace opd
