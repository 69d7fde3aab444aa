// Native base classes of the package's Python classes: callable functions, tensors with the buffer protocol, and
// conversion of dtypes and devices. Also registers the package's classes.
#include <map>

#include "core.h"
#include "results.h"

namespace opdpy {

bool add_handle_type(PyObject *module);
bool add_collected_type(PyObject *module);
bool add_vm_function_type(PyObject *module);
bool add_record_function_type(PyObject *module);

namespace {

PyObject *dtype_class = nullptr, *device_class = nullptr, *shape_class = nullptr, *vouched_class = nullptr;

// ---- functions

PyObject *call(PyObject *self, PyObject *args, PyObject *names) {
  if (names && PyDict_Size(names)) {
    PyErr_SetString(PyExc_TypeError, "a packed function has no names for its arguments");
    return nullptr;
  }
  auto *function = static_cast<opd_function *>(reinterpret_cast<Handle *>(self)->pointer);
  if (!function) return PyErr_SetString(PyExc_ReferenceError, "the function was collected as garbage"), nullptr;
  Arguments views(ReadOnly::kMarked);
  const Py_ssize_t count = PyTuple_Size(args);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!views.add(PyTuple_GetItem(args, i), static_cast<int>(i))) return nullptr;
  opd_value result = opd_none();
  opd_error *error;
  {
    const ReleasedGil released;
    error = opd_function_call(function, views.data(), views.size(), &result);
  }
  if (error) {
    raise(error);
    return nullptr;
  }
  return from_value(result);
}

PyType_Slot function_slots[] = {{Py_tp_call, reinterpret_cast<void *>(call)},
                                {Py_tp_doc, const_cast<char *>("What a packed function can do.")},
                                {0, nullptr}};
PyType_Spec function_spec = {"opdyno._native.FunctionBase", sizeof(Collected), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             function_slots};

// ---- tensors

opd_tensor *tensor_of(PyObject *self) { return static_cast<opd_tensor *>(reinterpret_cast<Handle *>(self)->pointer); }
DLTensor &view_of(PyObject *self) { return *opd_tensor_view(tensor_of(self)); }

PyObject *get_shape(PyObject *self, void *) {
  const DLTensor &t = view_of(self);
  return shape_of(t.shape, t.ndim);
}
PyObject *get_strides(PyObject *self, void *) {
  const DLTensor &t = view_of(self);
  return shape_of(t.strides, t.ndim);
}
PyObject *get_dtype(PyObject *self, void *) { return from_dtype(view_of(self).dtype); }
PyObject *get_device(PyObject *self, void *) { return from_device(view_of(self).device); }
PyObject *get_ndim(PyObject *self, void *) { return PyLong_FromLong(view_of(self).ndim); }
PyObject *get_data(PyObject *self, void *) {
  const DLTensor &t = view_of(self);
  return PyLong_FromVoidPtr(static_cast<char *>(t.data) + t.byte_offset);
}
PyObject *get_bytes(PyObject *self, void *) { return PyLong_FromUnsignedLongLong(opd_tensor_bytes(tensor_of(self))); }

PyGetSetDef tensor_properties[] = {{"shape", get_shape, nullptr, "Sizes of the axes, as a Shape.", nullptr},
                                   {"strides", get_strides, nullptr, "Distances along the axes, in elements.", nullptr},
                                   {"dtype", get_dtype, nullptr, "The elements' DataType.", nullptr},
                                   {"device", get_device, nullptr, "The Device that holds the elements.", nullptr},
                                   {"ndim", get_ndim, nullptr, "Number of axes.", nullptr},
                                   {"_data", get_data, nullptr, "The address of the first element.", nullptr},
                                   {"nbytes", get_bytes, nullptr, "Size of the elements in bytes.", nullptr},
                                   {}};

// The format of an item in Python's module struct; null if the module lacks the dtype.
const char *format_of(DLDataType dtype) {
  if (dtype.lanes != 1) return nullptr;
  const int bits = dtype.bits;
  const auto of = [&](const char *b8, const char *b16, const char *b32, const char *b64) {
    return bits == 8 ? b8 : bits == 16 ? b16 : bits == 32 ? b32 : bits == 64 ? b64 : nullptr;
  };
  switch (dtype.code) {
    case kDLInt:
      return of("b", "h", "i", "q");
    case kDLUInt:
      return of("B", "H", "I", "Q");  // uint1 lies bit after bit, so it is no "?"
    case kDLFloat:
      return of(nullptr, "e", "f", "d");
    case kDLBool:
      return bits == 8 ? "?" : nullptr;
    case kDLComplex:
      return bits == 64 ? "Zf" : bits == 128 ? "Zd" : nullptr;
    default:
      return nullptr;
  }
}

int get_buffer(PyObject *self, Py_buffer *out, int flags) {
  out->obj = nullptr;
  if (!check_loan(tensor_of(self))) return -1;
  const DLTensor &t = view_of(self);
  const char *format = format_of(t.dtype);
  const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES, read_only = opd_tensor_is_read_only(tensor_of(self));
  if (t.device.device_type != kDLCPU || !format || (!strided && !opd_tensor_is_contiguous(tensor_of(self))) ||
      (read_only && (flags & PyBUF_WRITABLE))) {
    PyErr_SetString(PyExc_BufferError, t.device.device_type != kDLCPU ? "the tensor does not lie in the CPU's memory"
                                       : !format                      ? "Python's buffers have no such dtype"
                                       : read_only                    ? "the tensor is read-only"
                                                                      : "the tensor is not contiguous");
    return -1;
  }
  const Py_ssize_t item = t.dtype.bits / 8;
  auto *shape = new Py_ssize_t[2 * static_cast<size_t>(t.ndim)],
       *strides = shape + t.ndim;  // the buffer's consumer reads both arrays
  for (int i = 0; i < t.ndim; ++i) shape[i] = t.shape[i], strides[i] = t.strides[i] * item;
  out->buf = static_cast<char *>(t.data) + t.byte_offset;
  out->obj = Py_NewRef(self);
  out->len = static_cast<Py_ssize_t>(opd_tensor_bytes(tensor_of(self)));
  out->itemsize = item;
  out->readonly = read_only;
  out->ndim = t.ndim;
  out->format = flags & PyBUF_FORMAT ? const_cast<char *>(format) : nullptr;
  out->shape = flags & PyBUF_ND ? shape : nullptr;
  out->strides = strided ? strides : nullptr;
  out->suboffsets = nullptr;
  out->internal = shape;
  return 0;
}

void release_buffer(PyObject *, Py_buffer *buffer) { delete[] static_cast<Py_ssize_t *>(buffer->internal); }

template <class T>
void end_capsule(PyObject *capsule, const char *name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // a consumer owns it now
  auto *managed = static_cast<T *>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter) managed->deleter(managed);
}
constexpr const char *kOld = "dltensor", *kVersioned = "dltensor_versioned";

