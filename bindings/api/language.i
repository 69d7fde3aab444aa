/* The implementation of the shared rules (bindings/swig/rules.md) for the description of the C API. In SWIG's XML,
 * typemaps of the method "opd" mark the structs that are handles, options and results. The other rules are empty here.
 * */
%module opdyno
%include <opdyno/dlpack.h>

%define %opd_handle(TYPE, CLASS)
%typemap(opd) TYPE * "handle CLASS"
%enddef
%define %opd_options(STRUCT)
%typemap(opd) const STRUCT * "options STRUCT"
%enddef

%define %opd_blocking(FUNCTION)
%enddef
%define %opd_stats(STRUCT)
%typemap(opd) STRUCT * "results STRUCT"
%enddef
%define %opd_throws(TYPE)
%enddef
%define %opd_error_as_result(FUNCTION)
%enddef
%define %opd_value_in(PARAMETER)
%enddef
%define %opd_value_out(PARAMETER)
%enddef
%define %opd_values_in(POINTER, COUNT)
%enddef
%define %opd_pairs_in(POINTER, COUNT)
%enddef
%define %opd_bytes_in(POINTER, COUNT)
%enddef
%define %opd_text_out(PARAMETER)
%enddef
%define %opd_bytes_out(PARAMETER)
%enddef
%define %opd_dims_in(POINTER, COUNT)
%enddef
%define %opd_texts_in(POINTER, COUNT)
%enddef
%define %opd_handles_in(TYPE, CLASS, POINTER, COUNT)
%enddef
%define %opd_signatures_in(NAMES, SIGNATURES, COUNT)
%enddef
%define %opd_number(TYPE)
%enddef
%define %opd_number_out(PARAMETER)
%enddef
%define %opd_kind_out(PARAMETER)
%enddef
%define %opd_dtype(TYPE)
%enddef
%define %opd_device(TYPE)
%enddef
%define %opd_dtype_out(PARAMETER)
%enddef
%define %opd_device_out(PARAMETER)
%enddef
%define %opd_dltensor_in(PARAMETER)
%enddef
%define %opd_packed_callback(CALLBACK, DATA, DELETER)
%enddef
%define %opd_log_callback(CALLBACK, DATA, DELETER)
%enddef
%define %opd_pointer_out(PARAMETER)
%enddef
%define %opd_arrow_stream_out(PARAMETER)
%enddef
%define %opd_collector_callback(PARAMETER, FUNCTION)
%enddef
%define %opd_pointer(PARAMETER)
%enddef
