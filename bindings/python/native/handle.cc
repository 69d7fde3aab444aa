// Handles as Python objects. Each class of handles in the package derives from Handle and is registered for its kind.
#include <map>

#include "core.h"

namespace opdpy {

PyTypeObject *handle_type = nullptr;

Kind *kind_of(const char *name) {
  static auto *kinds = new std::map<std::string, std::unique_ptr<Kind>>;
  auto &kind = (*kinds)[name];
  if (!kind) {
    kind = std::make_unique<Kind>();
    kind->release = opd_object_release;
  }
  kind->name = kinds->find(name)->first.c_str();
  return kind.get();
}

PyObject *new_handle(Kind *kind, void *pointer) {
  if (!pointer) Py_RETURN_NONE;
  auto *type = kind->python_class ? reinterpret_cast<PyTypeObject *>(kind->python_class) : handle_type;
  PyObject *object = PyType_GenericAlloc(type, 0);
  if (!object) {
    kind->release(pointer);
    return nullptr;
  }
  auto *handle = reinterpret_cast<Handle *>(object);
  handle->pointer = pointer;
  handle->kind = kind;
  return object;
}

bool check_loan(const void *tensor) {
  if (!opd_tensor_has_ended(static_cast<const opd_tensor *>(tensor))) [[likely]]
    return true;
  PyErr_SetString(PyExc_RuntimeError, "the tensor was lent for a call that has ended; copy what is to be kept");
  return false;
}

int to_handle(PyObject *object, const Kind *kind, const char *what, void **out_pointer) {
  *out_pointer = nullptr;
  if (object == Py_None) return 0;
  const Handle *handle = as_handle(object);
  if (handle && handle->kind == kind && handle->pointer) {
    *out_pointer = handle->pointer;
    static const Kind *const tensor = kind_of("Tensor");
    return kind != tensor || check_loan(handle->pointer) ? 0 : -1;
  }
  PyObject *type = PyType_GetName(Py_TYPE(object));
  if (type) PyErr_Format(PyExc_TypeError, "%s must be %s, not %U", what, kind->name, type);
  Py_XDECREF(type);
  return -1;
}

namespace {

void deallocate(PyObject *self) {
  auto *handle = reinterpret_cast<Handle *>(self);
  PyTypeObject *type = Py_TYPE(self);
  if (handle->pointer) {
    // A destructor may run Python code, which must not disturb a pending exception.
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    handle->kind->release(handle->pointer);
    PyErr_Restore(kind, value, trace);
  }
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject *compare(PyObject *a, PyObject *b, int op) {
  const Handle *x = as_handle(a), *y = as_handle(b);
  if (!x || !y || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((x->pointer == y->pointer) == (op == Py_EQ));
}

Py_hash_t hash(PyObject *self) {
  const auto address = reinterpret_cast<uintptr_t>(reinterpret_cast<Handle *>(self)->pointer);
  return static_cast<Py_hash_t>(address >> 4);
}

PyObject *address_of(PyObject *self, void *) { return PyLong_FromVoidPtr(reinterpret_cast<Handle *>(self)->pointer); }

PyGetSetDef properties[] = {{"_address", address_of, nullptr, "The address of the native object.", nullptr}, {}};

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                       {Py_tp_richcompare, reinterpret_cast<void *>(compare)},
                       {Py_tp_hash, reinterpret_cast<void *>(hash)},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char *>("A native object of opdyno.")},
                       {0, nullptr}};
PyType_Spec spec = {"opdyno._native.Handle", sizeof(Handle), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

bool add_handle_type(PyObject *module) {
  handle_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return handle_type && PyModule_AddObjectRef(module, "Handle", reinterpret_cast<PyObject *>(handle_type)) == 0;
}

}  // namespace opdpy
