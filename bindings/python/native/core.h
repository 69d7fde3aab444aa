// Declarations of the Python binding's native code, which SWIG's typemaps use: handles as Python objects, conversion of
// values, errors as exceptions, the GIL, callbacks, options, signals and stacks. It uses the Limited API of Python
// 3.11.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>
#include <opdyno/opdyno.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "capi/exclusive.h"
#include "options.h"

namespace opdpy {

// ---- handles: native/handle.cc

struct Kind {        // a kind of handle
  const char *name;  // the name of the Python class
  void (*release)(void *handle);
  PyObject *python_class = nullptr;  // set by register_class()
};
struct Handle {
  PyObject_HEAD void *pointer;  // null: the handle is not usable yet
  Kind *kind;
};

// A handle whose native object may keep Python callables, which may refer to the handle. It supports the cycle
// collector; see native/collected.cc.
struct Collected : Handle {
  PyObject *owner;                      // the VM's handle if the object keeps a VM, else null; see set_owner()
  std::vector<void *const *> *members;  // owner only: the addresses of its members' native references
};

extern PyTypeObject *handle_type, *collected_type;
Kind *kind_of(const char *name);  // there is one for each name, made at its first use
template <class T>
Kind *add_kind(const char *name, void (*release)(T *)) {
  Kind *kind = kind_of(name);
  kind->release = reinterpret_cast<void (*)(void *)>(release);
  return kind;
}

inline Handle *as_handle(PyObject *object) {
  return PyObject_TypeCheck(object, handle_type) ? reinterpret_cast<Handle *>(object) : nullptr;
}
PyObject *new_handle(Kind *kind, void *pointer);  // takes ownership of the reference, even if it fails
// Converts an object to a handle; None becomes null. Returns -1 with a TypeError, or with a RuntimeError for a tensor
// whose loan has ended.
int to_handle(PyObject *object, const Kind *kind, const char *what, void **out_pointer);

// Returns false with a RuntimeError if the native tensor was lent for a call that has ended.
bool check_loan(const void *tensor);

// Tells the collector that the native object whose reference is at `place` keeps the VM of the handle `owner`. Returns
// a new reference to the owner, or null if `owner` is not such a handle. leave_owner() reverts this.
PyObject *join_owner(PyObject *owner, void *const *place);
void leave_owner(PyObject *&owner, void *const *place);
void set_owner(PyObject *object, PyObject *owner);  // `object` is a Collected; call only once

// ---- values: native/values.cc

struct BufferView {  // a tensor argument whose memory is a Python buffer
  Py_buffer buffer;
  DLTensor tensor;
  int64_t strides[8];
  std::unique_ptr<int64_t[]> more_strides;
  explicit BufferView(const Py_buffer &taken);
  BufferView(const BufferView &) = delete;
  ~BufferView() { PyBuffer_Release(&buffer); }
};

// How the elements of a read-only buffer (an array with flags.writeable = False) are passed to a function.
enum class ReadOnly : bool {
  kMarked,  // as a tensor with the read-only flag, which a function that may write refuses
  kViewed,  // as a plain view, for a callee that copies its arguments, like a VM
};

// Arguments that view Python objects, and the objects that must live as long as the views.
class Arguments {
 public:
  explicit Arguments(ReadOnly read_only = ReadOnly::kViewed) : read_only_(read_only) {}
  Arguments(const Arguments &) = delete;
  ~Arguments() {
    for (auto &value : owned_) opd_value_release(&value);
    for (PyObject *object : held_) Py_DECREF(object);
  }
  // Returns false with an exception. The exception names the argument by its index `what`, unless `what` is negative.
  bool add(PyObject *object, int what = -1);
  bool add_all(PyObject *sequence);
  const opd_value *data() const { return count_ ? (more_.empty() ? few_ : more_.data()) : nullptr; }
  int32_t size() const { return static_cast<int32_t>(count_); }
  bool view(PyObject *object, opd_value *out, int what = -1);

 private:
  bool view_nested(PyObject *object, opd_value *out, int what);
  bool view_container(PyObject *object, opd_value *out);
  bool view_other(PyObject *object, opd_value *out, int what);
  bool view_buffer(PyObject *object, opd_value *out);
  bool view_vouched(PyObject *object, opd_value *out, int what);
  bool keep(opd_error *error, opd_value made, opd_value *out);

