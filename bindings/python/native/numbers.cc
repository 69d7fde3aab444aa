// Conversion of Python numbers to C numbers, with checks of the range.
#include "core.h"

namespace opdpy {
namespace {

bool refuse_type(PyObject *object, const char *what, const char *wanted) {
  PyObject *type = PyType_GetName(Py_TYPE(object));
  if (type) PyErr_Format(PyExc_TypeError, "%s must be %s, not %U", what, wanted, type);
  Py_XDECREF(type);
  return false;
}

// The digits of an int for a message. CPython refuses to print numbers with thousands of digits; the text then only
// says that the number is large or small.
PyObject *digits_of(PyObject *number, bool is_negative) {
  PyObject *text = PyObject_Str(number);
  if (text) return text;
  PyErr_Clear();
  return PyUnicode_FromString(is_negative ? "far below that" : "far above that");
}

}  // namespace

bool to_integer(PyObject *object, const char *what, int64_t low, uint64_t high, uint64_t *out) {
  if (!PyIndex_Check(object)) return refuse_type(object, what, "an int");
  PyObject *number = PyNumber_Index(object);
  if (!number) return false;
  int overflow = 0;
  const long long narrow = PyLong_AsLongLongAndOverflow(number, &overflow);
  bool good = !overflow && narrow >= low && (narrow < 0 || static_cast<uint64_t>(narrow) <= high);
  *out = static_cast<uint64_t>(narrow);
  if (overflow > 0 && high > INT64_MAX) {
    *out = PyLong_AsUnsignedLongLong(number);
    good = !PyErr_Occurred();
    PyErr_Clear();
  }
  if (!good) {
    PyObject *digits = digits_of(number, overflow < 0);
    if (digits)
      PyErr_Format(PyExc_OverflowError, "%s must be between %lld and %llu, but is %U", what,
                   static_cast<long long>(low), static_cast<unsigned long long>(high), digits);
    Py_XDECREF(digits);
  }
  Py_DECREF(number);
  return good;
}

bool to_number(PyObject *object, const char *what, double *out) {
  if (!PyFloat_Check(object) && !PyIndex_Check(object) && !PyObject_HasAttrString(object, "__float__"))
    return refuse_type(object, what, "a number");
  *out = PyFloat_AsDouble(object);
  if (*out != -1 || !PyErr_Occurred()) return true;
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {  // an int that is too large
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "%s is an int that is too large for a float", what);
  }
  return false;
}

bool to_dims(PyObject *object, const char *what, std::vector<int64_t> &out) {
  const bool is_one = PyIndex_Check(object);
  if (!is_one && !PySequence_Check(object) && !PyObject_HasAttrString(object, "__iter__"))
    return refuse_type(object, what, "an int or a sequence of int");
  PyObject *items = is_one ? PyTuple_Pack(1, object) : PySequence_Tuple(object);
  if (!items) return false;
  out.resize(static_cast<size_t>(PyTuple_Size(items)));
  bool good = true;
  for (size_t i = 0; good && i < out.size(); ++i)
    good = to_item(PyTuple_GetItem(items, static_cast<Py_ssize_t>(i)), what, i, &out[i]);
  Py_DECREF(items);
  return good;
}

}  // namespace opdpy
