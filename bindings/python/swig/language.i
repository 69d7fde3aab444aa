/* The Python implementation of the shared rules in bindings/swig/rules.md. It uses native/core.h. */
%module(threads="1", package="opdyno") _native
%nothread;
%define %opd_blocking(FUNCTION)
%thread FUNCTION;
%enddef

%{
#include "core.h"
#include "results.h"
#undef SWIG_PYTHON_THREAD_BEGIN_ALLOW
#define SWIG_PYTHON_THREAD_BEGIN_ALLOW opdpy::ReleasedGil released
#undef SWIG_PYTHON_THREAD_END_ALLOW
#define SWIG_PYTHON_THREAD_END_ALLOW released.end()
#define OPDPY_APPEND(result, object) SWIG_Python_AppendOutput(result, object, 1)
%}
%init %{
  if (!opdpy::add_types(m)) return -1;
%}
%feature("autodoc", "0");

%define %opdpy_refuse_none(CLASS)
  if ($input == Py_None && !OPD_IS_OPTIONAL($symname, $1_name))
    SWIG_exception_fail(SWIG_TypeError, "$1_name must be " CLASS ", not None");
%enddef
%typemap(in) const char * {
  %opdpy_refuse_none("str")
  const char *text;
  if (!opdpy::to_text($input, "$1_name", &text)) SWIG_fail;
  $1 = const_cast<char *>(text);
}
%typemap(freearg) const char * ""

