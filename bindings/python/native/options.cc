// Options as dicts: a key for each field that is not to have its default.
#include <cstddef>

#include "core.h"

namespace opdpy {
namespace {

const Field *find(const Fields &fields, const char *name) {
  for (const Field &field : fields)
    if (std::strcmp(field.name, name) == 0) return &field;
  return nullptr;
}

template <class T>
void store(char *options, size_t place, const T &value) {
  std::memcpy(options + place, &value, sizeof value);
}

}  // namespace

#define FIELD(STRUCT, KIND, NAME, ...) \
  Field { #NAME, KIND, offsetof(STRUCT, NAME), ##__VA_ARGS__ }
#define FIELDS(STRUCT, ...)                     \
  const Fields &fields_of(const STRUCT *) {     \
    using Type = STRUCT;                        \
    static const Fields fields = {__VA_ARGS__}; \
    return fields;                              \
  }
FIELDS(opd_module_options, FIELD(Type, 'i', copy), FIELD(Type, 's', format), FIELD(Type, 's', compiler),
       FIELD(Type, 's', c_flags), FIELD(Type, 's', cache_dir))
FIELDS(opd_export_options, FIELD(Type, 'S', addons, nullptr, offsetof(Type, num_addons)), FIELD(Type, 's', compiler),
       FIELD(Type, 's', c_flags), FIELD(Type, 's', workspace_dir))
FIELDS(opd_params_options, FIELD(Type, 'i', copy), FIELD(Type, 'i', prefetch), FIELD(Type, 'i', verify_checksums))
FIELDS(opd_vm_options, FIELD(Type, 'D', devices, nullptr, offsetof(Type, num_devices)), FIELD(Type, 'I', allocators),
       FIELD(Type, 'L', memory_limit_bytes), FIELD(Type, 'i', max_depth))
FIELDS(opd_call_options, FIELD(Type, 'S', names), FIELD(Type, 'l', timeout_ns), FIELD(Type, 'h', cancel, "Cancel"),
       FIELD(Type, 'H', outputs, "Tensor", offsetof(Type, num_outputs)))
FIELDS(opd_profile_options, FIELD(Type, 'i', warmup), FIELD(Type, 'i', repeat), FIELD(Type, 'L', max_records),
       FIELD(Type, 'i', builtins), FIELD(Type, 'i', details), FIELD(Type, 'L', sample_interval),
       FIELD(Type, 'H', collectors, "Collector", offsetof(Type, num_collectors)))
FIELDS(opd_table_options, FIELD(Type, 'i', sort), FIELD(Type, 'i', aggregate), FIELD(Type, 'i', col_sums))
FIELDS(opd_evaluator_options, FIELD(Type, 'd', device), FIELD(Type, 'l', number), FIELD(Type, 'l', repeat),
       FIELD(Type, 'l', min_repeat_ms), FIELD(Type, 'l', limit_zero_time_iterations),
       FIELD(Type, 'l', cooldown_interval_ms), FIELD(Type, 'l', repeats_to_cooldown),
       FIELD(Type, 'l', cache_flush_bytes), FIELD(Type, 'h', preprocess, "Function"), FIELD(Type, 'l', warmup),
       FIELD(Type, 'l', steady_ms), FIELD(Type, 'l', concurrency))
FIELDS(opd_diff_options, FIELD(Type, 'f', min_effect), FIELD(Type, 'f', level), FIELD(Type, 'f', confidence),
       FIELD(Type, 's', metric))

FIELDS(opd_counter_options, FIELD(Type, 'i', per_thread), FIELD(Type, 'i', best_effort),
       FIELD(Type, 'S', events, nullptr, offsetof(Type, num_events)), FIELD(Type, 'D', devices))

bool Options::read(PyObject *dict, const Fields &fields, const char *what, void *options) {
  if (!PyDict_Check(dict)) {
    PyErr_Format(PyExc_TypeError, "%s must be a dict or None", what);
    return false;
  }
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, nullptr) : nullptr;
    const Field *field = name ? find(fields, name) : nullptr;
    if (!field) {
      PyErr_Format(PyExc_TypeError, "%s have no %R", what, key);
      return false;
    }
    if (value != Py_None && !read_field(value, *field, static_cast<char *>(options))) return false;
  }
  return true;
}

bool Options::read_field(PyObject *value, const Field &field, char *options) {
  const auto count = [&](size_t n) {
    if (field.count_place >= 0) store(options, static_cast<size_t>(field.count_place), static_cast<int32_t>(n));
  };
  switch (field.kind) {
    case 'i': {
      const long number = PyLong_AsLong(value);
      if (number == -1 && PyErr_Occurred()) return false;
      if (number != static_cast<int32_t>(number)) {
        PyErr_Format(PyExc_OverflowError, "%s does not fit 32 bits", field.name);
        return false;
      }
      store(options, field.place, static_cast<int32_t>(number));
      return true;
    }
    case 'l':
      store(options, field.place, static_cast<int64_t>(PyLong_AsLongLong(value)));
      return !PyErr_Occurred();
    case 'L':
      store(options, field.place, static_cast<uint64_t>(PyLong_AsUnsignedLongLong(value)));
      return !PyErr_Occurred();
    case 'f':
      store(options, field.place, PyFloat_AsDouble(value));
      return !PyErr_Occurred();
    case 's': {
      const char *text = PyUnicode_AsUTF8AndSize(value, nullptr);
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
      auto &texts = texts_.emplace_back(std::make_unique<std::vector<const char *>>());
      if (!to_texts(value, *texts, field.name)) return false;
      store(options, field.place, texts->data());
      count(texts->size());
      return true;
    }
    default:
      break;
  }
  PyObject *items = PySequence_Tuple(value);
  if (!items) return false;
  const auto size = static_cast<size_t>(PyTuple_Size(items));
  bool good = true;
  if (field.kind == 'D') {
    auto &devices = devices_.emplace_back(std::make_unique<std::vector<DLDevice>>(size));
    for (size_t i = 0; good && i < size; ++i)
      good = to_device(PyTuple_GetItem(items, static_cast<Py_ssize_t>(i)), &(*devices)[i]);
    store(options, field.place, devices->data());
  } else if (field.kind == 'I') {
    auto &numbers = numbers_.emplace_back(std::make_unique<std::vector<int32_t>>(size));
    for (size_t i = 0; i < size; ++i)
      (*numbers)[i] = static_cast<int32_t>(PyLong_AsLong(PyTuple_GetItem(items, static_cast<Py_ssize_t>(i))));
    good = !PyErr_Occurred();
    store(options, field.place, numbers->data());
  } else {
    auto &handles = handles_.emplace_back(std::make_unique<std::vector<void *>>(size));
    for (size_t i = 0; good && i < size; ++i)
      good = to_handle(PyTuple_GetItem(items, static_cast<Py_ssize_t>(i)), kind_of(field.handle), field.name,
                       &(*handles)[i]) == 0;
    store(options, field.place, handles->data());
  }
  count(size);
  Py_DECREF(items);
  return good;
}

}  // namespace opdpy
