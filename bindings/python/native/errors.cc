// Conversion of errors to exceptions and back. The exception of a Python callback passes through native code as an
// error. When that error is raised in Python, the original exception is raised again, with its traceback.
#include <mutex>

#include "core.h"

namespace opdpy {
namespace {

// An exception that passes through native code as an error. The reference to the error prevents reuse of its address.
// Few such pairs exist at a time; the oldest ones are those whose errors native code has swallowed.
struct Crossing {
  opd_error *error;
  PyObject *exception;
};
constexpr size_t kMostCrossing = 64;
std::vector<Crossing> &crossings() {  // guarded by the GIL
  static auto *all = new std::vector<Crossing>;
  return *all;
}

PyObject *take_crossing(const opd_error *error) {
  auto &all = crossings();
  for (const opd_error *e = error; e; e = opd_error_cause(e))
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].error == e) {
        PyObject *exception = all[i].exception;
        opd_error *kept = all[i].error;
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        opd_object_release(kept);
        return exception;
      }
  return nullptr;
}

void set_exception(PyObject *exception) {
  PyObject *trace = PyException_GetTraceback(exception);
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject *>(Py_TYPE(exception))), exception, trace);
}

PyObject *class_of(const char *kind) {  // borrowed from the cache of classes
  static PyObject *const classes = PyDict_New();
  if (PyObject *known = classes ? PyDict_GetItemString(classes, kind) : nullptr) return known;
  PyObject *module = PyImport_ImportModule("opdyno._errors");
  PyObject *made = module ? PyObject_CallMethod(module, "class_of", "s", kind) : nullptr;
  Py_XDECREF(module);
  if (!made || !classes || PyDict_SetItemString(classes, kind, made)) return nullptr;
  Py_DECREF(made);  // the dict holds a reference
  return made;
}

const char *cause_text(const opd_error *error) {
  const opd_error *cause = opd_error_cause(error);
  return cause ? opd_error_message(cause) : nullptr;
}

PyObject *make_exception(const opd_error *error) {
  static PyObject *const facts_name = PyUnicode_InternFromString("_facts");
  PyObject *type = class_of(opd_error_kind(error));
  PyObject *exception = type ? PyObject_CallFunction(type, "s", opd_error_message(error)) : nullptr;
  const char *backtrace = opd_error_backtrace(error);
  PyObject *facts = Py_BuildValue("iszz", static_cast<int>(opd_error_code(error)), opd_error_kind(error),
                                  cause_text(error), *backtrace ? backtrace : nullptr);
  if (exception && (!facts || PyObject_SetAttr(exception, facts_name, facts))) Py_CLEAR(exception);
  Py_XDECREF(facts);
  return exception;
}

}  // namespace

void raise(opd_error *error) {
  PyObject *exception = take_crossing(error);
  if (exception) {
    // A note names the place in the program.
    PyObject *note = PyUnicode_FromFormat("native: %s", opd_error_message(error));
    PyObject *done = note ? PyObject_CallMethod(exception, "add_note", "O", note) : nullptr;
    Py_XDECREF(note);
    if (done) Py_DECREF(done);
    else PyErr_Clear();
    set_exception(exception);
  } else if ((exception = make_exception(error))) {
    set_exception(exception);
  }
  opd_object_release(error);
}

opd_error *error_of_exception() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  PyObject *name = PyType_GetName(reinterpret_cast<PyTypeObject *>(type)), *text = PyObject_Str(value);
  const char *kind = name ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
  const char *message = text ? PyUnicode_AsUTF8AndSize(text, nullptr) : nullptr;
  PyErr_Clear();
  opd_error *error = opd_error_create(OPD_CALL_FAILED, kind ? kind : "RuntimeError", message ? message : "");
  Py_XDECREF(name);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  auto &all = crossings();
  if (all.size() == kMostCrossing) {
    Py_DECREF(all.front().exception);
    opd_object_release(all.front().error);
    all.erase(all.begin());
  }
  all.push_back({static_cast<opd_error *>(opd_object_retain(error)), value});
  return error;
}

}  // namespace opdpy
