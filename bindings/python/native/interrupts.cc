// The GIL around native calls, and how handlers of signals run during them.
//
// While the main thread is inside of native code, Python cannot run its handlers of signals. It does write the signal's
// number to its wake-up file. A thread reads that and requests an answer of the main thread's cancel token: before its
// next operator, the call runs the handlers. If one of them raises, the call ends with that exception; else it goes on,
// as a call of the system does (PEP 475).
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "capi/requests.h"
#include "core.h"

namespace opdpy {

constinit thread_local PyThreadState *waiting_state = nullptr;

void take_gil(PyThreadState *state) noexcept {
  or_wait_for_exit([&] { PyEval_RestoreThread(state); });
}
PyGILState_STATE take_gil() noexcept {
  return or_wait_for_exit([] { return PyGILState_Ensure(); });
}

namespace {

opd_cancel_token *token = nullptr;  // of all calls of the main thread; null until watch_signals()

void read_signals(int fd) {
  unsigned char number;
  for (ssize_t got; (got = read(fd, &number, 1)) == 1 || (got < 0 && errno == EINTR);)
    if (got == 1) opd_private_token_request(token);
}

opd_error *run_handlers() {
  if (!Py_IsInitialized()) return nullptr;
  return with_gil([] { return PyErr_CheckSignals() ? error_of_exception() : nullptr; });
}

}  // namespace

// watch_signals(): called in the main thread; the file that signal.set_wakeup_fd() is to get. Once more after a fork.
PyObject *watch_signals(PyObject *, PyObject *) {
  if (!token)
    if (opd_error *error = opd_cancel_token_create(&token)) return raise(error), nullptr;
  opd_private_token_set_answer(token, run_handlers);
  // A callback that forks is inside of a call, which has the token if the parent's main thread made it.
  if (opd_error *error = opd_cancel_token_set_default(token)) opd_object_release(error);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return PyErr_SetFromErrno(PyExc_OSError);
  fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) & ~O_NONBLOCK);  // the reader may wait, a signal handler may not
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the main thread
  try {
    std::thread([fd = ends[0]] { read_signals(fd); }).detach();
  } catch (const std::exception &e) {
    close(ends[0]), close(ends[1]);
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return PyErr_Occurred() ? nullptr : PyLong_FromLong(ends[1]);
}

}  // namespace opdpy