  static constexpr size_t kFew = 8;
  opd_value few_[kFew];
  std::vector<opd_value> more_;
  size_t count_ = 0;
  const ReadOnly read_only_;
  int depth_ = 0;  // nesting depth of the container that is being converted
  std::vector<opd_value> owned_;
  std::vector<PyObject *> held_;
  std::vector<std::unique_ptr<BufferView>> buffers_;
  struct ByteView {
    const char *data;
    size_t size;
  };
  std::vector<std::unique_ptr<ByteView>> bytes_;
};

PyObject *from_value(opd_value value);        // takes ownership of the value, even if it fails
PyObject *from_view(const opd_value &value);  // borrows the value
PyObject *text_of(opd_buffer *buffer);        // these functions take ownership of the buffer
PyObject *bytes_of(opd_buffer *buffer);
bool buffer_to_dltensor(PyObject *object, std::unique_ptr<BufferView> &out);  // false without an exception: no buffer
bool from_dlpack(PyObject *object, opd_tensor **out_tensor);                  // returns false with an exception
// Makes a tensor that shares the elements of a buffer or of an object with DLPack. Returns false with an exception.
bool shared_tensor(PyObject *object, opd_tensor **out_tensor);
// Makes a tensor of the buffer's memory, which it keeps. If the buffer is read-only, the tensor is, too. Returns false
// with an exception.
bool tensor_of_buffer(std::unique_ptr<BufferView> buffer, opd_tensor **out_tensor);

// Plain types of the package, in native/types.cc. `is_` functions test for the package's own class. `to_` functions
// accept objects that can be converted to the type, or set an exception.
bool is_dtype(PyObject *object);
bool is_vouched(PyObject *object);  // opdyno.reads_only(array)
bool is_device(PyObject *object);
bool is_shape(PyObject *object);
bool to_dtype(PyObject *object, DLDataType *out);
bool to_device(PyObject *object, DLDevice *out);
PyObject *from_dtype(DLDataType dtype);
PyObject *from_device(DLDevice device);
PyObject *shape_of(const int64_t *dims, Py_ssize_t count);
// Text for C, borrowed from the object. Returns null with a TypeError, or with a ValueError for a NUL character, which
// would end the text in C. `what` names the text in messages.
const char *text_for_c(PyObject *object, const char *what);
bool to_text(PyObject *object, const char *what, const char **out);  // like text_for_c(), but None becomes null
bool to_handles(PyObject *sequence, const Kind *kind, const char *what, std::vector<void *> &out);  // like to_text()
bool to_texts(PyObject *sequence, std::vector<const char *> &out, const char *what);  // borrowed from the items

bool to_signatures(PyObject *dict, std::vector<const char *> &names, std::vector<const char *> &signatures);
bool to_pointer(PyObject *object, void **out);     // an int, c_void_p, Handle or None
DLTensor *dltensor_of(const opd_value &view);      // null if the value is not a tensor
PyObject *arrow_capsule(ArrowArrayStream stream);  // takes ownership of the stream, even if it fails

// ---- numbers: native/numbers.cc

// Convert Python numbers to C numbers. Return false with a TypeError for an object that is not a number, or with an
// OverflowError for a number that does not fit. `what` names the number in messages.
bool to_integer(PyObject *object, const char *what, int64_t low, uint64_t high, uint64_t *out);
bool to_number(PyObject *object, const char *what, double *out);
template <class T>
bool to_number(PyObject *object, const char *what, T *out) {
  using Number = std::conditional_t<std::is_enum_v<T>, std::type_identity<int32_t>, std::type_identity<T>>::type;
  using Limits = std::numeric_limits<Number>;
  uint64_t bits;
  if (!to_integer(object, what, Limits::min(), Limits::max(), &bits)) return false;
  *out = static_cast<T>(static_cast<Number>(bits));
  return true;
}
template <class T>
bool to_item(PyObject *object, const char *list, size_t index, T *out) {
  return to_number(object, (std::string(list) + "[" + std::to_string(index) + "]").c_str(), out);
}
bool to_dims(PyObject *object, const char *what, std::vector<int64_t> &out);  // a sequence of int, or one int

class Bytes {  // text or a buffer of bytes
 public:
  Bytes() = default;
  Bytes(const Bytes &) = delete;
  ~Bytes() {
    if (taken_) PyBuffer_Release(&buffer_);
  }
  bool read(PyObject *object);
  const char *data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const char *data_ = nullptr;
  size_t size_ = 0;
  bool taken_ = false;
  Py_buffer buffer_;
};

// ---- errors: native/errors.cc

void raise(opd_error *error);     // sets the exception; takes ownership of the error
opd_error *error_of_exception();  // takes the pending exception; raise() of the error raises it again

// ---- the GIL in native code: native/interrupts.cc

// Runs code that takes the GIL, or Python code, which takes the GIL from time to time. While the interpreter ends,
// CPython up to 3.13 ends a thread that takes the GIL by unwinding its stack. The unwinding passes frames whose
// destructors use Python, and noexcept functions, which abort the process. So such a thread waits here for the end of
// the process, as in CPython 3.14.
template <class Body>
auto or_wait_for_exit(Body body) {
  try {
    return body();
  } catch (const abi::__forced_unwind &) {  // the unwinding ends here, because this handler never returns
    for (;;) pause();
  }
}

// Take the GIL: with a state of this thread, or with one that is made if necessary.
void take_gil(PyThreadState *state) noexcept;
PyGILState_STATE take_gil() noexcept;

// The state of a thread that has released the GIL to call native code. A callback takes the GIL with it again.
extern thread_local PyThreadState *waiting_state __attribute__((tls_model("initial-exec")));

// ---- callbacks: native/callbacks.cc

opd_error *run_callback(void *callable, const opd_value *args, int32_t num_args, opd_value *out_result);
class Gil {  // holds the GIL on a thread of native code
 public:
  Gil() : own_(std::exchange(waiting_state, nullptr)) {
    if (own_) take_gil(own_);  // the thread came from Python
    else state_ = take_gil();
  }
  ~Gil() {
    if (own_) waiting_state = PyEval_SaveThread();
    else PyGILState_Release(state_);
  }

