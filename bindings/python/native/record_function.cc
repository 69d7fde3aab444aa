// opdyno.profiler.record_function: a range of the program, as a context manager and a decorator. It is often used
// around short, frequent code while no profiler records. So it is native, and looks names up by the addresses of their
// texts.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <cstddef>

#include "core.h"

namespace opdpy {
namespace {

// The type of `range.__enter__` and `range.__exit__`, which each `with` statement reads. Python would make new method
// objects each time, which takes longer than all other work. These objects are members of the range, and keep it alive
// while they are in use.
struct Method {
  PyObject_HEAD PyObject *(*call)(PyObject *, PyObject *const *, size_t, PyObject *);
  bool in_use;
};

struct Range {
  PyObject_HEAD PyObject *weak;  // weak references to the range
  PyObject *name, *args;         // exactly str, so cycles are impossible; the name is null before __init__()
  bool is_known;                 // whether `id` is the number of name and args
  uint32_t id;
  // The open ranges of this object: the first one, and those that began within it. Includes ranges that are not
  // recorded.
  uint32_t depth;
  uint64_t first;
  std::vector<uint64_t> *inner;
  Method enter, exit;
};

PyTypeObject *range_type = nullptr, *method_type = nullptr, *descriptor_type = nullptr;

Range &as_range(PyObject *object) { return *reinterpret_cast<Range *>(object); }

// ---- numbers of names

// An entry in the cache of recent names, which are found by address. Most names are constants of a program, so each new
// object has the same text object. The cache has two entries for each slot. It holds the texts, so their addresses are
// not reused. Long texts are not cached. The GIL guards it.
struct Known {
  PyObject *name, *args;
  uint32_t id;
};
constexpr size_t kPlaces = 128;
constexpr Py_ssize_t kLongest = 256;
Known known[kPlaces][2];

Known *place_of(PyObject *name, PyObject *args) {
  const uint64_t key = reinterpret_cast<uintptr_t>(name) + 3 * reinterpret_cast<uintptr_t>(args);
  return known[((key >> 4) * 0x9E3779B97F4A7C15u) >> 57];
}
static_assert(kPlaces == 1u << (64 - 57));

bool find(PyObject *name, PyObject *args, uint32_t *id) {
  const Known *place = place_of(name, args);
  for (int i = 0; i < 2; ++i)
    if (place[i].name == name && place[i].args == args) return *id = place[i].id, true;
  return false;
}

void remember(PyObject *name, PyObject *args, uint32_t id) {
  if (PyUnicode_GetLength(name) > kLongest || (args && PyUnicode_GetLength(args) > kLongest)) return;
  Known *place = place_of(name, args);
  Py_XDECREF(place[1].name);
  Py_XDECREF(place[1].args);
  place[1] = place[0];
  place[0] = {Py_NewRef(name), Py_XNewRef(args), id};
}

const char *name_for_c(PyObject *name) { return text_for_c(name, "the name of a range"); }
const char *args_for_c(PyObject *args) { return text_for_c(args, "the args of a range"); }

bool find_or_make_id(Range &range) {
  if (range.is_known) return true;
  if (!range.name) return PyErr_SetString(PyExc_RuntimeError, "the range has no name: call __init__()"), false;
  if (!find(range.name, range.args, &range.id)) {
    PyObject *text = range.args ? PyUnicode_FromFormat("%U(%U)", range.name, range.args) : Py_NewRef(range.name);
    const char *for_c = text ? name_for_c(text) : nullptr;
    if (for_c) range.id = opd_range_name(for_c);
    Py_XDECREF(text);
    if (!for_c) return false;
    remember(range.name, range.args, range.id);
  }
  return range.is_known = true;
}

// ---- the object

// Converts an argument that `for_c` accepts to exactly str. Returns a new reference, or null with an exception.
PyObject *exact_text(PyObject *text, const char *(*for_c)(PyObject *)) {
  if (!for_c(text)) return nullptr;
  return PyUnicode_CheckExact(text) ? Py_NewRef(text) : PyUnicode_FromObject(text);
}

// Sets the name and the arguments of a range. `args` may be null.
bool set_texts(Range &range, PyObject *name, PyObject *args) {
  uint32_t id = 0;
  const bool is_known = find(name, args, &id);  // known texts have the right type
  PyObject *const new_name = is_known ? Py_NewRef(name) : exact_text(name, name_for_c);
  if (!new_name) return false;
  PyObject *const new_args = is_known || !args ? Py_XNewRef(args) : exact_text(args, args_for_c);
  if (args && !new_args) return Py_DECREF(new_name), false;
  Py_XDECREF(std::exchange(range.name, new_name));
  Py_XDECREF(std::exchange(range.args, new_args));
  range.id = id;
  range.is_known = is_known;
  return true;
}

int initialize(PyObject *self, PyObject *positional, PyObject *named) {
  PyObject *name = nullptr, *args = nullptr;
  const Py_ssize_t count = PyTuple_Size(positional);
  if (!named && count >= 1 && count <= 2) {
    name = PyTuple_GetItem(positional, 0);
    if (count == 2) args = PyTuple_GetItem(positional, 1);
  } else {
    static const char *const names[] = {"name", "args", nullptr};
    if (!PyArg_ParseTupleAndKeywords(positional, named, "O|O:record_function", const_cast<char **>(names), &name,
                                     &args))
      return -1;
  }
  return set_texts(as_range(self), name, args == Py_None ? nullptr : args) ? 0 : -1;
}

// The free list of objects. All bytes of a free object are zero except its head, which keeps the reference to the type.
constexpr int kMostFree = 16;
PyObject *free_ranges[kMostFree];
int num_free = 0;

PyObject *allocate(PyTypeObject *type, PyObject *, PyObject *) {
  if (type != range_type || num_free == 0) return PyType_GenericAlloc(type, 0);
  PyObject *const again = free_ranges[--num_free];
  Py_SET_REFCNT(again, 1);
  return again;
}

void deallocate(PyObject *self) {
  Range &range = as_range(self);
  PyTypeObject *type = Py_TYPE(self);
  if (range.weak) PyObject_ClearWeakRefs(self);
  Py_XDECREF(std::exchange(range.name, nullptr));
  Py_XDECREF(std::exchange(range.args, nullptr));
  if (range.inner) delete std::exchange(range.inner, nullptr);
  if (type == range_type && num_free < kMostFree) {
    range.depth = 0;
    range.is_known = false;
    free_ranges[num_free++] = self;
    return;
  }
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject *get_name(PyObject *self, void *) {
  PyObject *name = as_range(self).name;
  if (!name) PyErr_SetString(PyExc_AttributeError, "name");
  return Py_XNewRef(name);
}
int set_name(PyObject *self, PyObject *name, void *) {
  if (name) return set_texts(as_range(self), name, as_range(self).args) ? 0 : -1;
  return PyErr_SetString(PyExc_AttributeError, "a range has a name"), -1;
}
PyObject *get_args(PyObject *self, void *) {
  PyObject *args = as_range(self).args;
  return Py_NewRef(args ? args : Py_None);
}
int set_args(PyObject *self, PyObject *args, void *) {
  Range &range = as_range(self);
  if (!range.name) return PyErr_SetString(PyExc_AttributeError, "name"), -1;
  return set_texts(range, range.name, args == Py_None ? nullptr : args) ? 0 : -1;
}

// ---- the range

PyObject *enter(PyObject *self, PyObject *) {
  Range &range = as_range(self);
  // While no profiler records, names get no numbers. Otherwise names that differ for each request would fill the table
  // of names.
  const bool is_recorded = opd_range_is_recorded() || !range.name;
  if (is_recorded && !find_or_make_id(range)) return nullptr;
  if (range.depth > 0) try {  // allocates first: if this fails, no range has begun
      if (!range.inner) range.inner = new std::vector<uint64_t>;
      range.inner->resize(range.depth);
    } catch (const std::bad_alloc &) { return PyErr_NoMemory(); }
  PythonStack stack;
  if (is_recorded) stack.push();
  (range.depth > 0 ? range.inner->back() : range.first) = is_recorded ? opd_range_begin(range.id) : 0;
  stack.pop();
  ++range.depth;
  return Py_NewRef(self);
}

PyObject *exit(PyObject *self, PyObject *const *, Py_ssize_t) {
  Range &range = as_range(self);
  if (range.depth == 0) return PyErr_SetString(PyExc_RuntimeError, "the range has not begun: enter it first"), nullptr;
  const uint64_t begun = --range.depth > 0 ? (*range.inner)[range.depth - 1] : range.first;
  if (begun) opd_range_end(begun);
  Py_RETURN_NONE;
}

// ---- its methods

template <Method Range::*method>
PyObject *range_of(PyObject *self) {
  constexpr size_t kPlace = method == &Range::enter ? offsetof(Range, enter) : offsetof(Range, exit);
  return reinterpret_cast<PyObject *>(reinterpret_cast<char *>(self) - kPlace);
}

bool has_none(size_t count, PyObject *names) {
  if (count == 0 && !(names && PyTuple_Size(names))) return true;
  return PyErr_SetString(PyExc_TypeError, "__enter__() takes no arguments"), false;
}
bool has_no_names(PyObject *names) {
  if (!names || PyTuple_Size(names) == 0) return true;
  return PyErr_SetString(PyExc_TypeError, "__exit__() takes no keyword arguments"), false;
}

constexpr size_t kCount = SIZE_MAX >> 1;  // all bits except PY_VECTORCALL_ARGUMENTS_OFFSET
PyObject *call_enter(PyObject *self, PyObject *const *, size_t count, PyObject *names) {
  return has_none(count & kCount, names) ? enter(range_of<&Range::enter>(self), nullptr) : nullptr;
}
PyObject *call_exit(PyObject *self, PyObject *const *, size_t, PyObject *names) {
  return has_no_names(names) ? exit(range_of<&Range::exit>(self), nullptr, 0) : nullptr;
}

// Called by callers that do not use vectorcalls.
PyObject *call_method(PyObject *self, PyObject *positional, PyObject *named) {
  if (named && PyDict_Size(named))
    return PyErr_SetString(PyExc_TypeError, "a range takes no keyword arguments here"), nullptr;
  return reinterpret_cast<Method *>(self)->call(self, nullptr, static_cast<size_t>(PyTuple_Size(positional)), nullptr);
}

bool is_enter(PyObject *method) { return reinterpret_cast<Method *>(method)->call == call_enter; }
PyObject *range_of(PyObject *method) {
  return is_enter(method) ? range_of<&Range::enter>(method) : range_of<&Range::exit>(method);
}

void leave_method(PyObject *self) {
  PyObject *range = range_of(self);
  reinterpret_cast<Method *>(self)->in_use = false;
  Py_DECREF(range);
}

PyObject *get_self(PyObject *self, void *) { return Py_NewRef(range_of(self)); }
PyObject *get_method_name(PyObject *self, void *) {
  return PyUnicode_FromString(is_enter(self) ? "__enter__" : "__exit__");
}
PyGetSetDef method_properties[] = {
    {"__self__", get_self, nullptr, nullptr, nullptr}, {"__name__", get_method_name, nullptr, nullptr, nullptr}, {}};

constexpr unsigned long kHasVectorcall = 1ul << 11;  // Py_TPFLAGS_HAVE_VECTORCALL, which the stable API has since 3.12
PyMemberDef method_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Method, call), READONLY, nullptr}, {}};
PyType_Slot method_slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(leave_method)},
                              {Py_tp_call, reinterpret_cast<void *>(call_method)},
                              {Py_tp_members, method_members},
                              {Py_tp_getset, method_properties},
                              {0, nullptr}};