%define %opd_handle(TYPE, CLASS)
%ignore TYPE##_retain;
%ignore TYPE##_release;
%{
static opdpy::Kind *const kind_of_##TYPE = opdpy::add_kind(#CLASS, opd_object_release);
%}
%typemap(in) TYPE * {
  %opdpy_refuse_none(#CLASS)
  void *pointer;
  if (opdpy::to_handle($input, kind_of_##TYPE, "$1_name", &pointer)) SWIG_fail;
  $1 = static_cast<TYPE *>(pointer);
}
%typemap(in) const TYPE * = TYPE *;
%typemap(in, numinputs=0) TYPE ** (TYPE *made) { made = nullptr; $1 = &made; }
%typemap(argout) TYPE ** { $result = OPDPY_APPEND($result, opdpy::new_handle(kind_of_##TYPE, *$1)); }
%enddef

%define %opd_options(STRUCT)
%ignore STRUCT;
%ignore STRUCT##_init;
%typemap(in) const STRUCT * (STRUCT filled, opdpy::Options reader) {
  $1 = nullptr;
  if ($input != Py_None) {
    STRUCT##_init(&filled);
    if (!reader.read($input, opdrules::fields_of(&filled), "options", &filled)) SWIG_fail;
    $1 = &filled;
  }
}
%enddef

%define %opd_stats(STRUCT)
%ignore STRUCT;
%typemap(in, numinputs=0) STRUCT * (STRUCT stats) {
  memset(&stats, 0, sizeof stats);
  stats.struct_size = sizeof stats;
  $1 = &stats;
}
%typemap(argout) STRUCT * { $result = OPDPY_APPEND($result, opdpy::object_of(#STRUCT, *$1)); }
%enddef

%define %opd_throws(TYPE)
%typemap(out) TYPE {
  if ($1) {
    opdpy::raise($1);
    SWIG_fail;
  }
  $result = SWIG_Py_Void();
}
%enddef
%define %opd_error_as_result(FUNCTION)
%ignore FUNCTION;
%enddef

%define %opd_value_in(PARAMETER)
%typemap(in) PARAMETER (opdpy::Arguments arguments, opd_value viewed) {
  if (!arguments.view($input, &viewed)) SWIG_fail;
  $1 = &viewed;
}
%enddef
%define %opd_value_out(PARAMETER)
%typemap(in, numinputs=0) PARAMETER (opd_value made) { made = opd_none(); $1 = &made; }
%typemap(argout) PARAMETER { $result = OPDPY_APPEND($result, opdpy::from_value(*$1)); }
%enddef
%define %opd_values_in(POINTER, COUNT)
%typemap(in) (POINTER, COUNT) (opdpy::Arguments arguments) {
  if (!arguments.add_all($input)) SWIG_fail;
  $1 = const_cast<opd_value *>(arguments.data());
  $2 = arguments.size();
}
%enddef
%define %opd_pairs_in(POINTER, COUNT)
%typemap(in) (POINTER, COUNT) (opdpy::Arguments arguments) {
  if (!arguments.add_all($input)) SWIG_fail;
  $1 = const_cast<opd_value *>(arguments.data());
  $2 = arguments.size() / 2;
}
%enddef

%define %opd_bytes_in(POINTER, COUNT)
%typemap(in) (POINTER, COUNT) (opdpy::Bytes bytes) {
  if (!bytes.read($input)) SWIG_fail;
  $1 = ($1_ltype)bytes.data();
  $2 = bytes.size();
}
%enddef
%define %opd_text_out(PARAMETER)
%typemap(in, numinputs=0) PARAMETER (opd_buffer *made) { made = nullptr; $1 = &made; }
%typemap(argout) PARAMETER { $result = OPDPY_APPEND($result, opdpy::text_of(*$1)); }
%enddef
%define %opd_bytes_out(PARAMETER)
%typemap(in, numinputs=0) PARAMETER (opd_buffer *made) { made = nullptr; $1 = &made; }
%typemap(argout) PARAMETER { $result = OPDPY_APPEND($result, opdpy::bytes_of(*$1)); }
%enddef

%define %opd_dims_in(POINTER, COUNT)
%typemap(in) (POINTER, COUNT) (std::vector<int64_t> dims) {
  if (!opdpy::to_dims($input, "$1_name", dims)) SWIG_fail;
  $1 = dims.data();
  $2 = static_cast<$2_ltype>(dims.size());
}
%enddef
%define %opd_texts_in(POINTER, COUNT)
%typemap(in) (POINTER, COUNT) (std::vector<const char *> texts) {
  if (!opdpy::to_texts($input, texts, "$1_name")) SWIG_fail;
  $1 = ($1_ltype)texts.data();
  $2 = static_cast<$2_ltype>(texts.size());
}
%enddef
%define %opd_handles_in(TYPE, CLASS, POINTER, COUNT)
%typemap(in) (POINTER, COUNT) (std::vector<void *> handles) {
  if (!opdpy::to_handles($input, kind_of_##TYPE, "$1_name", handles)) SWIG_fail;
  $1 = ($1_ltype)handles.data();
  $2 = static_cast<$2_ltype>(handles.size());
}
%typemap(argout) (POINTER, COUNT) ""  /* otherwise the typemap of TYPE ** would apply */
%enddef
%define %opd_signatures_in(NAMES, SIGNATURES, COUNT)
%typemap(in) (NAMES, SIGNATURES, COUNT) (std::vector<const char *> names, std::vector<const char *> signatures) {
  if (!opdpy::to_signatures($input, names, signatures)) SWIG_fail;
  $1 = ($1_ltype)names.data();
  $2 = ($2_ltype)signatures.data();
  $3 = static_cast<int32_t>(names.size());
}
%enddef

%define %opd_number(TYPE)
%typemap(in) TYPE { if (!opdpy::to_number($input, "$1_name", &$1)) SWIG_fail; }
%enddef
%define %opd_number_out(PARAMETER)
%typemap(in, numinputs=0) PARAMETER (int64_t number) { number = 0; $1 = &number; }
%typemap(argout) PARAMETER { $result = OPDPY_APPEND($result, PyLong_FromLongLong(*$1)); }
%enddef
%define %opd_kind_out(PARAMETER)
%typemap(in, numinputs=0) PARAMETER (opd_metric_kind kind) { kind = OPD_METRIC_NONE; $1 = &kind; }
%typemap(argout) PARAMETER { $result = OPDPY_APPEND($result, PyLong_FromLong(*$1)); }
%enddef
%define %opd_dtype(TYPE)
%typemap(in) TYPE { if (!opdpy::to_dtype($input, &$1)) SWIG_fail; }
%typemap(out) TYPE { $result = opdpy::from_dtype($1); }
%enddef
%define %opd_device(TYPE)
%typemap(in) TYPE { if (!opdpy::to_device($input, &$1)) SWIG_fail; }
%enddef
%define %opd_dtype_out(PARAMETER)
%typemap(in, numinputs=0) PARAMETER (DLDataType made) { $1 = &made; }
%typemap(argout) PARAMETER { $result = OPDPY_APPEND($result, opdpy::from_dtype(*$1)); }
%enddef
%define %opd_device_out(PARAMETER)
%typemap(in, numinputs=0) PARAMETER (DLDevice made) { $1 = &made; }
%typemap(argout) PARAMETER { $result = OPDPY_APPEND($result, opdpy::from_device(*$1)); }
%enddef
%define %opd_dltensor_in(PARAMETER)
%typemap(in) PARAMETER (opdpy::Arguments arguments, opd_value viewed) {
  if (!arguments.view($input, &viewed)) SWIG_fail;
  $1 = opdpy::dltensor_of(viewed);
  if (!$1) SWIG_exception_fail(SWIG_TypeError, "$1_name must be a tensor or an array");
}
%enddef

%define %opd_arrow_stream_out(PARAMETER)
%typemap(in, numinputs=0) PARAMETER (ArrowArrayStream made) { $1 = &made; }
%typemap(argout) PARAMETER { $result = OPDPY_APPEND($result, opdpy::arrow_capsule(*$1)); }
%enddef

%define %opd_packed_callback(CALLBACK, DATA, DELETER)
%typemap(in) (CALLBACK, DATA, DELETER) {
  if (!PyCallable_Check($input)) SWIG_exception_fail(SWIG_TypeError, "callback must be callable");
  opdpy::to_callback($input, &$1, &$2, &$3);
}
%enddef
%define %opd_log_callback(CALLBACK, DATA, DELETER)
%typemap(in) (CALLBACK, DATA, DELETER) {
  if (!opdpy::to_log_callback($input, &$1, &$2, &$3)) SWIG_fail;
}
%enddef
%define %opd_collector_callback(PARAMETER, FUNCTION)
%typemap(in) PARAMETER (opdpy::CollectorTable collector) { $1 = collector.of($input); }
%typemap(argout) PARAMETER { collector$argnum.taken_over(); }
%enddef
%define %opd_pointer(PARAMETER)
%typemap(in) PARAMETER {
  if (!opdpy::to_pointer($input, &$1)) SWIG_fail;
}
%enddef
%define %opd_pointer_out(PARAMETER)
%typemap(in, numinputs=0) PARAMETER (void *made) { made = nullptr; $1 = &made; }
%typemap(argout) PARAMETER { $result = OPDPY_APPEND($result, PyLong_FromVoidPtr(*$1)); }
%enddef
%typemap(out) void * { $result = PyLong_FromVoidPtr($1); }
%typemap(out) size_t { $result = PyLong_FromSize_t($1); }