enum DlpackKeyword { kMaxVersion, kCopy, kStream, kDlDevice, kUnknownKeyword };

// Finds a keyword by its name. Names in source code are interned, so most are found by their address.
DlpackKeyword keyword_of(PyObject *name) {
  constexpr const char *kNames[] = {"max_version", "copy", "stream", "dl_device"};
  static PyObject *const interned[] = {PyUnicode_InternFromString(kNames[0]), PyUnicode_InternFromString(kNames[1]),
                                       PyUnicode_InternFromString(kNames[2]), PyUnicode_InternFromString(kNames[3])};
  for (int i = 0; i < kUnknownKeyword; ++i)
    if (name == interned[i]) return static_cast<DlpackKeyword>(i);
  for (int i = 0; i < kUnknownKeyword; ++i)
    if (PyUnicode_CompareWithASCIIString(name, kNames[i]) == 0) return static_cast<DlpackKeyword>(i);
  return kUnknownKeyword;
}

// __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
PyObject *to_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  PyObject *version = Py_None, *copy = Py_None;
  if (count) return PyErr_SetString(PyExc_TypeError, "__dlpack__ takes no positional arguments"), nullptr;
  for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); ++i) {
    PyObject *const name = PyTuple_GetItem(names, i);
    const DlpackKeyword keyword = keyword_of(name);
    if (keyword == kMaxVersion) version = args[i];
    else if (keyword == kCopy) copy = args[i];
    else if (keyword == kUnknownKeyword) return PyErr_Format(PyExc_TypeError, "__dlpack__ has no argument %R", name);
  }
  if (copy == Py_True) {
    PyErr_SetString(PyExc_BufferError, "the tensor is given as it is; copy it first");
    return nullptr;
  }
  if (!check_loan(tensor_of(self))) return nullptr;
  long major = 0;
  if (version != Py_None) {
    PyObject *first = PySequence_GetItem(version, 0);
    major = first ? PyLong_AsLong(first) : 0;
    Py_XDECREF(first);
    if (PyErr_Occurred()) return nullptr;
  }
  if (major >= 1) {
    DLManagedTensorVersioned *managed = nullptr;
    if (opd_error *error = opd_tensor_to_dlpack_versioned(tensor_of(self), &managed)) return raise(error), nullptr;
    return PyCapsule_New(managed, kVersioned,
                         [](PyObject *c) { end_capsule<DLManagedTensorVersioned>(c, kVersioned); });
  }
  DLManagedTensor *managed = nullptr;
  if (opd_error *error = opd_tensor_to_dlpack(tensor_of(self), &managed)) return raise(error), nullptr;
  return PyCapsule_New(managed, kOld, [](PyObject *c) { end_capsule<DLManagedTensor>(c, kOld); });
}

