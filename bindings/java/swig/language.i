/* The Java implementation of the shared rules in bindings/swig/rules.md. It uses native/core.h and the classes in src/.
 *
 * Native code gets only numbers, long[] and byte[]: a handle is a long, an opd_value is two longs, text is UTF-8.
 * Outputs are Out<T> parameters, because the C functions return the error that Java throws. */
%module Native
/* During the call, the stacks that profilers record contain the Java methods. */
%define %opdjava_with_stack(FUNCTION)
%exception FUNCTION {
  const opdjava::JavaStack stack(jenv);
  $action
}
%enddef
%opdjava_with_stack(opd_range_begin)
%opdjava_with_stack(opd_range_push)
%opdjava_with_stack(opd_range_mark)
%define %opd_blocking(FUNCTION)  /* other Java threads do not wait for a native call */
%opdjava_with_stack(FUNCTION)
%enddef
%{
#include "core.h"
#include "record_fields.h"
%}
%include "enums.swg"
%rename(Code) opd_code;
%rename(MetricKind) opd_metric_kind;
%rename(ReportFormat) opd_report_format;
%rename(ReportSection) opd_report_section;
%rename(TelemetryFormat) opd_telemetry_format;
%rename(TelemetryKind) opd_telemetry_kind;
%rename(TraceFormat) opd_trace_format;
%rename(TraceView) opd_trace_view;
%rename(LogLevel) opd_log_level;
%rename(CollectorKind) opd_collector_kind;
%rename(CopyPolicy) opd_copy_policy;
%rename(DeviceAttribute) opd_device_attr;
%rename(ExecutableFormat) opd_executable_format;
%rename(InstrumentAction) opd_instrument_action;
%rename(ProgramLookup) opd_module_lookup;
%rename(ProgramProperty) opd_module_property;
%rename(ProfileBuiltins) opd_profile_builtins;
%rename(ProfilerAction) opd_profiler_action;
%rename(ProfilerBuffer) opd_profiler_buffer;
%rename(AllocatorKind) opd_allocator_kind;
%rename(ValueType) opd_type;
%ignore opd_opcode;  /* for builders, which Java does not offer */
%pragma(java) jniclassclassmodifiers="final class"
%pragma(java) moduleclassmodifiers="/**
 * The functions of the C API, under their names in C, for features that the classes do not offer. The public headers describe them.
 * Outputs are {@link Out} parameters, options are maps, and failures are an {@link OpdynoException}. Numbers that are pointers (void *) are
 * trusted: a wrong one breaks the process.
 */
public final class"
%pragma(java) jniclasscode=%{
  static {
    Library.load();
  }
%}

%define %opdjava_refuse_null
  if (!$input && !OPD_IS_OPTIONAL($symname, $1_name)) {
    opdjava::refuse_null(jenv, "$1_name");
    return $null;
  }
%enddef

/* Text. */
%typemap(jni) const char * "jbyteArray"
%typemap(jtype) const char * "byte[]"
%typemap(jstype) const char * "String"
%typemap(javain) const char * "Values.utf8($javainput)"
%typemap(javaout) const char * { return Values.text($jnicall); }
%typemap(in) const char * (opdjava::Bytes viewed) {
  %opdjava_refuse_null
  viewed.read(jenv, $input);
  $1 = const_cast<char *>(viewed.data());
}
%typemap(freearg) const char * ""
%typemap(jstype) const char *path "java.nio.file.Path"
%typemap(javain) const char *path "Paths.bytes($javainput)"
%typemap(out) const char * { $result = opdjava::bytes_of(jenv, $1, $1 ? strlen($1) : 0); }

/* All code that may throw is inside the call's `try`. So its `finally` also ends uses that began before an exception.
 *
 * Outputs: native code writes into an array NATIVE of one element. The element then becomes the Out's content. */
