// The GIL around native calls, and signal handlers during them.
//
// While the main thread is in native code, Python cannot run its signal handlers, but it writes the signal's number to
// its wake-up file. A thread reads the file and sends a request through the main thread's cancel token. Then the call
// runs the handlers before its next operator. If a handler raises, the call ends with that exception. Otherwise it
// continues, like a system call (PEP 475).
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

opd_cancel_token *token = nullptr;  // for all calls of the main thread; null until watch_signals()

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

// watch_signals(): starts the thread. Called on the main thread, and again after a fork. Returns the file for
// signal.set_wakeup_fd().
PyObject *watch_signals(PyObject *, PyObject *) {
  if (!token)
    if (opd_error *error = opd_cancel_token_create(&token)) return raise(error), nullptr;
  opd_private_token_set_answer(token, run_handlers);
  // This fails within a call, that is if a callback forks. If the parent's main thread made the call, the call has the
  // token.
  if (opd_error *error = opd_cancel_token_set_default(token)) opd_object_release(error);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return PyErr_SetFromErrno(PyExc_OSError);
  fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) & ~O_NONBLOCK);  // the reader may wait, a signal handler may not
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the main thread should get all signals
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
