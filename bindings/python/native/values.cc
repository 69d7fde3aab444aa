// Conversion of Python objects to values and back. Numbers, text and buffers are viewed in place; only containers are
// copied.
//
// The file is long, because all kinds of values are converted here, and both directions share their helpers.
#include "core.h"

namespace opdpy {
namespace {

constexpr int kMaxDepth = 1000;  // limit of nested containers, because their conversion is recursive

bool is_buffer_scalar(const Py_buffer &buffer, PyObject *object) {
  // NumPy scalars export a buffer, too. Unlike arrays, they have no __setitem__.
  return buffer.ndim == 0 && !PyObject_HasAttrString(object, "__setitem__");
}

// Finds the dtype of a buffer's items. Returns false if DLPack has no such dtype.
bool dtype_of_format(const char *format, Py_ssize_t item_bytes, DLDataType *out) {
  const char *f = format ? format : "B";
  if (*f == '@' || *f == '=' || *f == '<' || *f == '|') ++f;
  uint8_t code;
  if (*f == 'Z') {
    code = kDLComplex;
    ++f;
    if (*f != 'f' && *f != 'd') return false;
  } else if (std::strchr("bhilqn", *f)) {
    code = kDLInt;
  } else if (std::strchr("BHILQN", *f)) {
    code = kDLUInt;
  } else if (std::strchr("efd", *f)) {
    code = kDLFloat;
  } else if (*f == '?') {
    code = kDLBool;
  } else {
    return false;
  }
  if (!*f || f[1]) return false;
  *out = {code, static_cast<uint8_t>(item_bytes * 8), 1};
  return true;
}

bool get_buffer(PyObject *object, Py_buffer *out) {
  if (!PyObject_CheckBuffer(object)) return false;
  if (PyObject_GetBuffer(object, out, PyBUF_FORMAT | PyBUF_STRIDES) == 0) return true;
  PyErr_Clear();
  return false;
}

bool fits_dltensor(const Py_buffer &buffer) {
  DLDataType dtype;
  if (!dtype_of_format(buffer.format, buffer.itemsize, &dtype)) return false;
  for (int i = 0; i < buffer.ndim; ++i)
    if (buffer.strides[i] % buffer.itemsize) return false;
  return true;
}

// numpy.bool_ is not a subclass of bool.
bool view_bool_scalar(PyObject *object, opd_value *out) {
  Py_buffer buffer;
  if (!get_buffer(object, &buffer)) return false;
  const bool is_bool = buffer.ndim == 0 && buffer.format && std::strcmp(buffer.format, "?") == 0;
  if (is_bool) *out = opd_bool(*static_cast<const char *>(buffer.buf) != 0);
  PyBuffer_Release(&buffer);
  return is_bool;
}

// Raises the exception for an int that does not fit into 64 bits.
bool refuse_number(PyObject *object, int what) {
  PyErr_Clear();
  int64_t number;
  return to_number(object, what < 0 ? "a number" : ("argument " + std::to_string(what)).c_str(), &number);
}

PyObject *call_method(PyObject *object, const char *name) {
  PyObject *method = PyObject_GetAttrString(object, name);
  if (!method) return nullptr;
  PyObject *result = PyObject_CallNoArgs(method);
  Py_DECREF(method);
  return result;
}

PyObject *call_dlpack(PyObject *object) {
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
  if (!method) return nullptr;
  PyObject *none = PyTuple_New(0), *version = Py_BuildValue("{s(ii)}", "max_version", 1, 3);
  PyObject *capsule = none && version ? PyObject_Call(method, none, version) : nullptr;
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // an object of an older DLPack standard
    PyErr_Clear();
    capsule = PyObject_CallNoArgs(method);
  }
  Py_XDECREF(none);
  Py_XDECREF(version);
  Py_DECREF(method);
  return capsule;
}

}  // namespace

