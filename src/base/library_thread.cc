#include "base/library_thread.h"

#include <signal.h>

namespace opd {

bool start_library_thread(const char *name, void *(*body)(void *), void *argument, pthread_t &out_thread) noexcept {
  sigset_t blocked, before;
  sigfillset(&blocked);
  // A fault is the thread's own. If its signal were blocked, the process would end without running the program's
  // handler, which reports crashes (Python's faulthandler, a JVM's error file).
  constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  for (const int fault : faults) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  const bool is_started = pthread_create(&out_thread, nullptr, body, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_started) pthread_setname_np(out_thread, name);
  return is_started;
}

}  // namespace opd
