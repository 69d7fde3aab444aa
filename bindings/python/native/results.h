// Converts C results to objects of the classes that records.py makes, with a keyword for each field. bindings/api makes
// the list of fields from the headers.
#pragma once
#include "core.h"
#include "result_fields.h"

namespace opdpy {

// The class that the package registered for a struct, as a borrowed reference.
PyObject *result_class(const char *struct_name);

// Collects the keywords of a result. If a keyword cannot be made, an exception is set, and later keywords are left out.
class ResultKeywords {
 public:
  explicit ResultKeywords(PyObject *dict) : dict_(dict) {}
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

// Makes a result object. Returns NULL with an exception.
template <class Result>
PyObject *object_of(const char *struct_name, const Result &result) {
  PyObject *keywords = PyDict_New(), *none = PyTuple_New(0), *made = nullptr;
  if (keywords && none) opdrules::for_each_field(result, ResultKeywords(keywords));
  if (!PyErr_Occurred()) made = PyObject_Call(result_class(struct_name), none, keywords);
  Py_XDECREF(none);
  Py_XDECREF(keywords);
  return made;
}

}  // namespace opdpy