BufferView::BufferView(const Py_buffer &taken) : buffer(taken) {
  // For bytes, shape and strides point into the buffer struct itself (PyBuffer_FillInfo).
  if (taken.shape == &taken.len) buffer.shape = &buffer.len;
  if (taken.strides == &taken.itemsize) buffer.strides = &buffer.itemsize;
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  int64_t *place = strides;
  if (buffer.ndim > 8) {
    more_strides = std::make_unique<int64_t[]>(static_cast<size_t>(buffer.ndim));
    place = more_strides.get();
  }
  for (int i = 0; i < buffer.ndim; ++i) place[i] = buffer.strides[i] / buffer.itemsize;
  tensor = {buffer.buf, {kDLCPU, 0}, buffer.ndim, {}, reinterpret_cast<int64_t *>(buffer.shape), place, 0};
  dtype_of_format(buffer.format, buffer.itemsize, &tensor.dtype);
}

namespace {

// Views elements of ml_dtypes, such as bfloat16, as integers of their size, because NumPy exports no buffer for them.
// Only NumPy's view() is used: that of other libraries, such as JAX, may copy.
bool view_as_integers(PyObject *object, Py_buffer *out, DLDataType *out_dtype) {
  if (!PyObject_HasAttrString(object, "__array_interface__")) return false;
  PyObject *dtype = PyObject_GetAttrString(object, "dtype");
  PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : nullptr;
  const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
  bool good = text && (std::strncmp(text, "bfloat", 6) == 0 || std::strncmp(text, "float8_", 7) == 0);
  if (good) {
    opd_error *error = opd_dtype_from_string(text, out_dtype);
    good = !error;
    if (error) opd_object_release(error);
  }
  PyObject *view =
      good ? PyObject_CallMethod(object, "view", "s", out_dtype->bits == 16 ? "uint16" : "uint8") : nullptr;
  good = view && get_buffer(view, out);
  Py_XDECREF(view);  // the buffer holds a reference
  Py_XDECREF(name);
  Py_XDECREF(dtype);
  PyErr_Clear();
  return good;
}

}  // namespace

bool buffer_to_dltensor(PyObject *object, std::unique_ptr<BufferView> &out) {
  Py_buffer buffer;
  DLDataType dtype;
  if (!get_buffer(object, &buffer)) {
    if (!PyObject_CheckBuffer(object) || !view_as_integers(object, &buffer, &dtype)) return false;
    out = std::make_unique<BufferView>(buffer);
    out->tensor.dtype = dtype;
    return true;
  }
  if (!fits_dltensor(buffer) || is_buffer_scalar(buffer, object)) {
    PyBuffer_Release(&buffer);
    return false;
  }
  out = std::make_unique<BufferView>(buffer);
  return true;
}

// Whether the elements of an unversioned capsule count as read-only. Only a versioned capsule has a flag for this.
// Otherwise, if the object has Python's buffer protocol and exports no writable buffer, the elements count as
// read-only. This holds even if the only cause is that the protocol lacks the dtype.
static bool refuses_writing(PyObject *object) {
  if (!PyObject_CheckBuffer(object)) return false;
  Py_buffer buffer;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_FULL)) return PyErr_Clear(), true;
  PyBuffer_Release(&buffer);
  return false;
}

// Makes a read-only tensor of an unversioned capsule.
static opd_error *from_read_only_dlpack(DLManagedTensor *managed, opd_tensor **out_tensor) {
  auto versioned = std::make_unique<DLManagedTensorVersioned>();
  versioned->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  versioned->manager_ctx = managed;
  versioned->deleter = [](DLManagedTensorVersioned *self) {
    auto *inner = static_cast<DLManagedTensor *>(self->manager_ctx);
    if (inner->deleter) inner->deleter(inner);
    delete self;
  };
  versioned->flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  versioned->dl_tensor = managed->dl_tensor;
  opd_error *error = opd_tensor_from_dlpack_versioned(versioned.get(), out_tensor);
  if (!error) versioned.release();
  return error;
}

bool tensor_of_buffer(std::unique_ptr<BufferView> buffer, opd_tensor **out_tensor) {
  auto managed = std::make_unique<DLManagedTensorVersioned>();
  managed->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed->manager_ctx = buffer.get();
  managed->deleter = [](DLManagedTensorVersioned *self) {
    if (!Py_IsInitialized()) return;  // the memory was freed with Python
    with_gil([self] {
      delete static_cast<BufferView *>(self->manager_ctx);
      delete self;
    });
  };
  managed->flags = buffer->buffer.readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  managed->dl_tensor = buffer->tensor;
  if (opd_error *error = opd_tensor_from_dlpack_versioned(managed.get(), out_tensor)) return raise(error), false;
  managed.release();
  buffer.release();
  return true;
}

