// The GIL around native calls, and how Ctrl-C ends them.
//
// While the main thread is inside of native code, Python cannot run its handler of SIGINT. It does write the signal's
// number to its wake-up file; a thread reads that and cancels the call, which then ends before its next operator, and
// the handler runs as always.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "core.h"

namespace opdpy {

constinit Interrupts interrupts;
constinit thread_local PyThreadState *waiting_state = nullptr;

void take_gil(PyThreadState *state) noexcept {
  or_wait_for_exit([&] { PyEval_RestoreThread(state); });
}
PyGILState_STATE take_gil() noexcept {
  return or_wait_for_exit([] { return PyGILState_Ensure(); });
}

void Interrupts::read_signals(int fd) {
  unsigned char number;
  for (ssize_t got; (got = read(fd, &number, 1)) == 1 || (got < 0 && errno == EINTR);) {
    if (got != 1 || number != SIGINT || !calls.load()) continue;
    cancelled = true;
    opd_cancel_token_cancel(token);
  }
}

void Interrupts::make_usable() {
  cancelled = false;
  opd_cancel_token_reset(token);
}

// watch_signals(): called in the main thread; the file that signal.set_wakeup_fd() is to get. Once more after a fork.
PyObject *watch_signals(PyObject *, PyObject *) {
  Interrupts &state = interrupts;
  if (!state.token)
    if (opd_error *error = opd_cancel_token_create(&state.token)) return raise(error), nullptr;
  // A callback that forks is inside of a call, which has the token if the parent's main thread made it.
  if (opd_error *error = opd_cancel_token_set_default(state.token)) opd_object_release(error);
  const unsigned long self = PyThread_get_thread_ident();
  if (state.main_thread != self) state.calls = 0;  // those of the parent's
  state.main_thread = self;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return PyErr_SetFromErrno(PyExc_OSError);
  fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) & ~O_NONBLOCK);  // the reader may wait, a signal handler may not
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the main thread
  try {
    std::thread([fd = ends[0]] { interrupts.read_signals(fd); }).detach();
  } catch (const std::exception &e) {
    close(ends[0]), close(ends[1]);
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return PyErr_Occurred() ? nullptr : PyLong_FromLong(ends[1]);
}

}  // namespace opdpy