PyType_Spec method_spec = {"opdyno._native.RangeMethod", sizeof(Method), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | kHasVectorcall, method_slots};

// The type of the descriptors `__enter__` and `__exit__`.
struct Descriptor {
  PyObject_HEAD PyObject *plain;  // for the type and for subclasses, whose cycles the collector must see
  bool is_enter;
};
descrgetfunc get_plain = nullptr;

PyObject *get_method(PyObject *self, PyObject *object, PyObject *type) {
  const auto &descriptor = *reinterpret_cast<Descriptor *>(self);
  if (!object) return Py_NewRef(descriptor.plain);
  if (Py_TYPE(object) != range_type) return get_plain(descriptor.plain, object, type);
  Range &range = as_range(object);
  Method &method = descriptor.is_enter ? range.enter : range.exit;
  auto *made = reinterpret_cast<PyObject *>(&method);
  if (method.in_use) return Py_NewRef(made);
  Py_SET_TYPE(made, method_type);  // without a new reference, because this type is never freed
  Py_SET_REFCNT(made, 1);
  method.call = descriptor.is_enter ? call_enter : call_exit;
  method.in_use = true;
  Py_INCREF(object);
  return made;
}
PyType_Slot descriptor_slots[] = {{Py_tp_descr_get, reinterpret_cast<void *>(get_method)}, {0, nullptr}};
PyType_Spec descriptor_spec = {"opdyno._native.RangeMethodDescriptor", sizeof(Descriptor), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, descriptor_slots};

