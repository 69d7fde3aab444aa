/* The shared rules for bindings/rust/generate.py: SWIG's XML shows each as a typemap of the method "opd" whose code is
 * the rule's name and what belongs to it. The generator says what it means in Rust. See bindings/swig/rules.md. */
%module opdyno
%define %opd_blocking(FUNCTION)  /* threads of Rust do not wait for native calls */
%enddef
%include <opdyno/dlpack.h>

%define %opd_handle(TYPE, CLASS)
%ignore TYPE##_retain;
%ignore TYPE##_release;
%typemap(opd) TYPE *, const TYPE * "handle CLASS"
%typemap(opd) TYPE ** "handle_out CLASS"
%enddef
%define %opd_options(STRUCT)
%ignore STRUCT##_init;
%typemap(opd) const STRUCT * "options STRUCT"
%enddef
%define %opd_stats(STRUCT)
%typemap(opd) STRUCT * "stats STRUCT"
%enddef
%define %opd_throws(TYPE)
%typemap(opd) TYPE "throws"
%enddef
%define %opd_error_as_result(FUNCTION)
%typemap(opd) opd_error *FUNCTION "error_as_result"
%enddef

%define %opd_value_in(PARAMETER)
%typemap(opd) PARAMETER "value_in"
%enddef
%define %opd_value_out(PARAMETER)
%typemap(opd) PARAMETER "value_out"
%enddef
%define %opd_values_in(POINTER, COUNT)
%typemap(opd) (POINTER, COUNT) "values_in"
%enddef
%define %opd_pairs_in(POINTER, COUNT)
%typemap(opd) (POINTER, COUNT) "pairs_in"
%enddef
%define %opd_bytes_in(POINTER, COUNT)
%typemap(opd) (POINTER, COUNT) "bytes_in"
%enddef
%define %opd_text_out(PARAMETER)
%typemap(opd) PARAMETER "text_out"
%enddef
%define %opd_bytes_out(PARAMETER)
%typemap(opd) PARAMETER "bytes_out"
%enddef

%define %opd_dims_in(POINTER, COUNT)
%typemap(opd) (POINTER, COUNT) "dims_in"
%enddef
%define %opd_texts_in(POINTER, COUNT)
%typemap(opd) (POINTER, COUNT) "texts_in"
%enddef
%define %opd_handles_in(TYPE, CLASS, POINTER, COUNT)
%typemap(opd) (POINTER, COUNT) "handles_in CLASS"
%enddef
%define %opd_signatures_in(NAMES, SIGNATURES, COUNT)
%typemap(opd) (NAMES, SIGNATURES, COUNT) "signatures_in"
%enddef
%define %opd_number(TYPE)  /* Rust has the same types */
%enddef
%define %opd_number_out(PARAMETER)
%typemap(opd) PARAMETER "plain_out"
%enddef
%define %opd_kind_out(PARAMETER)
%typemap(opd) PARAMETER "plain_out"
%enddef
%define %opd_dtype(TYPE)  /* a plain struct */
%enddef
%define %opd_device(TYPE)
%enddef
%define %opd_dtype_out(PARAMETER)
%typemap(opd) PARAMETER "plain_out"
%enddef
%define %opd_device_out(PARAMETER)
%typemap(opd) PARAMETER "plain_out"
%enddef
%define %opd_dltensor_in(PARAMETER)
%typemap(opd) PARAMETER "dltensor_in"
%enddef

%define %opd_packed_callback(CALLBACK, DATA, DELETER)
%typemap(opd) (CALLBACK, DATA, DELETER) "packed_callback"
%enddef
%define %opd_log_callback(CALLBACK, DATA, DELETER)
%typemap(opd) (CALLBACK, DATA, DELETER) "log_callback"
%enddef
%define %opd_pointer_out(PARAMETER)
%typemap(opd) PARAMETER "plain_out"
%enddef
%define %opd_arrow_stream_out(PARAMETER)  /* its address */
%typemap(opd) PARAMETER "pointer"
%enddef
%define %opd_collector_callback(PARAMETER, FUNCTION)
%typemap(opd) PARAMETER "collector_callback"
%enddef
%define %opd_pointer(PARAMETER)
%typemap(opd) PARAMETER "pointer"
%enddef