PyObject *dlpack_device(PyObject *self, PyObject *) {
  const DLDevice device = view_of(self).device;
  PyObject *type = PyLong_FromLong(device.device_type), *id = PyLong_FromLong(device.device_id);
  PyObject *pair = type && id ? PyTuple_Pack(2, type, id) : nullptr;
  Py_XDECREF(type);
  Py_XDECREF(id);
  return pair;
}

PyMethodDef tensor_methods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(to_dlpack)), METH_FASTCALL | METH_KEYWORDS,
     "Gives the tensor to another library without a copy. Source: DLPack 1.3."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, "The device's kind and number, as DLPack counts them."},
    {}};

PyType_Slot tensor_slots[] = {{Py_tp_getset, tensor_properties},
                              {Py_tp_methods, tensor_methods},
                              {Py_bf_getbuffer, reinterpret_cast<void *>(get_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void *>(release_buffer)},
                              {Py_tp_doc, const_cast<char *>("What a tensor can do.")},
                              {0, nullptr}};
PyType_Spec tensor_spec = {"opdyno._native.TensorBase", sizeof(Handle), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, tensor_slots};

bool add_type(PyObject *module, PyType_Spec *spec, const char *name, PyTypeObject *base) {
  PyObject *bases = PyTuple_Pack(1, base);
  PyObject *type = bases ? PyType_FromSpecWithBases(spec, bases) : nullptr;
  const bool good = type && PyModule_AddObjectRef(module, name, type) == 0;
  Py_XDECREF(bases);
  Py_XDECREF(type);
  return good;
}

// ---- registration by the package's Python code

PyObject *register_class(PyObject *, PyObject *args) {
  const char *name;
  PyObject *type;
  if (!PyArg_ParseTuple(args, "sO", &name, &type)) return nullptr;
  PyObject **place = std::strcmp(name, "DataType") == 0    ? &dtype_class
                     : std::strcmp(name, "Device") == 0    ? &device_class
                     : std::strcmp(name, "Shape") == 0     ? &shape_class
                     : std::strcmp(name, "ReadsOnly") == 0 ? &vouched_class
                                                           : &kind_of(name)->python_class;  // handles or results
  PyObject *old = *place;
  *place = Py_NewRef(type);
  Py_XDECREF(old);
  Py_RETURN_NONE;
}

// tensor_from(array, device or None): makes a new tensor with the array's elements.
PyObject *tensor_from(PyObject *, PyObject *args) {
  PyObject *array, *where;
  if (!PyArg_ParseTuple(args, "OO", &array, &where)) return nullptr;
  DLDevice device{kDLCPU, 0};
  if (where != Py_None && !to_device(where, &device)) return nullptr;
  std::unique_ptr<BufferView> buffer;
  opd_tensor *lent = nullptr, *made = nullptr;
  if (!buffer_to_dltensor(array, buffer) && !from_dlpack(array, &lent)) return nullptr;
  const DLTensor &from = buffer ? buffer->tensor : *opd_tensor_view(lent);
  opd_error *error = opd_tensor_create(from.shape, from.ndim, from.dtype, device, &made);
  if (!error) error = opd_tensor_copy(&from, made);
  opd_object_release(lent);
  if (!error) return new_handle(kind_of("Tensor"), made);
  opd_object_release(made);
  raise(error);
  return nullptr;
}

PyObject *tensor_from_dlpack(PyObject *, PyObject *object) {
  opd_tensor *made = nullptr;
  return from_dlpack(object, &made) ? new_handle(kind_of("Tensor"), made) : nullptr;
}

PyObject *function_from(PyObject *, PyObject *callable) {
  opd_function *function = nullptr;
  return function_of(callable, &function) ? new_handle(kind_of("Function"), function) : nullptr;
}

// owned_by(handle, vm): notes that the handle's object keeps the native VM of `vm`, and returns the handle.
PyObject *owned_by(PyObject *, PyObject *args) {
  PyObject *object, *owner;
  if (!PyArg_ParseTuple(args, "OO", &object, &owner)) return nullptr;
  set_owner(object, owner);
  return Py_NewRef(object);
}

// convert(value): converts the value as for a callee, to an object or a plain value.
PyObject *convert(PyObject *, PyObject *object) {
  Arguments views;
  opd_value view, owned;
  if (!views.view(object, &view)) return nullptr;
  if (view.type == OPD_DLTENSOR) return tensor_from_dlpack(nullptr, object);
  if (opd_error *error = opd_value_retain(&view, &owned)) return raise(error), nullptr;
  return from_value(owned);
}

PyObject *seconds_of(PyObject *, PyObject *object) {
  void *benchmark = nullptr;
  if (to_handle(object, kind_of("Benchmark"), "benchmark", &benchmark)) return nullptr;
  auto *results = static_cast<opd_benchmark *>(benchmark);
  int32_t size = 0;
  const double *seconds = opd_benchmark_seconds(results, &size);
  const auto count = static_cast<Py_ssize_t>(size);
  PyObject *list = PyTuple_New(count);
  for (Py_ssize_t i = 0; list && i < count; ++i) PyTuple_SetItem(list, i, PyFloat_FromDouble(seconds[i]));
  return list;
}

PyObject *benchmark_of(PyObject *, PyObject *sequence) {
  PyObject *items = PySequence_Tuple(sequence);
  if (!items) return nullptr;
  std::vector<double> seconds;
  for (Py_ssize_t i = 0; i < PyTuple_Size(items); ++i) seconds.push_back(PyFloat_AsDouble(PyTuple_GetItem(items, i)));
  Py_DECREF(items);
  if (PyErr_Occurred()) return nullptr;
  opd_benchmark *made = nullptr;
  if (opd_error *error = opd_benchmark_create(seconds.data(), static_cast<int32_t>(seconds.size()), &made))
    return raise(error), nullptr;
  return new_handle(kind_of("Benchmark"), made);
}

PyObject *dtype_parts(PyObject *, PyObject *object) {
  DLDataType dtype;
  opd_buffer *name = nullptr;
  if (!to_dtype(object, &dtype)) return nullptr;
  if (opd_error *error = opd_dtype_to_string(dtype, &name)) return raise(error), nullptr;
  return Py_BuildValue("(Niii)", text_of(name), dtype.code, dtype.bits, dtype.lanes);
}

PyObject *tensor_bytes(PyObject *, PyObject *object) {
  void *tensor = nullptr;
  if (to_handle(object, kind_of("Tensor"), "tensor", &tensor) || !tensor) return nullptr;
  auto *from = static_cast<opd_tensor *>(tensor);
  PyObject *bytes = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(opd_tensor_bytes(from)));
  if (!bytes) return nullptr;
  if (opd_error *error = opd_tensor_copy_to_bytes(from, PyBytes_AsString(bytes), opd_tensor_bytes(from))) {
    Py_DECREF(bytes);
    return raise(error), nullptr;
  }
  return bytes;
}