%define %opdjava_out(PARAMETER, JNI, NATIVE, MAKE, JAVA, CONTENT)
%typemap(jni) PARAMETER "JNI"
%typemap(jtype) PARAMETER "NATIVE"
%typemap(jstype) PARAMETER "Out<JAVA>"
%typemap(javain, pre="    NATIVE p$javainput = new MAKE;", post="      Out.set($javainput, CONTENT);") PARAMETER "p$javainput"
%typemap(freearg) PARAMETER ""
%enddef
/* Inputs that a Java expression converts for the call. */
%define %opdjava_in(PARAMETER, JNI, NATIVE, JAVA, EXPRESSION)
%typemap(jni) PARAMETER "JNI"
%typemap(jtype) PARAMETER "NATIVE"
%typemap(jstype) PARAMETER "JAVA"
%typemap(javain) PARAMETER "EXPRESSION"
%typemap(freearg) PARAMETER ""
%enddef
/* A handle of the class CLASS. It stays open until the end of the call. */
%define %opdjava_handle(PARAMETER, CLASS)
%typemap(jni) PARAMETER "jlong"
%typemap(jtype, nopgcpp="1") PARAMETER "long"
%typemap(jstype) PARAMETER "CLASS"
%typemap(javain, pre="    long p$javainput = 0;", post="      Handle.end($javainput, p$javainput);") PARAMETER "p$javainput = Handle.begin($javainput)"
%enddef

