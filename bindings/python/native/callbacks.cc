// Python callables as packed functions. They are called on whatever thread native code calls them from.
#include "core.h"

namespace opdpy {
namespace {

class Gil {
 public:
  Gil() : own_(std::exchange(waiting_state, nullptr)) {
    if (own_) PyEval_RestoreThread(own_);  // the thread came from Python
    else state_ = PyGILState_Ensure();
  }
  ~Gil() {
    if (own_) waiting_state = PyEval_SaveThread();
    else PyGILState_Release(state_);
  }

 private:
  PyThreadState *const own_;
  PyGILState_STATE state_;
};

// A callback's result is owned; what only views Python's memory is copied.
opd_error *give(PyObject *result, opd_value *out) {
  Arguments views;
  opd_value view;
  if (!views.view(result, &view)) return error_of_exception();
  if (view.type == OPD_DLTENSOR) {  // an array: the tensor keeps it
    opd_tensor *tensor = nullptr;
    if (!from_dlpack(result, &tensor)) return error_of_exception();
    *out = opd_object_value(tensor);
    return nullptr;
  }
  return opd_value_retain(&view, out);
}

opd_error *run(void *callable, const opd_value *args, int32_t num_args, opd_value *out_result) {
  if (!Py_IsInitialized()) return opd_error_create(OPD_FAILED_PRECONDITION, "RuntimeError", "Python has ended");
  const Gil gil;
  PyObject *tuple = PyTuple_New(num_args);
  for (int32_t i = 0; tuple && i < num_args; ++i) {
    PyObject *arg = from_view(args[i]);
    if (!arg) Py_CLEAR(tuple);
    else PyTuple_SetItem(tuple, i, arg);
  }
  PyObject *result = tuple ? PyObject_CallObject(static_cast<PyObject *>(callable), tuple) : nullptr;
  Py_XDECREF(tuple);
  if (!result) return error_of_exception();
  opd_error *error = result == Py_None ? nullptr : give(result, out_result);
  Py_DECREF(result);
  return error;
}

void end(void *callable) {
  if (!Py_IsInitialized()) return;  // its memory is gone with Python
  const Gil gil;
  Py_DECREF(static_cast<PyObject *>(callable));
}

void log(void *callable, opd_log_level level, const char *message) {
  if (!Py_IsInitialized()) return;
  const Gil gil;
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  PyObject *done = PyObject_CallFunction(static_cast<PyObject *>(callable), "is", static_cast<int>(level), message);
  if (!done) PyErr_WriteUnraisable(static_cast<PyObject *>(callable));
  Py_XDECREF(done);
  PyErr_Restore(kind, value, trace);
}

bool check_callable(PyObject *callable) {
  if (PyCallable_Check(callable)) return true;
  PyObject *type = PyType_GetName(Py_TYPE(callable));
  if (type) PyErr_Format(PyExc_TypeError, "a callable is needed, not %U", type);
  Py_XDECREF(type);
  return false;
}

}  // namespace

bool to_callback(PyObject *callable, opd_packed_fn *fn, void **user_data, opd_deleter *deleter) {
  *fn = run;
  *user_data = Py_NewRef(callable);
  *deleter = end;
  return true;
}

bool to_log_callback(PyObject *callable, opd_log_fn *fn, void **user_data, opd_deleter *deleter) {
  *fn = nullptr, *user_data = nullptr, *deleter = nullptr;
  if (callable == Py_None) return true;
  if (!check_callable(callable)) return false;
  *fn = log;
  *user_data = Py_NewRef(callable);
  *deleter = end;
  return true;
}

bool function_of(PyObject *callable, opd_function **out_function) {
  if (const Handle *handle = as_handle(callable); handle && handle->kind == kind_of("Function") && handle->pointer) {
    *out_function = static_cast<opd_function *>(opd_object_retain(handle->pointer));
    return true;
  }
  if (!check_callable(callable)) return false;
  opd_packed_fn fn;
  void *data;
  opd_deleter deleter;
  to_callback(callable, &fn, &data, &deleter);
  opd_error *error = opd_function_create(fn, data, deleter, out_function);
  if (!error) return true;
  deleter(data);
  raise(error);
  return false;
}

}  // namespace opdpy