bool shared_tensor(PyObject *object, opd_tensor **out_tensor) {
  std::unique_ptr<BufferView> buffer;
  return buffer_to_dltensor(object, buffer) ? tensor_of_buffer(std::move(buffer), out_tensor)
                                            : from_dlpack(object, out_tensor);
}

bool from_dlpack(PyObject *object, opd_tensor **out_tensor) {
  PyObject *capsule = PyCapsule_CheckExact(object) ? Py_NewRef(object) : call_dlpack(object);
  if (!capsule) {  // NumPy lacks DLPack for dtypes of ml_dtypes and, before 2.1, for read-only arrays
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    std::unique_ptr<BufferView> buffer;
    if (!PyObject_TypeCheck(object, handle_type) && buffer_to_dltensor(object, buffer)) {
      Py_XDECREF(kind), Py_XDECREF(value), Py_XDECREF(trace);
      return tensor_of_buffer(std::move(buffer), out_tensor);
    }
    PyObject *dtype =
        PyErr_GivenExceptionMatches(kind, PyExc_BufferError) ? PyObject_GetAttrString(object, "dtype") : nullptr;
    PyErr_Clear();
    if (!dtype) return PyErr_Restore(kind, value, trace), false;
    // The exporter's message names no dtype.
    PyErr_Format(PyExc_BufferError, "an array of %S cannot be shared, but opdyno.tensor() copies it (%S)", dtype,
                 value);
    Py_DECREF(dtype), Py_XDECREF(kind), Py_XDECREF(value), Py_XDECREF(trace);
    return false;
  }
  opd_error *error = nullptr;
  bool taken = false;
  if (auto *versioned = static_cast<DLManagedTensorVersioned *>(
          PyCapsule_IsValid(capsule, "dltensor_versioned") ? PyCapsule_GetPointer(capsule, "dltensor_versioned")
                                                           : nullptr)) {
    error = opd_tensor_from_dlpack_versioned(versioned, out_tensor);
    taken = !error && PyCapsule_SetName(capsule, "used_dltensor_versioned") == 0;
  } else if (auto *managed = static_cast<DLManagedTensor *>(
                 PyCapsule_IsValid(capsule, "dltensor") ? PyCapsule_GetPointer(capsule, "dltensor") : nullptr)) {
    error = refuses_writing(object) ? from_read_only_dlpack(managed, out_tensor)
                                    : opd_tensor_from_dlpack(managed, out_tensor);
    taken = !error && PyCapsule_SetName(capsule, "used_dltensor") == 0;
  } else {
    PyErr_SetString(PyExc_ValueError, "__dlpack__ returned no capsule of a tensor, or one that was used already");
  }
  Py_DECREF(capsule);
  if (error) raise(error);
  return taken;
}

bool Arguments::add(PyObject *object, int what) {
  opd_value value;
  if (!view(object, &value, what)) return false;
  if (count_ < kFew && more_.empty()) {
    few_[count_++] = value;
    return true;
  }
  if (more_.empty()) more_.assign(few_, few_ + count_);
  more_.push_back(value);
  ++count_;
  return true;
}

bool Arguments::add_all(PyObject *sequence) {
  PyObject *items = PySequence_Tuple(sequence);
  if (!items) return false;
  held_.push_back(items);  // kept, because PySequence_Tuple() may have made the items
  for (Py_ssize_t i = 0; i < PyTuple_Size(items); ++i)
    if (!add(PyTuple_GetItem(items, i), static_cast<int>(i))) return false;
  return true;
}

bool Arguments::keep(opd_error *error, opd_value made, opd_value *out) {
  if (error) {
    raise(error);
    return false;
  }
  owned_.push_back(made);
  *out = made;
  return true;
}

