// Reads the Python functions on the calling thread's stack, for the stacks that profilers record.
#include "core.h"

namespace opdpy {
namespace {

// An entry in the cache of recent code objects and the numbers of their names. The cache holds the code objects, so
// their addresses are not reused. The GIL guards it.
struct KnownCode {
  PyObject *code;
  uint32_t function, file;
};
constexpr size_t kPlaces = 512;
KnownCode known[kPlaces];

uint32_t number_of_text(PyObject *object, const char *attribute) {
  PyObject *text = PyObject_GetAttrString(object, attribute);
  const char *for_c = text ? text_for_c(text, attribute) : nullptr;
  if (!for_c) PyErr_Clear();  // for example, a name that is not UTF-8
  const uint32_t number = opd_range_name(for_c ? for_c : "?");
  Py_XDECREF(text);
  return number;
}

KnownCode describe(PyObject *code) {
  KnownCode &place = known[(reinterpret_cast<uintptr_t>(code) >> 4) * 0x9E3779B97F4A7C15u >> 55];
  static_assert(kPlaces == 1u << (64 - 55));
  if (place.code == code) return place;
  const KnownCode made{code, number_of_text(code, "co_name"), number_of_text(code, "co_filename")};
  Py_XDECREF(std::exchange(place, {Py_NewRef(code), made.function, made.file}).code);
  return made;
}

}  // namespace

std::vector<opd_stack_frame> python_stack() {
  constexpr size_t kMost = 256;
  static PyObject *const back = PyUnicode_InternFromString("f_back");
  std::vector<opd_stack_frame> frames;
  if (!back || PyErr_Occurred()) return frames;
  auto *frame = reinterpret_cast<PyObject *>(PyEval_GetFrame());
  Py_XINCREF(frame);
  while (frame && frame != Py_None && frames.size() < kMost) {
    auto *const typed = reinterpret_cast<PyFrameObject *>(frame);
    const int line = PyFrame_GetLineNumber(typed);
    auto *const code = reinterpret_cast<PyObject *>(PyFrame_GetCode(typed));
    const KnownCode names = describe(code);
    Py_DECREF(code);
    frames.push_back({names.function, names.file, static_cast<uint32_t>(line > 0 ? line : 0)});
    PyObject *const outer = PyObject_GetAttr(frame, back);
    if (!outer) PyErr_Clear();
    Py_DECREF(frame);
    frame = outer;
  }
  Py_XDECREF(frame);
  return frames;
}

}  // namespace opdpy