PyMethodDef functions[] = {
    {"dtype_parts", dtype_parts, METH_O, "Name, code, bits and lanes of a dtype."},
    {"tensor_bytes", tensor_bytes, METH_O, "A copy of a contiguous tensor's bytes."},
    {"register_class", register_class, METH_VARARGS,
     "Makes a Python class the one for a kind of native object, or for a struct of results."},
    {"tensor_from", tensor_from, METH_VARARGS, "Makes a tensor with a copy of an array's elements."},
    {"tensor_from_dlpack", tensor_from_dlpack, METH_O, "Makes a tensor of a DLPack object, without a copy."},
    {"function_from", function_from, METH_O, "Makes a packed function of a callable."},
    {"owned_by", owned_by, METH_VARARGS, "Tells the collector of cycles that an object keeps a VM."},
    {"convert", convert, METH_O, "Converts a value as a call would."},
    {"seconds_of", seconds_of, METH_O, "The samples of a benchmark."},
    {"benchmark_of", benchmark_of, METH_O, "A benchmark of the samples."},
    {"watch_signals", watch_signals, METH_NOARGS, "Starts to read a file for signals, and gives where to write them."},
    {}};

}  // namespace

PyObject *result_class(const char *struct_name) { return kind_of(struct_name)->python_class; }