bool Arguments::view(PyObject *object, opd_value *out, int what) {
  if (object == Py_None) {
    *out = opd_none();
  } else if (PyBool_Check(object)) {
    *out = opd_bool(object == Py_True);
  } else if (PyLong_Check(object)) {
    const long long number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred()) return refuse_number(object, what);
    *out = opd_int(number);
  } else if (PyFloat_Check(object)) {
    *out = opd_float(PyFloat_AsDouble(object));
  } else if (const Handle *handle = as_handle(object); handle && handle->pointer) {
    if (opd_object_type(handle->pointer) < OPD_OBJECT) {
      PyErr_Format(PyExc_TypeError, "%s is not a value that a function takes", handle->kind->name);
      return false;
    }
    *out = opd_value_of_object(handle->pointer);
    if (out->type == OPD_TENSOR && !check_loan(handle->pointer)) return false;
  } else if (PyUnicode_Check(object)) {
    if (is_dtype(object)) {
      DLDataType dtype;
      if (!to_dtype(object, &dtype)) return false;
      *out = opd_dtype_value(dtype);
      return true;
    }
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text) return false;
    if (static_cast<size_t>(size) == std::strlen(text)) {
      *out = opd_cstring(text);
    } else {
      opd_value made;
      return keep(opd_string_create(text, static_cast<size_t>(size), &made), made, out);
    }
  } else {
    return view_other(object, out, what);
  }
  return true;
}

bool Arguments::view_buffer(PyObject *object, opd_value *out) {
  if (PyBytes_Check(object)) {
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(object, &data, &size)) return false;
    bytes_.push_back(std::make_unique<ByteView>(ByteView{data, static_cast<size_t>(size)}));
    *out = opd_pointer(bytes_.back().get());
    out->type = OPD_BYTES_VIEW;
    return true;
  }
  std::unique_ptr<BufferView> buffer;
  if (!buffer_to_dltensor(object, buffer)) return false;
  if (buffer->buffer.readonly && read_only_ == ReadOnly::kMarked) {
    opd_tensor *tensor = nullptr;
    return tensor_of_buffer(std::move(buffer), &tensor) && keep(nullptr, opd_value_of_object(tensor), out);
  }
  *out = opd_dltensor(&buffer->tensor);
  buffers_.push_back(std::move(buffer));
  return true;
}

// Views an array without the read-only flag, because the caller declares that the function only reads the elements.
bool Arguments::view_vouched(PyObject *object, opd_value *out, int what) {
  PyObject *array = PyObject_GetAttrString(object, "array");
  if (!array) return false;
  held_.push_back(array);
  std::unique_ptr<BufferView> buffer;
  if (buffer_to_dltensor(array, buffer)) {
    *out = opd_dltensor(&buffer->tensor);
    buffers_.push_back(std::move(buffer));
    return true;
  }
  if (!view(array, out, what)) return false;
  if (DLTensor *tensor = dltensor_of(*out)) *out = opd_dltensor(tensor);
  return true;
}

bool Arguments::view_other(PyObject *object, opd_value *out, int what) {
  if (is_device(object)) {
    DLDevice device;
    to_device(object, &device);
    *out = opd_device_value(device);
    return true;
  }
  if (view_buffer(object, out)) return true;
  if (PyErr_Occurred()) return false;
  if (is_vouched(object)) return view_vouched(object, out, what);
  if (PyByteArray_Check(object)) {
    bytes_.push_back(std::make_unique<ByteView>(
        ByteView{PyByteArray_AsString(object), static_cast<size_t>(PyByteArray_Size(object))}));
    *out = opd_pointer(bytes_.back().get());
    out->type = OPD_BYTES_VIEW;
    return true;
  }
  if (PyObject_HasAttrString(object, "__dlpack__")) {
    opd_tensor *tensor = nullptr;
    if (!from_dlpack(object, &tensor)) return false;
    return keep(nullptr, opd_value_of_object(tensor), out);
  }
  if (PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object)) return view_nested(object, out, what);
  if (PyIndex_Check(object)) {
    PyObject *number = PyNumber_Index(object);
    if (!number) return false;
    const bool good = view(number, out, what);
    Py_DECREF(number);
    return good;
  }
  if (PyObject_HasAttrString(object, "asobject")) return view_nested(object, out, what);  // ObjectGeneric
  if (PyCallable_Check(object)) {
    opd_function *function = nullptr;
    if (!function_of(object, &function)) return false;
    return keep(nullptr, opd_value_of_object(function), out);
  }
  if (PyObject_HasAttrString(object, "_as_parameter_") || PyObject_HasAttrString(object, "value")) {  // ctypes.c_void_p
    PyObject *value = PyObject_GetAttrString(object, "value");
    if (value && (value == Py_None || PyLong_Check(value))) {
      *out = opd_pointer(value == Py_None ? nullptr : PyLong_AsVoidPtr(value));
      Py_DECREF(value);
      return !PyErr_Occurred();
    }
    Py_XDECREF(value);
    PyErr_Clear();
  }
  if (view_bool_scalar(object, out)) return true;
  if (PyObject *number = PyNumber_Float(object)) {  // NumPy's float16 and float32 scalars
    *out = opd_float(PyFloat_AsDouble(number));
    Py_DECREF(number);
    return true;
  }
  PyErr_Clear();
  PyObject *type = PyType_GetName(Py_TYPE(object));
  if (type && what >= 0) PyErr_Format(PyExc_TypeError, "argument %d is %U, which no function takes", what, type);
  else if (type) PyErr_Format(PyExc_TypeError, "%U is not a value that a function takes", type);
  Py_XDECREF(type);
  return false;
}

