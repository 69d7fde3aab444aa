// Results of C as dicts, with an item for each field. bindings/api makes the list of the fields of the headers.
#pragma once
#include "core.h"
#include "result_fields.h"

namespace opdpy {

// Once an item could not be made, an exception is set, and the others are left out.
class ResultDict {
 public:
  explicit ResultDict(PyObject *dict) : dict_(dict) {}
  void operator()(const char *name, bool value) const { add(name, PyBool_FromLong(value)); }
  void operator()(const char *name, double value) const { add(name, PyFloat_FromDouble(value)); }
  void operator()(const char *name, int32_t value) const { add(name, PyLong_FromLong(value)); }
  void operator()(const char *name, int64_t value) const { add(name, PyLong_FromLongLong(value)); }
  void operator()(const char *name, uint64_t value) const { add(name, PyLong_FromUnsignedLongLong(value)); }
  void operator()(const char *name, const char *value) const { add(name, PyUnicode_FromString(value)); }
  void operator()(const char *name, DLDataType value) const { add(name, from_dtype(value)); }
  void operator()(const char *name, const int64_t *items, int32_t count) const { add(name, shape_of(items, count)); }

 private:
  void add(const char *name, PyObject *value) const {
    if (value && !PyErr_Occurred()) PyDict_SetItemString(dict_, name, value);
    Py_XDECREF(value);
  }
  PyObject *const dict_;
};

// A new dict; NULL with an exception.
template <class Result>
PyObject *dict_of(const Result &result) {
  PyObject *dict = PyDict_New();
  if (!dict) return nullptr;
  opdrules::for_each_field(result, ResultDict(dict));
  if (!PyErr_Occurred()) return dict;
  Py_DECREF(dict);
  return nullptr;
}

}  // namespace opdpy