bool is_dtype(PyObject *object) { return dtype_class && PyObject_IsInstance(object, dtype_class) == 1; }
bool is_vouched(PyObject *object) { return vouched_class && PyObject_IsInstance(object, vouched_class) == 1; }
bool is_device(PyObject *object) { return device_class && PyObject_IsInstance(object, device_class) == 1; }
bool is_shape(PyObject *object) { return shape_class && PyObject_IsInstance(object, shape_class) == 1; }

bool to_dtype(PyObject *object, DLDataType *out) {
  PyObject *name = nullptr;  // NumPy's dtypes have `name`, its scalar types `__name__`
  if (PyUnicode_Check(object)) name = Py_NewRef(object);
  else if (PyType_Check(object)) name = PyType_GetName(reinterpret_cast<PyTypeObject *>(object));
  else name = PyObject_GetAttrString(object, "name");
  const bool is_named = name && PyUnicode_Check(name);
  const char *text = is_named ? text_for_c(name, "a dtype") : nullptr;
  if (!is_named) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%R is not a dtype", object);
  } else if (!text) {  // the conversion has set an exception
  } else if (opd_error *error = opd_dtype_from_string(text, out)) {
    raise(error);
    text = nullptr;
  }
  Py_XDECREF(name);
  return text;
}

bool to_device(PyObject *object, DLDevice *out) {
  if (is_device(object)) {
    PyObject *type = PyObject_GetAttrString(object, "device_type"), *id = PyObject_GetAttrString(object, "device_id");
    if (type && id) *out = {static_cast<DLDeviceType>(PyLong_AsLong(type)), static_cast<int32_t>(PyLong_AsLong(id))};
    Py_XDECREF(type);
    Py_XDECREF(id);
    return !PyErr_Occurred();
  }
  if (PyObject_HasAttrString(object, "dlpack_device_type")) {  // a TVM device
    PyObject *module = PyImport_ImportModule("opdyno._device");
    PyObject *made = module ? PyObject_CallMethod(module, "device_of", "O", object) : nullptr;
    const bool good = made && is_device(made) && to_device(made, out);
    Py_XDECREF(made);
    Py_XDECREF(module);
    return good;
  }
  if (!PyUnicode_Check(object)) return PyErr_Format(PyExc_TypeError, "%R is not a device", object), false;
  const char *text = text_for_c(object, "a device");
  if (!text) return false;
  if (opd_error *error = opd_device_from_string(text, out)) {
    raise(error);
    return false;
  }
  return true;
}