// Converts a container, which may contain itself.
bool Arguments::view_nested(PyObject *object, opd_value *out, int what) {
  if (depth_ == kMaxDepth) {
    PyErr_Format(
        PyExc_ValueError,
        "lists, tuples and dicts may be nested at most %d deep; an argument is nested deeper, or contains itself",
        kMaxDepth);
    return false;
  }
  ++depth_;
  bool good;
  if (PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object)) {
    good = view_container(object, out);
  } else {
    PyObject *converted = call_method(object, "asobject");
    if (converted) held_.push_back(converted);
    good = converted && view(converted, out, what);
  }
  --depth_;
  return good;
}

// Converts a number of items to C's type; -1 with an exception set if it does not fit.
int32_t count_of(size_t count) {
  if (count <= INT32_MAX) return static_cast<int32_t>(count);
  PyErr_Format(PyExc_OverflowError, "a container can have at most 2147483647 items, but would have %zu", count);
  return -1;
}

bool Arguments::view_container(PyObject *object, opd_value *out) {
  if (is_shape(object)) {
    std::vector<int64_t> dims;
    opd_shape *shape = nullptr;
    if (!to_dims(object, "a shape", dims)) return false;
    const int32_t ndim = count_of(dims.size());
    if (ndim < 0) return false;
    opd_error *error = opd_shape_create(dims.data(), ndim, &shape);
    return keep(error, error ? opd_none() : opd_value_of_object(shape), out);
  }
  std::vector<opd_value> items;
  const auto add_item = [&](PyObject *item) {
    opd_value value;
    if (!view(item, &value)) return false;
    if (value.type == OPD_DLTENSOR) {  // a container keeps a tensor that shares the array's memory
      opd_tensor *tensor = nullptr;
      if (!shared_tensor(item, &tensor)) return false;
      keep(nullptr, opd_value_of_object(tensor), &value);
    }
    items.push_back(value);
    return true;
  };
  if (PyDict_Check(object)) {
    PyObject *key, *item;
    for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &item);)
      if (!add_item(key) || !add_item(item)) return false;
    opd_map *map = nullptr;
    const int32_t pairs = count_of(items.size() / 2);
    if (pairs < 0) return false;
    opd_error *error = opd_map_create(items.data(), pairs, &map);
    return keep(error, error ? opd_none() : opd_value_of_object(map), out);
  }
  const Py_ssize_t count = PySequence_Size(object);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = PyList_Check(object) ? PyList_GetItem(object, i) : PyTuple_GetItem(object, i);
    if (!item || !add_item(item)) return false;
  }
  opd_array *array = nullptr;
  const int32_t num_items = count_of(items.size());
  if (num_items < 0) return false;
  opd_error *error = opd_array_create(items.data(), num_items, &array);
  return keep(error, error ? opd_none() : opd_value_of_object(array), out);
}

// ---- from values

PyObject *text_of(opd_buffer *buffer) {
  PyObject *text =
      PyUnicode_DecodeUTF8(opd_buffer_data(buffer), static_cast<Py_ssize_t>(opd_buffer_size(buffer)), "replace");
  opd_buffer_release(buffer);
  return text;
}

