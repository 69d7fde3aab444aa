// Functions of a VM, as vm["name"]: called by position and by name.
#include "core.h"

namespace opdpy {
namespace {

struct VmFunction {
  PyObject_HEAD PyObject *vm, *name;
  const char *text;  // of name
};

// vm_call(vm, name, positional, named): named may be null.
PyObject *call_vm(PyObject *vm, const char *name, PyObject *positional, PyObject *named) {
  Arguments views;
  std::vector<const char *> names;
  for (Py_ssize_t i = 0; i < PyTuple_Size(positional); ++i)
    if (!views.add(PyTuple_GetItem(positional, i), static_cast<int>(i))) return nullptr;
  opd_call_options options;
  opd_call_options_init(&options);
  if (named && PyDict_Size(named)) {
    names.assign(static_cast<size_t>(views.size()), nullptr);
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(named, &at, &key, &value);) {
      names.push_back(PyUnicode_AsUTF8AndSize(key, nullptr));
      if (!names.back() || !views.add(value, views.size())) return nullptr;
    }
    options.names = names.data();
  }
  opd_value result = opd_none();
  opd_error *error;
  {
    const ReleasedGil released;
    error = opd_vm_call(static_cast<opd_vm *>(reinterpret_cast<Handle *>(vm)->pointer), name, views.data(),
                        views.size(), &options, &result);
  }
  if (!error) return from_value(result);
  raise(error);
  return nullptr;
}

PyObject *call(PyObject *self, PyObject *positional, PyObject *named) {
  auto *function = reinterpret_cast<VmFunction *>(self);
  return call_vm(function->vm, function->text, positional, named);
}

void deallocate(PyObject *self) {
  auto *function = reinterpret_cast<VmFunction *>(self);
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(function->vm);
  Py_XDECREF(function->name);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject *make(PyTypeObject *type, PyObject *args, PyObject *) {
  PyObject *vm, *name;
  if (!PyArg_ParseTuple(args, "OU", &vm, &name)) return nullptr;
  void *pointer = nullptr;
  if (to_handle(vm, kind_of("VirtualMachine"), "vm", &pointer)) return nullptr;
  const char *text = PyUnicode_AsUTF8AndSize(name, nullptr);
  PyObject *self = text && pointer ? PyType_GenericAlloc(type, 0) : nullptr;
  if (!self) return nullptr;
  auto *function = reinterpret_cast<VmFunction *>(self);
  function->vm = Py_NewRef(vm);
  function->name = Py_NewRef(name);
  function->text = text;
  return self;
}

PyObject *get_name(PyObject *self, void *) { return Py_NewRef(reinterpret_cast<VmFunction *>(self)->name); }
PyObject *get_vm(PyObject *self, void *) { return Py_NewRef(reinterpret_cast<VmFunction *>(self)->vm); }
PyGetSetDef properties[] = {{"name", get_name, nullptr, "The function's name.", nullptr},
                            {"vm", get_vm, nullptr, "The VM that runs it.", nullptr},
                            {}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                       {Py_tp_call, reinterpret_cast<void *>(call)},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char *>("What a function of a VM can do.")},
                       {0, nullptr}};
PyType_Spec spec = {"opdyno._native.VMFunctionBase", sizeof(VmFunction), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

bool add_vm_function_type(PyObject *module) {
  PyObject *type = PyType_FromSpec(&spec);
  const bool good = type && PyModule_AddObjectRef(module, "VMFunctionBase", type) == 0;
  Py_XDECREF(type);
  return good;
}

}  // namespace opdpy