PyObject *from_dtype(DLDataType dtype) {
  static auto *known = new std::map<uint32_t, PyObject *>;  // guarded by the GIL
  uint32_t key;
  std::memcpy(&key, &dtype, sizeof key);
  PyObject *&made = (*known)[key];
  if (!made) {
    opd_buffer *name = nullptr;
    if (opd_error *error = opd_dtype_to_string(dtype, &name)) return raise(error), nullptr;
    PyObject *text = text_of(name);
    if (!text || !dtype_class) return text;
    made = PyObject_CallFunctionObjArgs(dtype_class, text, nullptr);
    Py_DECREF(text);
    if (!made) return nullptr;
  }
  return Py_NewRef(made);
}

PyObject *from_device(DLDevice device) {
  static auto *known = new std::map<std::pair<int, int>, PyObject *>;
  PyObject *&made = (*known)[{device.device_type, device.device_id}];
  if (!made && device_class)
    made = PyObject_CallFunction(device_class, "ii", static_cast<int>(device.device_type),
                                 static_cast<int>(device.device_id));
  return Py_XNewRef(made);
}

PyObject *shape_of(const int64_t *dims, Py_ssize_t count) {
  PyObject *sizes = PyTuple_New(count);
  for (Py_ssize_t i = 0; sizes && i < count; ++i) PyTuple_SetItem(sizes, i, PyLong_FromLongLong(dims[i]));
  if (!sizes || !shape_class) return sizes;
  PyObject *shape = PyObject_CallFunctionObjArgs(shape_class, sizes, nullptr);
  Py_DECREF(sizes);
  return shape;
}

bool add_types(PyObject *module) {
  // Types and registered classes are global in the process. A second interpreter would replace those of the first one.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError, "opdyno runs in the main interpreter only, not in a subinterpreter");
    return false;
  }
  return add_handle_type(module) && add_collected_type(module) &&
         add_type(module, &function_spec, "FunctionBase", collected_type) &&
         add_type(module, &tensor_spec, "TensorBase", handle_type) && add_vm_function_type(module) &&
         add_record_function_type(module) && PyModule_AddFunctions(module, functions) == 0;
}

PyObject *arrow_capsule(ArrowArrayStream stream) {
  constexpr static const char *kName = "arrow_array_stream";
  auto made = std::make_unique<ArrowArrayStream>(stream);
  PyObject *capsule = PyCapsule_New(made.get(), kName, [](PyObject *c) {
    const std::unique_ptr<ArrowArrayStream> last(static_cast<ArrowArrayStream *>(PyCapsule_GetPointer(c, kName)));
    if (last->release) last->release(last.get());  // no release function: the consumer has moved the stream
  });
  if (capsule) made.release();
  else made->release(made.get());
  return capsule;
}

}  // namespace opdpy
