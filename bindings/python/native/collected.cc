// Lets Python's cycle collector see through native objects.
//
// If native code keeps a callable, its opd_function holds one reference to the callable. If only one handle keeps that
// function alive, the handle shows the callable to the collector as its own (tp_traverse), and releases the native
// object when the collector requests it (tp_clear). Several handles may keep one VM: the VM's own handle, and those of
// its functions and evaluators. The others have a Python reference to the VM's handle, which traverses for all of them.
//
// While a native call is running, counts may change between two visits of one collection. So handles show nothing to
// the collector then, and cycles through native objects stay until a later collection.
#include <algorithm>

#include "core.h"

namespace opdpy {

PyTypeObject *collected_type = nullptr;

namespace {

Collected *as_collected(PyObject *object) {
  return PyObject_TypeCheck(object, collected_type) ? reinterpret_cast<Collected *>(object) : nullptr;
}

struct Visitor {
  visitproc visit;
  void *arg;
  int result;
};

int traverse(PyObject *self, visitproc visit, void *arg) {
  auto *handle = reinterpret_cast<Collected *>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(handle->owner);
  if (handle->owner || !handle->pointer || ReleasedGil::calls()) return 0;
  std::vector<void *> roots{handle->pointer};
  if (handle->members)
    for (void *const *place : *handle->members) roots.push_back(*place);
  Visitor visitor{visit, arg, 0};
  opd_private_visit_exclusive(
      run_callback, roots.data(), roots.size(),
      [](void *callable, void *context) {
        auto *to = static_cast<Visitor *>(context);
        if (!to->result) to->result = to->visit(static_cast<PyObject *>(callable), to->arg);
      },
      &visitor);
  return visitor.result;
}

int clear(PyObject *self) {
  auto *handle = reinterpret_cast<Collected *>(self);
  if (handle->owner) leave_owner(handle->owner, &handle->pointer);
  if (void *pointer = std::exchange(handle->pointer, nullptr)) {
    // A destructor may run Python code, which must not disturb a pending exception.
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    handle->kind->release(pointer);
    PyErr_Restore(kind, value, trace);
  }
  return 0;
}

void deallocate(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  delete reinterpret_cast<Collected *>(self)->members;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                       {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {Py_tp_doc, const_cast<char *>("A native object that may keep Python's.")},
                       {0, nullptr}};
PyType_Spec spec = {"opdyno._native.CollectedHandle", sizeof(Collected), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

PyObject *join_owner(PyObject *owner, void *const *place) {
  Collected *vm = as_collected(owner);
  if (!vm) return nullptr;
  if (!vm->members) vm->members = new std::vector<void *const *>;
  vm->members->push_back(place);
  return Py_NewRef(owner);
}

void leave_owner(PyObject *&owner, void *const *place) {
  auto &members = *reinterpret_cast<Collected *>(owner)->members;
  members.erase(std::find(members.begin(), members.end(), place));
  Py_CLEAR(owner);
}

void set_owner(PyObject *object, PyObject *owner) {
  if (Collected *handle = as_collected(object); handle && !handle->owner && object != owner)
    handle->owner = join_owner(owner, &handle->pointer);
}

bool add_collected_type(PyObject *module) {
  PyObject *bases = PyTuple_Pack(1, handle_type);
  collected_type = reinterpret_cast<PyTypeObject *>(bases ? PyType_FromSpecWithBases(&spec, bases) : nullptr);
  Py_XDECREF(bases);
  return collected_type &&
         PyModule_AddObjectRef(module, "CollectedHandle", reinterpret_cast<PyObject *>(collected_type)) == 0;
}

}  // namespace opdpy
