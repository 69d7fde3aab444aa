#include "base/library_thread.h"

#include <signal.h>

namespace opd {

bool start_library_thread(const char *name, void *(*body)(void *), void *argument, pthread_t &out_thread) noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool is_started = pthread_create(&out_thread, nullptr, body, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_started) pthread_setname_np(out_thread, name);
  return is_started;
}

}  // namespace opd
