// Functions of a VM, vm["name"], which can be called with positional and with named arguments.
#include "core.h"

namespace opdpy {
namespace {

struct VmFunction {
  PyObject_HEAD PyObject *vm, *name;
  const char *text;  // the name as a C string
  void *function;    // the bound opd_function, for calls with positional arguments only
};

opd_error *call_named(const VmFunction &self, Arguments &views, std::vector<const char *> &names, opd_value *out) {
  opd_call_options options;
  opd_call_options_init(&options);
  options.names = names.data();
  auto *vm = static_cast<opd_vm *>(reinterpret_cast<Handle *>(self.vm)->pointer);
  return opd_vm_call(vm, self.text, views.data(), views.size(), &options, out);
}

PyObject *call(PyObject *object, PyObject *positional, PyObject *named) {
  const auto &self = *reinterpret_cast<VmFunction *>(object);
  if (!self.function) return PyErr_SetString(PyExc_ReferenceError, "the function was collected as garbage"), nullptr;
  Arguments views;
  const Py_ssize_t count = PyTuple_Size(positional);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!views.add(PyTuple_GetItem(positional, i), static_cast<int>(i))) return nullptr;
  std::vector<const char *> names;
  if (named && PyDict_Size(named)) {
    names.assign(static_cast<size_t>(count), nullptr);
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(named, &at, &key, &value);) {
      names.push_back(text_for_c(key, "a parameter's name"));
      if (!names.back() || !views.add(value, views.size())) return nullptr;
    }
  }
  opd_value result = opd_none();
  opd_error *error;
  {
    const ReleasedGil released;
    error = names.empty()
                ? opd_function_call(static_cast<opd_function *>(self.function), views.data(), views.size(), &result)
                : call_named(self, views, names, &result);
  }
  if (error) return raise(error), nullptr;
  PyObject *object_of_result = from_value(result);
  if (result.type == OPD_FUNCTION && object_of_result) set_owner(object_of_result, self.vm);  // a closure
  return object_of_result;
}

int traverse(PyObject *self, visitproc visit, void *arg) {  // the VM's handle traverses the native objects
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<VmFunction *>(self)->vm);
  return 0;
}

int clear(PyObject *self) {
  auto *function = reinterpret_cast<VmFunction *>(self);
  if (function->vm) leave_owner(function->vm, &function->function);
  if (void *native = std::exchange(function->function, nullptr))
    opd_function_release(static_cast<opd_function *>(native));
  return 0;
}

void deallocate(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  Py_XDECREF(reinterpret_cast<VmFunction *>(self)->name);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject *make(PyTypeObject *type, PyObject *args, PyObject *) {
  PyObject *vm, *name;
  if (!PyArg_ParseTuple(args, "OO", &vm, &name)) return nullptr;
  void *pointer = nullptr;
  if (to_handle(vm, kind_of("VirtualMachine"), "vm", &pointer)) return nullptr;
  const char *text = text_for_c(name, "a function's name");
  opd_function *bound = nullptr;
  if (!text) return nullptr;
  if (opd_error *error = opd_vm_get_function(static_cast<opd_vm *>(pointer), text, &bound))
    return raise(error), nullptr;
  PyObject *self = PyType_GenericAlloc(type, 0);
  if (!self) return opd_function_release(bound), nullptr;
  auto *function = reinterpret_cast<VmFunction *>(self);
  function->name = Py_NewRef(name);
  function->text = text;
  function->function = bound;
  function->vm = join_owner(vm, &function->function);
  return self;
}

PyObject *get_name(PyObject *self, void *) { return Py_NewRef(reinterpret_cast<VmFunction *>(self)->name); }
PyObject *get_vm(PyObject *self, void *) {
  PyObject *vm = reinterpret_cast<VmFunction *>(self)->vm;
  return Py_NewRef(vm ? vm : Py_None);
}
PyGetSetDef properties[] = {{"name", get_name, nullptr, "The function's name.", nullptr},
                            {"vm", get_vm, nullptr, "The VM that runs it.", nullptr},
                            {}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                       {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {Py_tp_call, reinterpret_cast<void *>(call)},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char *>("What a function of a VM can do.")},
                       {0, nullptr}};
PyType_Spec spec = {"opdyno._native.VMFunctionBase", sizeof(VmFunction), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

bool add_vm_function_type(PyObject *module) {
  PyObject *type = PyType_FromSpec(&spec);
  const bool good = type && PyModule_AddObjectRef(module, "VMFunctionBase", type) == 0;
  Py_XDECREF(type);
  return good;
}

}  // namespace opdpy
