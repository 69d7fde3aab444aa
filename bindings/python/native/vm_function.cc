// Functions of a VM, as vm["name"]: called by position and by name, and ended by Ctrl-C.
//
// While the main thread is inside a call, Python cannot run its handler of SIGINT. It does write the signal's number to
// its wake-up file; a thread reads that and cancels the call, which then ends before its next operator, and the handler
// runs as always.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "core.h"

namespace opdpy {
namespace {

struct Interrupts {
  opd_cancel *token = nullptr;  // of all calls of the main thread; null until watch_signals()
  unsigned long main_thread = 0;
  std::atomic<int> calls{0};  // of the main thread that are under way, one inside the other
  std::atomic<bool> cancelled{false};
};
Interrupts &interrupts() {
  static auto *state = new Interrupts;  // the thread may outlive everything
  return *state;
}

void read_signals(int fd) {
  unsigned char number;
  for (ssize_t got; (got = read(fd, &number, 1)) == 1 || (got < 0 && errno == EINTR);) {
    Interrupts &state = interrupts();
    if (got != 1 || number != SIGINT || !state.calls.load()) continue;
    state.cancelled = true;
    opd_cancel_cancel(state.token);
  }
}

// watch_signals(): called in the main thread; the file that signal.set_wakeup_fd() is to get. Once more after a fork.
PyObject *watch_signals(PyObject *, PyObject *) {
  Interrupts &state = interrupts();
  if (!state.token)
    if (opd_error *error = opd_cancel_create(&state.token)) return raise(error), nullptr;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return PyErr_SetFromErrno(PyExc_OSError);
  fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) & ~O_NONBLOCK);  // the reader may wait, a signal handler may not
  state.main_thread = PyThread_get_thread_ident();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the main thread
  try {
    std::thread(read_signals, ends[0]).detach();
  } catch (const std::exception &e) {
    close(ends[0]), close(ends[1]);
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return PyErr_Occurred() ? nullptr : PyLong_FromLong(ends[1]);
}

// Lets Ctrl-C end the calls that are made while it lives.
class Interruptible {
 public:
  Interruptible() : active_(interrupts().token && PyThread_get_thread_ident() == interrupts().main_thread) {
    if (active_) ++interrupts().calls;
  }
  ~Interruptible() {
    Interrupts &state = interrupts();
    if (active_ && --state.calls == 0 && state.cancelled.exchange(false)) opd_cancel_reset(state.token);
  }
  opd_cancel *token() const { return active_ ? interrupts().token : nullptr; }

 private:
  const bool active_;
};

struct VmFunction {
  PyObject_HEAD PyObject *vm, *name;
  const char *text;  // of name
};

// vm_call(vm, name, positional, named): named may be null.
PyObject *call_vm(PyObject *vm, const char *name, PyObject *positional, PyObject *named) {
  Arguments views;
  std::vector<const char *> names;
  for (Py_ssize_t i = 0; i < PyTuple_Size(positional); ++i)
    if (!views.add(PyTuple_GetItem(positional, i), static_cast<int>(i))) return nullptr;
  opd_call_options options;
  opd_call_options_init(&options);
  if (named && PyDict_Size(named)) {
    names.assign(static_cast<size_t>(views.size()), nullptr);
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(named, &at, &key, &value);) {
      names.push_back(PyUnicode_AsUTF8AndSize(key, nullptr));
      if (!names.back() || !views.add(value, views.size())) return nullptr;
    }
    options.names = names.data();
  }
  opd_value result = opd_none();
  opd_error *error;
  {
    const Interruptible interruptible;
    options.cancel = interruptible.token();
    const ReleasedGil released;
    error = opd_vm_call(static_cast<opd_vm *>(reinterpret_cast<Handle *>(vm)->pointer), name, views.data(),
                        views.size(), &options, &result);
  }
  if (!error) return from_value(result);
  if (opd_error_code(error) == OPD_CANCELLED && PyErr_CheckSignals()) {
    opd_object_release(error);  // what the handler raised says it better
    return nullptr;
  }
  raise(error);
  return nullptr;
}

PyObject *call(PyObject *self, PyObject *positional, PyObject *named) {
  auto *function = reinterpret_cast<VmFunction *>(self);
  return call_vm(function->vm, function->text, positional, named);
}

void deallocate(PyObject *self) {
  auto *function = reinterpret_cast<VmFunction *>(self);
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(function->vm);
  Py_XDECREF(function->name);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject *make(PyTypeObject *type, PyObject *args, PyObject *) {
  PyObject *vm, *name;
  if (!PyArg_ParseTuple(args, "OU", &vm, &name)) return nullptr;
  void *pointer = nullptr;
  if (to_handle(vm, kind_of("VirtualMachine"), "vm", &pointer)) return nullptr;
  const char *text = PyUnicode_AsUTF8AndSize(name, nullptr);
  PyObject *self = text && pointer ? PyType_GenericAlloc(type, 0) : nullptr;
  if (!self) return nullptr;
  auto *function = reinterpret_cast<VmFunction *>(self);
  function->vm = Py_NewRef(vm);
  function->name = Py_NewRef(name);
  function->text = text;
  return self;
}

PyObject *get_name(PyObject *self, void *) { return Py_NewRef(reinterpret_cast<VmFunction *>(self)->name); }
PyObject *get_vm(PyObject *self, void *) { return Py_NewRef(reinterpret_cast<VmFunction *>(self)->vm); }
PyGetSetDef properties[] = {{"name", get_name, nullptr, "The function's name.", nullptr},
                            {"vm", get_vm, nullptr, "The VM that runs it.", nullptr},
                            {}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                       {Py_tp_call, reinterpret_cast<void *>(call)},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char *>("What a function of a VM can do.")},
                       {0, nullptr}};
PyType_Spec spec = {"opdyno._native.VMFunctionBase", sizeof(VmFunction), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

PyMethodDef functions[] = {
    {"watch_signals", watch_signals, METH_NOARGS, "Starts to read a file for signals, and gives where to write them."},
    {}};

}  // namespace

bool add_vm_function_type(PyObject *module) {
  PyObject *type = PyType_FromSpec(&spec);
  const bool good = type && PyModule_AddObjectRef(module, "VMFunctionBase", type) == 0 &&
                    PyModule_AddFunctions(module, functions) == 0;
  Py_XDECREF(type);
  return good;
}

}  // namespace opdpy