/* The hand-written classes of handles. Their names differ from those of java.lang and java.util. */
#define OPDJAVA_Tensor Tensor
#define OPDJAVA_Function PackedFn
#define OPDJAVA_Module Program
#define OPDJAVA_Array ValueList
#define OPDJAVA_Map ValueMap
#define OPDJAVA_Shape Shape
#define OPDJAVA_Executable Executable
#define OPDJAVA_VirtualMachine Vm
#define OPDJAVA_KvState KvState
#define OPDJAVA_Cancel CancelToken
#define OPDJAVA_Params Params
#define OPDJAVA_Report Report
#define OPDJAVA_ReportBuilder ReportBuilder
#define OPDJAVA_Trace Trace
#define OPDJAVA_Profiler Profiler
#define OPDJAVA_Evaluator Evaluator
#define OPDJAVA_Benchmark Benchmark
#define OPDJAVA_Collector Collector
#define OPDJAVA_Closure Closure
#define OPDJAVA_RpcSession RpcSession
#define OPDJAVA_Telemetry Telemetry
%define %opd_handle(TYPE, CLASS)
%opdjava_class(TYPE, OPDJAVA_##CLASS)
%enddef
%define %opdjava_class(TYPE, CLASS)
%ignore TYPE##_retain;
%ignore TYPE##_release;
%opdjava_handle(TYPE *, CLASS)
%opdjava_handle(const TYPE *, CLASS)
%typemap(in) TYPE *, const TYPE * {
  %opdjava_refuse_null
  $1 = reinterpret_cast<TYPE *>($input);
  if (!opdjava::check_loan(jenv, $1)) return $null;
}
%opdjava_out(TYPE **, jlongArray, long[], long[1], CLASS, p$javainput[0] == 0 ? null : new CLASS(p$javainput[0]))
%typemap(in) TYPE ** (TYPE *made) { made = nullptr; $1 = &made; }
%typemap(argout) TYPE ** { opdjava::give(jenv, $input, {reinterpret_cast<jlong>(*$1)}); }
%enddef

/* Values, which Values.java writes and reads as words. */
%define %opdjava_values(PARAMETER, JAVA, METHOD)
%typemap(jni) PARAMETER "jlongArray"
%typemap(jtype) PARAMETER "long[]"
%typemap(jstype) PARAMETER "JAVA"
%typemap(javain, pre="    Values p$javainput = new Values();", post="      p$javainput.close();") PARAMETER "p$javainput.METHOD($javainput)"
%typemap(freearg) PARAMETER ""
%enddef
/* Options are a map from names to values, which native code gets as pairs. The call's arguments come before its
 * options, and their number has the same name in all typemaps of a function. */
%define %opd_options(STRUCT)
%ignore STRUCT;
%ignore STRUCT##_init;
%opdjava_values(const STRUCT *, Object, options)
%typemap(jstype) const STRUCT * "java.util.Map<String, ?>"
%typemap(in) const STRUCT * (STRUCT filled, opdjava::Options reader, int32_t _global_num_args = 0) {
  $1 = nullptr;
  if ($input) {
    STRUCT##_init(&filled);
    if (!reader.read(jenv, $input, opdrules::fields_of(&filled), #STRUCT, &filled, _global_num_args)) return $null;
    $1 = &filled;
  }
}
%enddef

/* Results are Java records. records.py lists their names. */
%include "record_names.i"
%define %opd_stats(STRUCT)
%opdjava_record(STRUCT, OPDJAVA_##STRUCT)
%enddef
%define %opdjava_record(STRUCT, RECORD)
%ignore STRUCT;
%opdjava_out(STRUCT *, jlongArray, long[], long[RECORD.WORDS], RECORD, RECORD.take(p$javainput))
%typemap(in) STRUCT * (STRUCT filled) {
  memset(&filled, 0, sizeof filled);
  filled.struct_size = sizeof filled;
  $1 = &filled;
}
%typemap(argout) STRUCT * {
  opdjava::Record record;
  if (!result) opdjava::add_fields(record, *$1);
  record.give(jenv, $input);
}
%enddef

%define %opd_throws(TYPE)
%typemap(jni) TYPE "void"
%typemap(jtype) TYPE "void"
%typemap(jstype) TYPE "void"
%typemap(javaout) TYPE { $jnicall; }
%typemap(out) TYPE { if ($1) opdjava::raise(jenv, $1); }
%enddef
%define %opd_error_as_result(FUNCTION)
%ignore FUNCTION;
%enddef

%define %opd_value_in(PARAMETER)
%opdjava_values(PARAMETER, Object, one)
%typemap(in) PARAMETER (opdjava::Words words) { words.read(jenv, $input); $1 = const_cast<opd_value *>(words.values()); }
%enddef
%define %opd_value_out(PARAMETER)
%opdjava_out(PARAMETER, jlongArray, long[], long[2], Object, Values.take(p$javainput))
%typemap(in) PARAMETER (opd_value made) { made = opd_none(); $1 = &made; }
%typemap(argout) PARAMETER { opdjava::give_value(jenv, $input, *$1); }
%enddef
%define %opd_values_in(POINTER, COUNT)
%opdjava_values((POINTER, COUNT), Object[], all)
%typemap(in) (POINTER, COUNT) (opdjava::Words words, int32_t _global_num_args = 0) {
  words.read(jenv, $input);
  $1 = const_cast<opd_value *>(words.values());
  $2 = static_cast<$2_ltype>(words.count());
  _global_num_args = words.count();
}
%enddef
%define %opd_pairs_in(POINTER, COUNT)
%opdjava_values((POINTER, COUNT), Object[], all)
%typemap(in) (POINTER, COUNT) (opdjava::Words words) {
  words.read(jenv, $input);
  if (words.count() % 2) {
    opdjava::refuse_argument(jenv, "a map is made of keys and values in turns, but their number is odd");
    return $null;
  }
  $1 = const_cast<opd_value *>(words.values());
  $2 = words.count() / 2;
}
%enddef

%define %opd_bytes_in(POINTER, COUNT)
%opdjava_in((POINTER, COUNT), jbyteArray, byte[], byte[], $javainput)
%typemap(in) (POINTER, COUNT) (opdjava::Bytes bytes) {
  bytes.read(jenv, $input);
  $1 = ($1_ltype)bytes.data();
  $2 = bytes.size();
}
%enddef
%define %opd_text_out(PARAMETER)
%opdjava_out(PARAMETER, jobjectArray, byte[][], byte[1][], String, Values.text(p$javainput[0]))
%typemap(in) PARAMETER (opd_buffer *made) { made = nullptr; $1 = &made; }
%typemap(argout) PARAMETER { opdjava::give_buffer(jenv, $input, *$1); }
%enddef
%define %opd_bytes_out(PARAMETER)
%opdjava_out(PARAMETER, jobjectArray, byte[][], byte[1][], byte[], p$javainput[0])
%typemap(in) PARAMETER (opd_buffer *made) { made = nullptr; $1 = &made; }
%typemap(argout) PARAMETER { opdjava::give_buffer(jenv, $input, *$1); }
%enddef
%define %opd_dims_in(POINTER, COUNT)
%opdjava_in((POINTER, COUNT), jlongArray, long[], long[], $javainput)
%typemap(in) (POINTER, COUNT) (opdjava::Words words) {
  words.read(jenv, $input);
  $1 = const_cast<int64_t *>(words.data());
  $2 = static_cast<$2_ltype>(words.size());
}
%enddef
%define %opd_texts_in(POINTER, COUNT)
%opdjava_in((POINTER, COUNT), jobjectArray, byte[][], String[], Values.utf8($javainput))
%typemap(in) (POINTER, COUNT) (opdjava::Texts texts) {
  texts.read(jenv, $input);
  $1 = ($1_ltype)texts.data();
  $2 = static_cast<$2_ltype>(texts.size());
}
%enddef
%define %opd_handles_in(TYPE, CLASS, POINTER, COUNT)
%opdjava_values((POINTER, COUNT), CLASS[], all)
%typemap(in) (POINTER, COUNT) (opdjava::Words words, std::vector<const TYPE *> handles) {
  words.read(jenv, $input);
  for (size_t i = 0; i < words.count(); ++i) {
    const opd_value &value = words.values()[i];
    handles.push_back(value.type == OPD_NONE ? nullptr : reinterpret_cast<const TYPE *>(value.u.object));
  }
  $1 = ($1_ltype)handles.data();
  $2 = static_cast<$2_ltype>(handles.size());
}
%typemap(argout) (POINTER, COUNT) ""  /* otherwise the typemap of TYPE ** would apply */
%enddef
/* Names with their signatures. */
%define %opd_signatures_in(NAMES, SIGNATURES, COUNT)
%opdjava_in((NAMES, SIGNATURES, COUNT), jobjectArray, byte[][], Object, Values.utf8($javainput))
%typemap(jstype) (NAMES, SIGNATURES, COUNT) "java.util.Map<String, String>"
%typemap(in) (NAMES, SIGNATURES, COUNT) (opdjava::Texts texts) {
  texts.read(jenv, $input);
  $1 = ($1_ltype)texts.data();
  $2 = ($2_ltype)(texts.data() + texts.size() / 2);
  $3 = static_cast<int32_t>(texts.size() / 2);
}
%enddef

%define %opd_number(TYPE)  /* int, long or double; Java's compiler refuses other types */
%enddef
%define %opd_number_out(PARAMETER)
%opdjava_out(PARAMETER, jlongArray, long[], long[1], Long, p$javainput[0])
%typemap(in) PARAMETER (int64_t number) { number = 0; $1 = &number; }
%typemap(argout) PARAMETER { opdjava::give(jenv, $input, {static_cast<jlong>(*$1)}); }
%enddef
%define %opd_kind_out(PARAMETER)
%opdjava_out(PARAMETER, jlongArray, long[], long[1], MetricKind, MetricKind.swigToEnum((int) p$javainput[0]))
%typemap(in) PARAMETER (opd_metric_kind kind) { kind = OPD_METRIC_NONE; $1 = &kind; }
%typemap(argout) PARAMETER { opdjava::give(jenv, $input, {static_cast<jlong>(*$1)}); }
%enddef
%define %opd_dtype(TYPE)
%opdjava_in(TYPE, jlong, long, DType, $javainput.word())
%typemap(javaout) TYPE { return DType.of($jnicall); }
%typemap(in) TYPE { opdjava::unpack($input, &$1); }
%typemap(out) TYPE { $result = opdjava::pack($1); }
%enddef
%define %opd_device(TYPE)
%opdjava_in(TYPE, jlong, long, Device, $javainput.word())
%typemap(in) TYPE { opdjava::unpack($input, &$1); }
%enddef
%define %opd_dtype_out(PARAMETER)
%opdjava_out(PARAMETER, jlongArray, long[], long[1], DType, DType.of(p$javainput[0]))
%typemap(in) PARAMETER (DLDataType made) { $1 = &made; }
%typemap(argout) PARAMETER { opdjava::give(jenv, $input, {opdjava::pack(*$1)}); }
%enddef
%define %opd_device_out(PARAMETER)
%opdjava_out(PARAMETER, jlongArray, long[], long[1], Device, Device.of(p$javainput[0]))
%typemap(in) PARAMETER (DLDevice made) { $1 = &made; }
%typemap(argout) PARAMETER { opdjava::give(jenv, $input, {opdjava::pack(*$1)}); }
%enddef
%define %opd_dltensor_in(PARAMETER)
%opdjava_handle(PARAMETER, Tensor)
%typemap(in) PARAMETER {
  %opdjava_refuse_null
  if (!opdjava::check_loan(jenv, reinterpret_cast<const opd_tensor *>($input))) return $null;
  $1 = opdjava::dltensor_of($input);
}
%enddef
%define %opdjava_callback(CALLBACK, DATA, DELETER, INTERFACE, FUNCTION, CLEANUP)
%opdjava_in((CALLBACK, DATA, DELETER), jobject, INTERFACE, INTERFACE, $javainput)
%typemap(in) (CALLBACK, DATA, DELETER) {
  $1 = $input ? FUNCTION : nullptr;
  $2 = $input ? jenv->NewGlobalRef($input) : nullptr;
  $3 = opdjava::end_callback;
}
%typemap(freearg) (CALLBACK, DATA, DELETER) CLEANUP
%enddef
%define %opd_packed_callback(CALLBACK, DATA, DELETER)
%opdjava_callback(CALLBACK, DATA, DELETER, PackedFunction, opdjava::call_packed, { if (result) opdjava::end_callback($2); })
%enddef
%define %opd_log_callback(CALLBACK, DATA, DELETER)
%opdjava_callback(CALLBACK, DATA, DELETER, LogCallback, opdjava::call_log, "")
%enddef
%define %opd_collector_callback(PARAMETER, FUNCTION)
%opdjava_in(PARAMETER, jobject, MetricCollector, MetricCollector, $javainput)
%typemap(in) PARAMETER (opd_collector_table callbacks) {
  %opdjava_refuse_null
  callbacks = opdjava::collector_table(jenv, $input);
  $1 = &callbacks;
}
%typemap(freearg) PARAMETER { if (result) opdjava::end_callback($1->user_data); }
%enddef
%define %opd_pointer(PARAMETER)
%opdjava_in(PARAMETER, jlong, long, long, $javainput)
%typemap(in) PARAMETER { $1 = reinterpret_cast<void *>($input); }
%enddef
%define %opd_pointer_out(PARAMETER)
%opdjava_out(PARAMETER, jlongArray, long[], long[1], Long, p$javainput[0])
%typemap(in) PARAMETER (void *pointer) { pointer = nullptr; $1 = &pointer; }
%typemap(argout) PARAMETER { opdjava::give(jenv, $input, {reinterpret_cast<jlong>(*$1)}); }
%enddef
%define %opd_arrow_stream_out(PARAMETER)  /* the result of org.apache.arrow.c.ArrowArrayStream.memoryAddress() */
%opdjava_in(PARAMETER, jlong, long, long, $javainput)
%typemap(in) PARAMETER { $1 = reinterpret_cast<ArrowArrayStream *>($input); }
%enddef
%typemap(jni) void * "jlong"
%typemap(jtype) void * "long"
%typemap(jstype) void * "long"
%typemap(javaout) void * { return $jnicall; }
%typemap(out) void * { $result = reinterpret_cast<jlong>($1); }

/* Sizes and counts are long, because they are always far below 2^63. */
%apply long long { uint64_t };