PyObject *bytes_of(opd_buffer *buffer) {
  PyObject *bytes =
      PyBytes_FromStringAndSize(opd_buffer_data(buffer), static_cast<Py_ssize_t>(opd_buffer_size(buffer)));
  opd_buffer_release(buffer);
  return bytes;
}

namespace {

PyObject *from_string(const opd_value &value) {
  const char *data = nullptr;
  size_t size = 0;
  if (opd_error *error = opd_string_get(&value, &data, &size)) {
    raise(error);
    return nullptr;
  }
  const auto length = static_cast<Py_ssize_t>(size);
  const bool is_text = value.type == OPD_CSTRING || value.type == OPD_SMALL_STRING || value.type == OPD_STRING;
  return is_text ? PyUnicode_DecodeUTF8(data, length, "replace") : PyBytes_FromStringAndSize(data, length);
}

// The kind of handle for a kind of object.
Kind *kind_of_type(int32_t type) {
  static Kind *const function = kind_of("Function"), *const tensor = kind_of("Tensor"),
                     *const module = kind_of("Module"), *const array = kind_of("Array"), *const map = kind_of("Map"),
                     *const object = kind_of("Object"), *const vm = kind_of("VirtualMachine"),
                     *const kv_state = kind_of("KvState");
  switch (type) {
    case OPD_FUNCTION:
      return function;
    case OPD_TENSOR:
      return tensor;
    case OPD_MODULE:
      return module;
    case OPD_ARRAY:
      return array;
    case OPD_MAP:
      return map;
    default:
      const std::string_view key = opd_type_key(type);
      if (key == "opdyno.Vm") return vm;
      return key == "opdyno.vm.PagedKVCache" || key == "opdyno.vm.RNNState" ? kv_state : object;
  }
}

PyObject *from_shape(const opd_shape *shape) {
  int32_t ndim = 0;
  const int64_t *dims = opd_shape_dims(shape, &ndim);
  return shape_of(dims, static_cast<Py_ssize_t>(ndim));
}

PyObject *pointer_of(void *address) {
  static PyObject *c_void_p = nullptr;
  if (!c_void_p) {
    PyObject *ctypes = PyImport_ImportModule("ctypes");
    c_void_p = ctypes ? PyObject_GetAttrString(ctypes, "c_void_p") : nullptr;
    Py_XDECREF(ctypes);
    if (!c_void_p) return nullptr;
  }
  return PyObject_CallFunction(c_void_p, "K", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address)));
}

// Makes a tensor of memory that a caller lends for the call. The caller owns the memory. run_callback() ends the loan.
PyObject *lent_tensor(const DLTensor &tensor) {
  opd_tensor *made = nullptr;
  if (opd_error *error = opd_tensor_borrow(&tensor, &made)) return raise(error), nullptr;
  return new_handle(kind_of("Tensor"), made);
}

}  // namespace

PyObject *from_value(opd_value value) {
  switch (value.type) {
    case OPD_NONE:
      Py_RETURN_NONE;
    case OPD_INT:
      return PyLong_FromLongLong(value.u.int64);
    case OPD_BOOL:
      return PyBool_FromLong(value.u.int64 != 0);
    case OPD_FLOAT:
      return PyFloat_FromDouble(value.u.float64);
    case OPD_POINTER:
      return pointer_of(value.u.pointer);
    case OPD_DTYPE:
      return from_dtype(value.u.dtype);
    case OPD_DEVICE:
      return from_device(value.u.device);
    case OPD_DLTENSOR:
      return lent_tensor(*value.u.dltensor);
    case OPD_CSTRING:
    case OPD_BYTES_VIEW:
    case OPD_SMALL_STRING:
    case OPD_SMALL_BYTES:
    case OPD_STRING:
    case OPD_BYTES: {
      PyObject *text = from_string(value);
      opd_value_release(&value);
      return text;
    }
    case OPD_SHAPE: {
      PyObject *shape = from_shape(reinterpret_cast<const opd_shape *>(value.u.object));
      opd_value_release(&value);
      return shape;
    }
    default:
      return new_handle(kind_of_type(value.type), value.u.object);
  }
}

PyObject *from_view(const opd_value &value) {
  if (value.type == OPD_SHAPE) return from_shape(reinterpret_cast<const opd_shape *>(value.u.object));
  if (value.type >= OPD_OBJECT && value.type != OPD_STRING && value.type != OPD_BYTES)
    return new_handle(kind_of_type(value.type), opd_object_retain(value.u.object));
  if (value.type == OPD_STRING || value.type == OPD_BYTES) return from_string(value);
  return from_value(value);
}