 private:
  PyThreadState *const own_;
  PyGILState_STATE state_;
};

template <class Body>
auto with_gil(Body body) {
  const Gil gil;
  return or_wait_for_exit(body);
}

bool to_callback(PyObject *callable, opd_packed_fn *fn, void **user_data, opd_deleter *deleter);
bool to_log_callback(PyObject *callable, opd_log_fn *fn, void **user_data, opd_deleter *deleter);
// Makes a collector from a Python object, and keeps the object. It has the methods _init(devices), _start(device),
// which returns a state or None, and _stop(state), which returns (name, kind, value) for each metric.
class CollectorTable {
 public:
  CollectorTable() = default;
  CollectorTable(const CollectorTable &) = delete;
  ~CollectorTable() { Py_XDECREF(object_); }
  opd_collector_table *of(PyObject *object);
  void taken_over() { object_ = nullptr; }

 private:
  PyObject *object_ = nullptr;
  opd_collector_table table_{};
};
bool function_of(PyObject *callable, opd_function **out_function);

// ---- options: native/options.cc

// Reads a dict into a struct of options that has its defaults. Pointers in the struct are valid as long as this object
// exists.
class Options {
 public:
  bool read(PyObject *dict, const opdrules::Fields &fields, const char *what, void *options);

 private:
  bool read_field(PyObject *value, const opdrules::Field &field, void *options);
  opdrules::Lists lists_;
};

// ---- signals: native/interrupts.cc

PyObject *watch_signals(PyObject *, PyObject *);

// ---- the Python stack: native/python_stack.cc

std::vector<opd_stack_frame>
python_stack();  // the stack of the calling thread, which holds the GIL; empty while an exception is set

// Reports the Python stack to profilers while it exists. The constructor is inlined, because its caller's address is
// used.
class PythonStack {
 public:
  PythonStack() = default;
  PythonStack(const PythonStack &) = delete;
  [[gnu::always_inline]] void push() {
    if (!opd_stack_is_recorded()) [[likely]]
      return;
    const std::vector<opd_stack_frame> frames = python_stack();
    opd_stack_push(frames.data(), static_cast<int32_t>(frames.size()));
    is_pushed_ = true;
  }
  void pop() {
    if (std::exchange(is_pushed_, false)) opd_stack_pop();
  }

 private:
  bool is_pushed_ = false;
};

// Releases the GIL while it exists, so that other Python threads can run.
class ReleasedGil {
 public:
  [[gnu::always_inline]] ReleasedGil() {
    ++calls_;
    has_stack_.push();
    outer_ = std::exchange(waiting_state, PyEval_SaveThread());
    released_ = true;
  }
  ~ReleasedGil() { end(); }
  void end() {
    if (!std::exchange(released_, false)) return;
    has_stack_.pop();
    take_gil(std::exchange(waiting_state, outer_));
    --calls_;
  }
  static int calls() { return calls_; }  // number of running native calls on all threads

 private:
  static inline int calls_ = 0;  // guarded by the GIL
  bool released_;
  PyThreadState *outer_;
  PythonStack has_stack_;
};

// Adds Handle, FunctionBase, TensorBase and VMFunctionBase to the module, and the functions by which the package's
// Python code registers its classes.
bool add_types(PyObject *module);

}  // namespace opdpy