// Replaces the usual descriptor, which makes a new object each time, by one that returns a Method.
bool replace_method(const char *name, bool is_enter) {
  auto *type = reinterpret_cast<PyObject *>(range_type);
  PyObject *plain = PyObject_GetAttrString(type, name);
  PyObject *made = plain ? PyType_GenericAlloc(descriptor_type, 0) : nullptr;
  if (!made) return Py_XDECREF(plain), false;
  get_plain = reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(plain), Py_tp_descr_get));
  reinterpret_cast<Descriptor *>(made)->plain = plain;
  reinterpret_cast<Descriptor *>(made)->is_enter = is_enter;
  const bool good = PyObject_SetAttrString(type, name, made) == 0;
  Py_DECREF(made);
  return good;
}

// ---- the type

// Decorates a function by contextlib.ContextDecorator. This calls recreate() for each call, because a function may run
// on several threads.
PyObject *decorate(PyObject *self, PyObject *positional, PyObject *named) {
  PyObject *function;
  static const char *const names[] = {"func", nullptr};
  if (!PyArg_ParseTupleAndKeywords(positional, named, "O:record_function", const_cast<char **>(names), &function))
    return nullptr;
  PyObject *module = PyImport_ImportModule("contextlib");
  PyObject *type = module ? PyObject_GetAttrString(module, "ContextDecorator") : nullptr;
  PyObject *decorated = type ? PyObject_CallMethod(type, "__call__", "OO", self, function) : nullptr;
  Py_XDECREF(type);
  Py_XDECREF(module);
  return decorated;
}