// ---- text

const char *text_for_c(PyObject *object, const char *what) {
  if (!PyUnicode_Check(object)) {
    PyObject *type = PyType_GetName(Py_TYPE(object));
    if (type) PyErr_Format(PyExc_TypeError, "%s must be str, not %U", what, type);
    Py_XDECREF(type);
    return nullptr;
  }
  Py_ssize_t size;
  const char *text = PyUnicode_AsUTF8AndSize(object, &size);
  if (!text || std::strlen(text) == static_cast<size_t>(size)) return text;
  return PyErr_Format(PyExc_ValueError, "%s has a NUL character: %R", what, object), nullptr;
}

bool to_text(PyObject *object, const char *what, const char **out) {
  *out = object == Py_None ? nullptr : text_for_c(object, what);
  return *out || object == Py_None;
}

// ---- sequences

bool to_texts(PyObject *sequence, std::vector<const char *> &out, const char *what) {
  const Py_ssize_t count = PyList_Check(sequence) || PyTuple_Check(sequence) ? PySequence_Size(sequence) : -1;
  if (count < 0) {
    PyErr_Format(PyExc_TypeError, "%s must be a list or tuple of str", what);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = PySequence_GetItem(sequence, i);
    const std::string name = std::string(what) + "[" + std::to_string(i) + "]";
    const bool good = item && to_text(item, name.c_str(), &out.emplace_back());
    Py_XDECREF(item);  // the sequence holds it
    if (!good) return false;
  }
  return true;
}

bool to_handles(PyObject *sequence, const Kind *kind, const char *what, std::vector<void *> &out) {
  const Py_ssize_t count = PyList_Check(sequence) || PyTuple_Check(sequence) ? PySequence_Size(sequence) : -1;
  if (count < 0) {
    PyErr_Format(PyExc_TypeError, "%s must be a list or tuple of %s", what, kind->name);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = PySequence_GetItem(sequence, i);
    const bool good = item && to_handle(item, kind, what, &out.emplace_back()) == 0;
    Py_XDECREF(item);  // the sequence holds it
    if (!good) return false;
  }
  return true;
}

bool to_signatures(PyObject *dict, std::vector<const char *> &names, std::vector<const char *> &signatures) {
  if (!PyDict_Check(dict)) {
    PyErr_SetString(PyExc_TypeError, "functions must be a dict of name to signature");
    return false;
  }
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    names.push_back(text_for_c(key, "a function's name"));
    signatures.push_back(names.back() ? text_for_c(value, "a function's signature") : nullptr);
    if (!signatures.back()) return false;
  }
  return true;
}

bool to_pointer(PyObject *object, void **out) {
  *out = nullptr;
  if (object == Py_None) return true;
  if (const Handle *handle = as_handle(object)) return *out = handle->pointer, true;
  PyObject *number = PyLong_Check(object) ? Py_NewRef(object) : PyObject_GetAttrString(object, "value");
  if (number && number != Py_None) *out = PyLong_AsVoidPtr(number);
  Py_XDECREF(number);
  if (!PyErr_Occurred()) return true;
  PyErr_SetString(PyExc_TypeError, "an address must be an int or a ctypes.c_void_p");
  return false;
}

DLTensor *dltensor_of(const opd_value &view) {
  if (view.type == OPD_DLTENSOR) return view.u.dltensor;
  return view.type == OPD_TENSOR ? opd_tensor_view(reinterpret_cast<opd_tensor *>(view.u.object)) : nullptr;
}

bool Bytes::read(PyObject *object) {
  Py_ssize_t size = 0;
  if (PyUnicode_Check(object)) {
    data_ = PyUnicode_AsUTF8AndSize(object, &size);
    size_ = static_cast<size_t>(size);
    return data_;
  }
  if (PyObject_GetBuffer(object, &buffer_, PyBUF_SIMPLE)) return false;
  taken_ = true;
  data_ = static_cast<const char *>(buffer_.buf);
  size_ = static_cast<size_t>(buffer_.len);
  return true;
}

}  // namespace opdpy
