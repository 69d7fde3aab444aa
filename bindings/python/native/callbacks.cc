// Python callbacks for the library: packed functions, logs and collectors. They run on the thread on which native code
// calls them.
#include "core.h"
#include "loans.h"

namespace opdpy {
namespace {

// Converts a callback's result to an owned value. A view of Python's memory, or of memory that the caller lent, is
// copied.
opd_error *give(PyObject *result, opd_value *out) {
  Arguments views;
  opd_value view;
  if (!views.view(result, &view)) return error_of_exception();
  if (view.type == OPD_DLTENSOR) {  // an array becomes a tensor, which keeps it
    opd_tensor *tensor = nullptr;
    if (!shared_tensor(result, &tensor)) return error_of_exception();
    *out = opd_value_of_object(tensor);
    return nullptr;
  }
  return opdrules::own_result(view, out);
}

// Ends the loans of the caller's memory. If Python code kept such a tensor, its later use is an error.
void end_loans(PyObject *tuple, const opd_value *args, int32_t num_args) {
  for (int32_t i = 0; i < num_args; ++i)
    if (args[i].type == OPD_DLTENSOR)
      opd_tensor_end_borrow(static_cast<opd_tensor *>(as_handle(PyTuple_GetItem(tuple, i))->pointer));
}

}  // namespace

opd_error *run_callback(void *callable, const opd_value *args, int32_t num_args, opd_value *out_result) {
  if (!Py_IsInitialized()) return opd_error_create(OPD_FAILED_PRECONDITION, "RuntimeError", "Python has ended");
  return with_gil([&]() -> opd_error * {
    PyObject *tuple = PyTuple_New(num_args);
    for (int32_t i = 0; tuple && i < num_args; ++i) {
      PyObject *arg = from_view(args[i]);
      if (!arg) Py_CLEAR(tuple);
      else PyTuple_SetItem(tuple, i, arg);
    }
    if (!tuple) return error_of_exception();
    PyObject *result = PyObject_CallObject(static_cast<PyObject *>(callable), tuple);
    opd_error *error = !result ? error_of_exception() : result == Py_None ? nullptr : give(result, out_result);
    end_loans(tuple, args, num_args);
    Py_XDECREF(result);
    Py_DECREF(tuple);
    return error;
  });
}

namespace {

void end(void *callable) {
  if (!Py_IsInitialized()) return;  // the object's memory was freed with Python
  with_gil([&] { Py_DECREF(static_cast<PyObject *>(callable)); });
}

void log(void *callable, opd_log_level level, const char *message) {
  if (!Py_IsInitialized()) return;
  with_gil([&] {
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    PyObject *done = PyObject_CallFunction(static_cast<PyObject *>(callable), "is", static_cast<int>(level), message);
    if (!done) PyErr_WriteUnraisable(static_cast<PyObject *>(callable));
    Py_XDECREF(done);
    PyErr_Restore(kind, value, trace);
  });
}

// ---- collectors

// Calls a method with one argument, and takes ownership of the argument. Returns null with an exception.
PyObject *ask(void *collector, const char *method, PyObject *argument) {
  PyObject *name = argument ? PyUnicode_FromString(method) : nullptr;
  PyObject *result =
      name ? PyObject_CallMethodObjArgs(static_cast<PyObject *>(collector), name, argument, nullptr) : nullptr;
  Py_XDECREF(name);
  Py_XDECREF(argument);
  return result;
}

opd_error *init_collector(void *collector, const DLDevice *devices, int32_t num_devices) {
  if (!Py_IsInitialized()) return nullptr;
  return with_gil([&]() -> opd_error * {
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list && i < num_devices; ++i) {
      PyObject *device = from_device(devices[i]);
      if (!device || PyList_Append(list, device)) Py_CLEAR(list);
      Py_XDECREF(device);
    }
    PyObject *result = ask(collector, "_init", list);
    if (!result) return error_of_exception();
    Py_DECREF(result);
    return nullptr;
  });
}

opd_error *start_collector(void *collector, DLDevice device, void **out_state) {
  if (!Py_IsInitialized()) return nullptr;
  return with_gil([&]() -> opd_error * {
    PyObject *state = ask(collector, "_start", from_device(device));
    if (!state) return error_of_exception();
    if (state == Py_None) Py_DECREF(state);
    else *out_state = state;
    return nullptr;
  });
}

bool set_metric(PyObject *item, opd_metrics *metrics) {
  int kind;
  PyObject *metric, *object;
  if (!PyArg_ParseTuple(item, "OiO", &metric, &kind, &object)) return false;
  const char *name = text_for_c(metric, "a metric's name");
  if (!name) return false;
  Arguments views;
  opd_value value;
  if (!views.view(object, &value)) return false;
  opd_error *error = opd_metrics_set(metrics, name, static_cast<opd_metric_kind>(kind), &value);
  if (error) raise(error);
  return !error;
}

opd_error *stop_collector(void *collector, void *state, opd_metrics *metrics) {
  if (!Py_IsInitialized()) return nullptr;
  return with_gil([&]() -> opd_error * {
    PyObject *given = ask(collector, "_stop", static_cast<PyObject *>(state));  // takes ownership of the state
    PyObject *items = given ? PySequence_Tuple(given) : nullptr;
    Py_XDECREF(given);
    bool is_good = items != nullptr;
    for (Py_ssize_t i = 0; is_good && i < PyTuple_Size(items); ++i)
      is_good = set_metric(PyTuple_GetItem(items, i), metrics);
    Py_XDECREF(items);
    return is_good ? nullptr : error_of_exception();
  });
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
  *fn = run_callback;
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

opd_collector_table *CollectorTable::of(PyObject *object) {
  object_ = Py_NewRef(object);
  table_ = {sizeof table_, 0, init_collector, start_collector, stop_collector, object, end};
  return &table_;
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