PyObject *recreate(PyObject *self, PyObject *) {
  Range &range = as_range(self);
  if (!range.name && !find_or_make_id(range)) return nullptr;  // the exception says what is wrong
  PyObject *made = allocate(range_type, nullptr, nullptr);
  if (!made) return nullptr;
  Range &fresh = as_range(made);
  fresh.name = Py_NewRef(range.name);
  fresh.args = Py_XNewRef(range.args);
  fresh.id = range.id;
  fresh.is_known = range.is_known;
  return made;
}

PyObject *reduce(PyObject *self, PyObject *) {  // for copy and pickle
  const Range &range = as_range(self);
  if (!range.name) return get_name(self, nullptr);
  return Py_BuildValue("O(OO)", Py_TYPE(self), range.name, range.args ? range.args : Py_None);
}

PyMethodDef methods[] = {{"__enter__", enter, METH_NOARGS, "__enter__($self, /)\n--\n\nBegins the range."},
                         {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(exit)), METH_FASTCALL,
                          "__exit__($self, /, *exception)\n--\n\nEnds the range that began last. Exceptions pass."},
                         {"_recreate_cm", recreate, METH_NOARGS, "Another one, for one call of a decorated function."},
                         {"__reduce__", reduce, METH_NOARGS, nullptr},
                         {}};
PyGetSetDef properties[] = {{"name", get_name, set_name, "The text that a trace shows.", nullptr},
                            {"args", get_args, set_args, "A text after the name, in parentheses; or None.", nullptr},
                            {}};
PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(Range, weak), READONLY, nullptr}, {}};

constexpr const char *kText =
    "record_function(name, args=None)\n--\n\n"
    "Marks a range of the program: a context manager or a decorator. Ranges of a thread are nested.\n\n"
    "One object may be entered again, also within itself. Use one object on one thread at a time. `args` is a text "
    "that is shown after\nthe name.";

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(allocate)},
                       {Py_tp_init, reinterpret_cast<void *>(initialize)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                       {Py_tp_call, reinterpret_cast<void *>(decorate)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char *>(kText)},
                       {0, nullptr}};
PyType_Spec spec = {"opdyno.profiler.record_function", sizeof(Range), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

bool add_record_function_type(PyObject *module) {
  method_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&method_spec));
  descriptor_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&descriptor_spec));
  range_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  return method_type && descriptor_type && range_type && replace_method("__enter__", true) &&
         replace_method("__exit__", false) &&
         PyModule_AddObjectRef(module, "record_function", reinterpret_cast<PyObject *>(range_type)) == 0;
}

}  // namespace opdpy
