// Reads options from dicts. Fields without a key have their defaults.
#include "core.h"

namespace opdpy {

template <class T>
static bool store_number(PyObject *value, const opdrules::Field &field, void *options) {
  T number;
  if (!to_number(value, field.name, &number)) return false;
  opdrules::store(options, field.place, number);
  return true;
}

bool Options::read(PyObject *dict, const opdrules::Fields &fields, const char *what, void *options) {
  if (!PyDict_Check(dict)) {
    PyErr_Format(PyExc_TypeError, "%s must be a dict or None", what);
    return false;
  }
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const char *name = text_for_c(key, "an option's name");
    if (!name) return false;
    const opdrules::Field *field = opdrules::find(fields, name);
    if (!field) {
      PyErr_Format(PyExc_TypeError, "%s have no %R", what, key);
      return false;
    }
    if (value != Py_None && !read_field(value, *field, options)) return false;
  }
  return true;
}

bool Options::read_field(PyObject *value, const opdrules::Field &field, void *options) {
  using opdrules::store;
  switch (field.kind) {
    case 'i':
      return store_number<int32_t>(value, field, options);
    case 'l':
      return store_number<int64_t>(value, field, options);
    case 'L':
      return store_number<uint64_t>(value, field, options);
    case 'f':
      return store_number<double>(value, field, options);
    case 's': {
      const char *text = text_for_c(value, field.name);
      store(options, field.place, text);
      return text;
    }
    case 'd': {
      DLDevice device;
      if (!to_device(value, &device)) return false;
      store(options, field.place, device);
      return true;
    }
    case 'h': {
      void *pointer = nullptr;
      if (to_handle(value, kind_of(field.handle), field.name, &pointer)) return false;
      store(options, field.place, pointer);
      return true;
    }
    case 'S': {
      auto &texts = lists_.make<const char *>(0);
      if (!to_texts(value, texts, field.name)) return false;
      lists_.store(options, field, texts);
      return true;
    }
    default:
      break;
  }
  PyObject *items = PySequence_Tuple(value);
  if (!items) return false;
  const auto size = static_cast<size_t>(PyTuple_Size(items));
  bool good = true;
  const auto item = [&](size_t i) { return PyTuple_GetItem(items, static_cast<Py_ssize_t>(i)); };
  if (field.kind == 'D') {
    auto &devices = lists_.make<DLDevice>(size);
    for (size_t i = 0; good && i < size; ++i) good = to_device(item(i), &devices[i]);
    lists_.store(options, field, devices);
  } else if (field.kind == 'I') {
    auto &numbers = lists_.make<int32_t>(size);
    for (size_t i = 0; good && i < size; ++i) good = to_item(item(i), field.name, i, &numbers[i]);
    lists_.store(options, field, numbers);
  } else if (field.kind == 'N') {
    auto &numbers = lists_.make<int64_t>(size);
    for (size_t i = 0; good && i < size; ++i) good = to_item(item(i), field.name, i, &numbers[i]);
    lists_.store(options, field, numbers);
  } else {
    auto &handles = lists_.make<void *>(size);
    for (size_t i = 0; good && i < size; ++i)
      good = to_handle(item(i), kind_of(field.handle), field.name, &handles[i]) == 0;
    lists_.store(options, field, handles);
  }
  Py_DECREF(items);
  return good;
}

}  // namespace opdpy
