// Made by bindings/rust/generator from bindings/swig and the headers; in one file, since nobody edits it.
use core::ffi::*;
use core::marker::{PhantomData, PhantomPinned};

/// C's enum `DLDeviceType`.
pub type DLDeviceType = c_uint;
/// Of `DLDeviceType`.
pub const kDLCPU: DLDeviceType = 1;
/// Of `DLDeviceType`.
pub const kDLCUDA: DLDeviceType = 2;
/// Of `DLDeviceType`.
pub const kDLCUDAHost: DLDeviceType = 3;
/// Of `DLDeviceType`.
pub const kDLOpenCL: DLDeviceType = 4;
/// Of `DLDeviceType`.
pub const kDLVulkan: DLDeviceType = 7;
/// Of `DLDeviceType`.
pub const kDLMetal: DLDeviceType = 8;
/// Of `DLDeviceType`.
pub const kDLVPI: DLDeviceType = 9;
/// Of `DLDeviceType`.
pub const kDLROCM: DLDeviceType = 10;
/// Of `DLDeviceType`.
pub const kDLROCMHost: DLDeviceType = 11;
/// Of `DLDeviceType`.
pub const kDLExtDev: DLDeviceType = 12;
/// Of `DLDeviceType`.
pub const kDLCUDAManaged: DLDeviceType = 13;
/// Of `DLDeviceType`.
pub const kDLOneAPI: DLDeviceType = 14;
/// Of `DLDeviceType`.
pub const kDLWebGPU: DLDeviceType = 15;
/// Of `DLDeviceType`.
pub const kDLHexagon: DLDeviceType = 16;
/// Of `DLDeviceType`.
pub const kDLMAIA: DLDeviceType = 17;
/// Of `DLDeviceType`.
pub const kDLTrn: DLDeviceType = 18;
/// C's enum `DLDataTypeCode`.
pub type DLDataTypeCode = c_uint;
/// Of `DLDataTypeCode`.
pub const kDLInt: DLDataTypeCode = 0;
/// Of `DLDataTypeCode`.
pub const kDLUInt: DLDataTypeCode = 1;
/// Of `DLDataTypeCode`.
pub const kDLFloat: DLDataTypeCode = 2;
/// Of `DLDataTypeCode`.
pub const kDLOpaqueHandle: DLDataTypeCode = 3;
/// Of `DLDataTypeCode`.
pub const kDLBfloat: DLDataTypeCode = 4;
/// Of `DLDataTypeCode`.
pub const kDLComplex: DLDataTypeCode = 5;
/// Of `DLDataTypeCode`.
pub const kDLBool: DLDataTypeCode = 6;
/// Of `DLDataTypeCode`.
pub const kDLFloat8_e3m4: DLDataTypeCode = 7;
/// Of `DLDataTypeCode`.
pub const kDLFloat8_e4m3: DLDataTypeCode = 8;
/// Of `DLDataTypeCode`.
pub const kDLFloat8_e4m3b11fnuz: DLDataTypeCode = 9;
/// Of `DLDataTypeCode`.
pub const kDLFloat8_e4m3fn: DLDataTypeCode = 10;
/// Of `DLDataTypeCode`.
pub const kDLFloat8_e4m3fnuz: DLDataTypeCode = 11;
/// Of `DLDataTypeCode`.
pub const kDLFloat8_e5m2: DLDataTypeCode = 12;
/// Of `DLDataTypeCode`.
pub const kDLFloat8_e5m2fnuz: DLDataTypeCode = 13;
/// Of `DLDataTypeCode`.
pub const kDLFloat8_e8m0fnu: DLDataTypeCode = 14;
/// Of `DLDataTypeCode`.
pub const kDLFloat6_e2m3fn: DLDataTypeCode = 15;
/// Of `DLDataTypeCode`.
pub const kDLFloat6_e3m2fn: DLDataTypeCode = 16;
/// Of `DLDataTypeCode`.
pub const kDLFloat4_e2m1fn: DLDataTypeCode = 17;
/// The kind of an error, for programs. Append-only: treat an unknown code as `OPD_INTERNAL`.
pub type opd_code = c_uint;
/// No error; only ever returned by `opd_error_code`(NULL).
pub const OPD_OK: opd_code = 0;
/// An argument's count, type, dtype, shape or value does not fit.
pub const OPD_INVALID_ARGUMENT: opd_code = 1;
/// No function, file, symbol or name of that kind.
pub const OPD_NOT_FOUND: opd_code = 2;
/// The name is taken and no permission to override was given.
pub const OPD_ALREADY_EXISTS: opd_code = 3;
/// An index or a number lies outside the allowed range.
pub const OPD_OUT_OF_RANGE: opd_code = 4;
/// The bytes are not what they claim to be; the message gives the offset.
pub const OPD_BAD_FORMAT: opd_code = 5;
/// Understood, but not offered by this build, machine or version.
pub const OPD_UNSUPPORTED: opd_code = 6;
/// Memory, or a limit set on it, does not suffice.
pub const OPD_OUT_OF_MEMORY: opd_code = 7;
/// A cancel token ended the call.
pub const OPD_CANCELLED: opd_code = 8;
/// The call's deadline passed.
pub const OPD_DEADLINE_EXCEEDED: opd_code = 9;
/// The handle is not in a state that allows this.
pub const OPD_FAILED_PRECONDITION: opd_code = 10;
/// Reading or writing a file failed; the message has the system's reason.
pub const OPD_IO: opd_code = 11;
/// A called function raised an error; kind and message are its own.
pub const OPD_CALL_FAILED: opd_code = 12;
/// A defect in opdyno.
pub const OPD_INTERNAL: opd_code = 13;
/// Not a value: makes the type 32 bits wide.
pub const OPD_CODE_MAX_ENUM: opd_code = 0x7FFFFFFF;
/// The severity of a log message.
pub type opd_log_level = c_uint;
/// Of `opd_log_level`.
pub const OPD_LOG_DEBUG: opd_log_level = 0;
/// Of `opd_log_level`.
pub const OPD_LOG_INFO: opd_log_level = 1;
/// Of `opd_log_level`.
pub const OPD_LOG_WARNING: opd_log_level = 2;
/// Of `opd_log_level`.
pub const OPD_LOG_ERROR: opd_log_level = 3;
/// Not a value: makes the type 32 bits wide.
pub const OPD_LOG_LEVEL_MAX_ENUM: opd_log_level = 0x7FFFFFFF;
/// Kinds of value. The numbers are tvm-ffi's. Kinds from 128 are made at run time; `opd_type_key()` names them.
pub type opd_type = c_uint;
/// Of `opd_type`.
pub const OPD_NONE: opd_type = 0;
/// u.int64
pub const OPD_INT: opd_type = 1;
/// u.int64, 0 or 1
pub const OPD_BOOL: opd_type = 2;
/// u.float64
pub const OPD_FLOAT: opd_type = 3;
/// u.pointer, opaque
pub const OPD_POINTER: opd_type = 4;
/// u.dtype
pub const OPD_DTYPE: opd_type = 5;
/// u.device
pub const OPD_DEVICE: opd_type = 6;
/// u.dltensor; only ever a borrowed view
pub const OPD_DLTENSOR: opd_type = 7;
/// u.cstring, NUL-terminated; only ever a borrowed view
pub const OPD_CSTRING: opd_type = 8;
/// u.pointer to {const char *data; size_t size}; only ever a borrowed view
pub const OPD_BYTES_VIEW: opd_type = 9;
/// up to 7 bytes in u.bytes, their number in length
pub const OPD_SMALL_STRING: opd_type = 11;
/// Of `opd_type`.
pub const OPD_SMALL_BYTES: opd_type = 12;
/// from this number on, u.object is a counted object
pub const OPD_OBJECT: opd_type = 64;
/// Of `opd_type`.
pub const OPD_STRING: opd_type = 65;
/// Of `opd_type`.
pub const OPD_BYTES: opd_type = 66;
/// Of `opd_type`.
pub const OPD_ERROR: opd_type = 67;
/// Of `opd_type`.
pub const OPD_FUNCTION: opd_type = 68;
/// Of `opd_type`.
pub const OPD_SHAPE: opd_type = 69;
/// Of `opd_type`.
pub const OPD_TENSOR: opd_type = 70;
/// Of `opd_type`.
pub const OPD_ARRAY: opd_type = 71;
/// Of `opd_type`.
pub const OPD_MAP: opd_type = 72;
/// Of `opd_type`.
pub const OPD_MODULE: opd_type = 73;
/// Not a value: makes the type 32 bits wide.
pub const OPD_TYPE_MAX_ENUM: opd_type = 0x7FFFFFFF;
/// Properties of a device; numbers are TVM's DeviceAttrKind. Append-only.
pub type opd_device_attr = c_uint;
/// bool
pub const OPD_ATTR_EXIST: opd_device_attr = 0;
/// int
pub const OPD_ATTR_MAX_THREADS_PER_BLOCK: opd_device_attr = 1;
/// int
pub const OPD_ATTR_WARP_SIZE: opd_device_attr = 2;
/// int, bytes
pub const OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK: opd_device_attr = 3;
/// string
pub const OPD_ATTR_COMPUTE_VERSION: opd_device_attr = 4;
/// string
pub const OPD_ATTR_DEVICE_NAME: opd_device_attr = 5;
/// int, kHz
pub const OPD_ATTR_MAX_CLOCK_RATE: opd_device_attr = 6;
/// int
pub const OPD_ATTR_MULTI_PROCESSOR_COUNT: opd_device_attr = 7;
/// shape of 3
pub const OPD_ATTR_MAX_THREAD_DIMENSIONS: opd_device_attr = 8;
/// int
pub const OPD_ATTR_API_VERSION: opd_device_attr = 11;
/// string
pub const OPD_ATTR_DRIVER_VERSION: opd_device_attr = 12;
/// int, bytes
pub const OPD_ATTR_L2_CACHE_SIZE_BYTES: opd_device_attr = 13;
/// int, bytes
pub const OPD_ATTR_TOTAL_GLOBAL_MEMORY: opd_device_attr = 14;
/// int, bytes
pub const OPD_ATTR_AVAILABLE_GLOBAL_MEMORY: opd_device_attr = 15;
/// int, elements along an axis of an image; TVM has no number for it
pub const OPD_ATTR_TEXTURE_SPATIAL_LIMIT: opd_device_attr = 1000;
/// string: why there is no such device; `OPD_NONE` if it exists
pub const OPD_ATTR_ABSENCE: opd_device_attr = 1001;
/// Not a value: makes the type 32 bits wide.
pub const OPD_DEVICE_ATTR_MAX_ENUM: opd_device_attr = 0x7FFFFFFF;
/// How freed memory is kept.
pub type opd_allocator_kind = c_uint;
/// Every block is returned to the system at once.
pub const OPD_ALLOCATOR_NAIVE: opd_allocator_kind = 1;
/// Blocks are kept for the next request of the same size.
pub const OPD_ALLOCATOR_POOLED: opd_allocator_kind = 2;
/// Not a value: makes the type 32 bits wide.
pub const OPD_ALLOCATOR_KIND_MAX_ENUM: opd_allocator_kind = 0x7FFFFFFF;
/// What a device did.
pub type opd_activity_kind = c_uint;
/// Of `opd_activity_kind`.
pub const OPD_ACTIVITY_KERNEL: opd_activity_kind = 0;
/// Of `opd_activity_kind`.
pub const OPD_ACTIVITY_COPY_TO_DEVICE: opd_activity_kind = 1;
/// Of `opd_activity_kind`.
pub const OPD_ACTIVITY_COPY_TO_HOST: opd_activity_kind = 2;
/// within a device, or between two of them
pub const OPD_ACTIVITY_COPY_ON_DEVICE: opd_activity_kind = 3;
/// of memory with a value
pub const OPD_ACTIVITY_FILL: opd_activity_kind = 4;
/// of the driver: no work of the device, and not part of its times
pub const OPD_ACTIVITY_OVERHEAD: opd_activity_kind = 5;
/// Not a value: makes the type 32 bits wide.
pub const OPD_ACTIVITY_KIND_MAX_ENUM: opd_activity_kind = 0x7FFFFFFF;
/// Whether a shared library is loaded from a private copy. Loading patches TVM function pointers inside the mapped
/// library. If another runtime has the same file mapped (real TVM, or another load of it), one of the two would break.
pub type opd_copy_policy = c_uint;
/// Always right; costs the file's size in memory, and perf and gdb see a file
/// in memory. A library that needs nothing of TVM is opened in place.
pub const OPD_COPY_ALWAYS: opd_copy_policy = 0;
/// Copies only if the file is mapped already. Wrong if real TVM opens it
/// later.
pub const OPD_COPY_WHEN_SHARED: opd_copy_policy = 1;
/// For perf and gdb. Refused if the file is mapped already.
pub const OPD_COPY_NEVER: opd_copy_policy = 2;
/// Not a value: makes the type 32 bits wide.
pub const OPD_COPY_POLICY_MAX_ENUM: opd_copy_policy = 0x7FFFFFFF;
/// Properties of a module, as bits. The numbers are tvm-ffi's.
pub type opd_module_property = c_uint;
/// Exporting embeds its bytes, or keeps its file if it is a library.
pub const OPD_MODULE_SERIALIZABLE: opd_module_property = 1;
/// Its functions can be called as they are.
pub const OPD_MODULE_RUNNABLE: opd_module_property = 2;
/// Exporting compiles or links it.
pub const OPD_MODULE_COMPILATION_EXPORTABLE: opd_module_property = 4;
/// Not a value: makes the type 32 bits wide.
pub const OPD_MODULE_PROPERTY_MAX_ENUM: opd_module_property = 0x7FFFFFFF;
/// Where `opd_module_has_function()` looks and which functions count, as bits.
pub type opd_module_lookup = c_uint;
/// functions of the module itself that can be called
pub const OPD_LOOKUP_OWN: opd_module_lookup = 0;
/// also those of imported modules, depth first
pub const OPD_LOOKUP_IMPORTS: opd_module_lookup = 1;
/// also functions that `opd_module_get_function()` refuses, because they must
/// first be linked, or run by a VM or a device that this build lacks
pub const OPD_LOOKUP_UNCALLABLE: opd_module_lookup = 2;
/// Not a value: makes the type 32 bits wide.
pub const OPD_MODULE_LOOKUP_MAX_ENUM: opd_module_lookup = 0x7FFFFFFF;
/// A text form of a program.
pub type opd_executable_format = c_uint;
/// text that assembles to the same program; source: TVM VMExecutable.as_text
pub const OPD_EXECUTABLE_ASSEMBLY: opd_executable_format = 0;
/// a Python script that builds the same program with TVM's relax.ExecBuilder, constants
/// included; compiled functions are named in comments; source: TVM as_python
pub const OPD_EXECUTABLE_PYTHON: opd_executable_format = 1;
/// for programs. Of each function: name, kind, parameters (with dtype and shape as far
/// as the program checks them) and result (of a tuple its items, as far as the
/// instructions tell). Then its registers, instructions, bytes of code, and the
/// instructions that may read a register which no path has written. Of the program: the
/// packed functions it needs, constants, bytes of each section
pub const OPD_EXECUTABLE_JSON: opd_executable_format = 2;
/// for people: functions, those it needs, instructions by kind, constants, and their
/// bytes; source: TVM VMExecutable.stats
pub const OPD_EXECUTABLE_STATS: opd_executable_format = 3;
/// Not a value: makes the type 32 bits wide.
pub const OPD_EXECUTABLE_FORMAT_MAX_ENUM: opd_executable_format = 0x7FFFFFFF;
/// Kinds of instructions.
pub type opd_opcode = c_uint;
/// `reg = callee(args…)`; the callee is declared by its first use
pub const OPD_OPCODE_CALL: opd_opcode = 0;
/// returns the value of `reg` from the function
pub const OPD_OPCODE_RET: opd_opcode = 1;
/// jumps by `offset` instructions from this one
pub const OPD_OPCODE_GOTO: opd_opcode = 2;
/// goes on if the integer in `reg` is not 0, else jumps by `offset` (\> 1)
pub const OPD_OPCODE_IF: opd_opcode = 3;
/// Not a value: makes the type 32 bits wide.
pub const OPD_OPCODE_MAX_ENUM: opd_opcode = 0x7FFFFFFF;
/// The type of a metric. Append-only. TVM knows the first five. In TVM's forms, bytes are counts whose names end in
/// " (bytes)", and hertz are ratios whose names end in " (Hz)"; they are read back as bytes and hertz.
pub type opd_metric_kind = c_uint;
/// the row has no such metric
pub const OPD_METRIC_NONE: opd_metric_kind = 0;
/// an int
pub const OPD_METRIC_COUNT: opd_metric_kind = 1;
/// a float, in microseconds
pub const OPD_METRIC_DURATION: opd_metric_kind = 2;
/// a float, 100 for all
pub const OPD_METRIC_PERCENT: opd_metric_kind = 3;
/// a float
pub const OPD_METRIC_RATIO: opd_metric_kind = 4;
/// a string
pub const OPD_METRIC_STRING: opd_metric_kind = 5;
/// an int
pub const OPD_METRIC_BYTES: opd_metric_kind = 6;
/// a float
pub const OPD_METRIC_HERTZ: opd_metric_kind = 7;
/// a string: the JSON of a metric of a newer writer, kept as it is
pub const OPD_METRIC_JSON: opd_metric_kind = 8;
/// Not a value: makes the type 32 bits wide.
pub const OPD_METRIC_KIND_MAX_ENUM: opd_metric_kind = 0x7FFFFFFF;
/// A part of a report. Each is a table: rows of named metrics.
pub type opd_report_section = c_uint;
/// a row for each call, in program order
pub const OPD_REPORT_CALLS: opd_report_section = 0;
/// a row for each device, whose name (as "cpu0") is the metric "Device"
pub const OPD_REPORT_DEVICES: opd_report_section = 1;
/// one row
pub const OPD_REPORT_CONFIGURATION: opd_report_section = 2;
/// Not a value: makes the type 32 bits wide.
pub const OPD_REPORT_SECTION_MAX_ENUM: opd_report_section = 0x7FFFFFFF;
/// A form of a report.
pub type opd_report_format = c_uint;
/// one line with calls, device_metrics and configuration, as TVM's
pub const OPD_REPORT_JSON: opd_report_format = 0;
/// the calls
pub const OPD_REPORT_CSV: opd_report_format = 1;
/// a text table of the calls and devices, and the configuration
pub const OPD_REPORT_TABLE: opd_report_format = 2;
/// the same rows as a Markdown table, the configuration as a list
pub const OPD_REPORT_MARKDOWN: opd_report_format = 3;
/// the same rows as an HTML page that needs no other file: a table to sort,
/// the time of each operator as bars, and a roofline if the calls have
/// "GFLOP/s" and "Arithmetic Intensity (FLOP/byte)" and the configuration
/// has "Peak GFLOP/s" and "Peak Bandwidth (GB/s)"
pub const OPD_REPORT_HTML: opd_report_format = 4;
/// Not a value: makes the type 32 bits wide.
pub const OPD_REPORT_FORMAT_MAX_ENUM: opd_report_format = 0x7FFFFFFF;
/// A built-in collector. Counters of threads cover the calling thread and each pool worker while it runs tasks of this
/// call, nested ones included. Concurrent calls do not see each other's counts.
pub type opd_collector_kind = c_uint;
/// "Wall time (us)", of CLOCK_MONOTONIC, and "CPU time (us)", the sum over all threads of the call. Takes no
/// events.
pub const OPD_COLLECTOR_TIME: opd_collector_kind = 0;
/// The device's tensor memory: "Allocated (bytes)" and "Freed (bytes)" during the call, by any thread of the process,
/// and "Peak (bytes)": the highest use during the call minus the use before it. A program keeps its memory between
/// calls, so later calls do not allocate it again. Takes no options.
pub const OPD_COLLECTOR_MEMORY: opd_collector_kind = 1;
/// The kernel's counters. All counters of a thread are in one group, so they count during the same time. If no events
/// are named: cycles, instructions, cache-references, cache-misses, branch-misses. There are also task-clock (ns),
/// page-faults, minor-faults, major-faults, context-switches, cpu-migrations. If the hardware counted an event only
/// part of the time, it is scaled, and the configuration says so. Source: perf_event_open(2).
pub const OPD_COLLECTOR_PERF: opd_collector_kind = 2;
/// PAPI's events, each in a column of its name. If no events are named, they are TVM's five: perf::CYCLES,
/// perf::STALLED-CYCLES-FRONTEND, perf::STALLED-CYCLES-BACKEND, perf::INSTRUCTIONS, perf::CACHE-MISSES. The PAPI
/// library is loaded at the first use. Events of components other than perf_event count the whole process. Source: TVM
/// 0.23 PAPIMetricCollector; PAPI 7.
pub const OPD_COLLECTOR_PAPI: opd_collector_kind = 3;
/// The energy that the whole processor used: "Energy of PACKAGE (uJ)" for each domain that the kernel offers. Takes
/// no options. Source: Linux powercap, intel-rapl.
pub const OPD_COLLECTOR_ENERGY: opd_collector_kind = 4;
/// NVIDIA's GPUs, read from NVML when the call ends. The columns have NVML's number of the GPU:
/// - "Power draw of GPU 0 (W)" and "Temperature of GPU 0 (C)".
/// - "SM clock of GPU 0 (MHz)" and "Memory clock of GPU 0 (MHz)".
/// - "Utilization of GPU 0 (%)" and "Memory utilization of GPU 0 (%)".
/// - "Energy of GPU 0 (uJ)", during the call.
///
///
/// If a GPU does not report a value, its column is missing, and the configuration says so. The collector measures the
/// GPUs of the run's CUDA devices; if the run has none, it measures all GPUs. Traces of running recordings show these
/// values as counters, except the energy. Calls within a millisecond share one reading. Takes no options. Since: 0.2.
/// Source: NVML, which comes with NVIDIA's driver.
pub const OPD_COLLECTOR_NVML: opd_collector_kind = 5;
/// What a device itself counts of the kernels in a call. On Vulkan that is "Compute shader invocations": the threads
/// of the kernels that the calling thread launched. On CUDA the events are metrics of CUPTI's range profiler that end
/// with ".sum", such as sm__inst_executed.sum, as many as CUPTI counts in one run of a kernel; they count the whole
/// device. The begin and the end of a call wait for the device. Devices without counters have no columns, and the
/// configuration says why. Since: 0.2. Source: Vulkan 1.3 - A Specification, VK_QUERY_TYPE_PIPELINE_STATISTICS;
/// NVIDIA, CUPTI 12.6, Range Profiling API.
pub const OPD_COLLECTOR_DEVICE: opd_collector_kind = 6;
/// Not a value: makes the type 32 bits wide.
pub const OPD_COLLECTOR_KIND_MAX_ENUM: opd_collector_kind = 0x7FFFFFFF;
/// A form of a trace.
pub type opd_trace_format = c_uint;
/// Chrome trace events, as torch.profiler writes them
pub const OPD_TRACE_CHROME: opd_trace_format = 0;
/// a text table as torch.profiler's key_averages().table()
pub const OPD_TRACE_TABLE: opd_trace_format = 1;
/// for flame graphs: lines of span names, outermost first, joined by ';', and the self
/// time of the innermost span
pub const OPD_TRACE_STACKS: opd_trace_format = 2;
/// JSON for speedscope
pub const OPD_TRACE_SPEEDSCOPE: opd_trace_format = 3;
/// Perfetto's protocol buffers: a .pftrace file
pub const OPD_TRACE_PERFETTO: opd_trace_format = 4;
/// a profile for pprof: protocol buffers, compressed by gzip
pub const OPD_TRACE_PPROF: opd_trace_format = 5;
/// a page for a browser, without a network: time line, flame graph, table of operators.
/// Since: 0.2
pub const OPD_TRACE_HTML: opd_trace_format = 6;
/// a flame graph: SVG without a script; the title of a box has its total time and self
/// time.
/// Since: 0.2
pub const OPD_TRACE_FLAME_SVG: opd_trace_format = 7;
/// JSON: \[times, sizes\], of a trace with memory. Times are µs of Unix time; sizes\[i\] are 9 numbers of bytes: 0, then
/// those in use from times\[i\] on as parameter, optimizer state, input, temporary, activation, gradient, autograd
/// detail and unknown. The first row is the memory that was in use before the recording.
pub const OPD_TRACE_MEMORY_TIMELINE: opd_trace_format = 8;
/// JSON: a list of \[ns of Unix time, action, bytes, category\]. Actions: 1: existed before the recording, with the
/// time -1; 2: allocated; 3: new contents, in two rows: negative bytes of the old category, then bytes of the new one;
/// 4: freed, with negative bytes. Categories: 0 to 7, in the order above.
pub const OPD_TRACE_MEMORY_TIMELINE_RAW: opd_trace_format = 9;
/// a page that shows the memory timeline: one file that fetches nothing
pub const OPD_TRACE_MEMORY_TIMELINE_HTML: opd_trace_format = 10;
/// Experimental: OpenTelemetry's profiles, protocol buffers of its version v1development, which may change. Each
/// stack of a thread has a sample. Its times are the begins of the spans, its values their self times. Since: 0.2
pub const OPD_TRACE_OTLP: opd_trace_format = 11;
/// Not a value: makes the type 32 bits wide.
pub const OPD_TRACE_FORMAT_MAX_ENUM: opd_trace_format = 0x7FFFFFFF;
/// Rows of a report of a trace.
///
/// Views by part divide a trace into parts, so that `opd_report_diff()` can tell changes from noise. They have a row for
/// each name, or path, in a part, and a column "Run" with the number of the part, from 0. The parts are the steps of a
/// profiler's schedule, with the spans of all threads of the process during the step. If the trace has no steps, the
/// parts are the outermost runs of programs. If it has no runs, they are the outermost ranges, else the whole trace.
/// Spans outside of all parts are left out, and so are parts that had not ended when the recording did.
pub type opd_trace_view = c_uint;
/// each span, in the order of their begins
pub const OPD_TRACE_EVENTS: opd_trace_view = 0;
/// all spans of one name
pub const OPD_TRACE_KEY_AVERAGES: opd_trace_view = 1;
/// all spans of one name and shapes
pub const OPD_TRACE_KEY_AVERAGES_BY_SHAPE: opd_trace_view = 2;
/// each task of a parallel loop, in the order of their begins
pub const OPD_TRACE_TASKS: opd_trace_view = 3;
/// all spans of one stack of names
pub const OPD_TRACE_PATHS: opd_trace_view = 4;
/// all spans of one name in a part of the trace
pub const OPD_TRACE_KEY_AVERAGES_BY_PART: opd_trace_view = 5;
/// all spans of one stack of names in a part of the trace
pub const OPD_TRACE_PATHS_BY_PART: opd_trace_view = 6;
/// Not a value: makes the type 32 bits wide.
pub const OPD_TRACE_VIEW_MAX_ENUM: opd_trace_view = 0x7FFFFFFF;
/// Which events are dropped if the buffer is full. Append-only.
pub type opd_profiler_buffer = c_uint;
/// the newest events
pub const OPD_PROFILER_KEEP_FIRST: opd_profiler_buffer = 0;
/// the oldest events of all threads: a ring buffer
pub const OPD_PROFILER_KEEP_LAST: opd_profiler_buffer = 1;
/// Not a value: makes the type 32 bits wide.
pub const OPD_PROFILER_BUFFER_MAX_ENUM: opd_profiler_buffer = 0x7FFFFFFF;
/// Actions of a profiler in a step. Append-only.
pub type opd_profiler_action = c_uint;
/// nothing
pub const OPD_PROFILER_NONE: opd_profiler_action = 0;
/// nothing, but it will record soon
pub const OPD_PROFILER_WARMUP: opd_profiler_action = 1;
/// records
pub const OPD_PROFILER_RECORD: opd_profiler_action = 2;
/// records, and ends the cycle with the step
pub const OPD_PROFILER_RECORD_AND_SAVE: opd_profiler_action = 3;
/// Not a value: makes the type 32 bits wide.
pub const OPD_PROFILER_ACTION_MAX_ENUM: opd_profiler_action = 0x7FFFFFFF;
/// Return values of an instrument before a call. Source: TVM VMInstrumentReturnKind.
pub type opd_instrument_action = c_uint;
/// The call runs. So it does for any other result.
pub const OPD_INSTRUMENT_NO_OP: opd_instrument_action = 0;
/// The call is skipped, its result is `OPD_NONE`, and the instrument is not
/// called after it.
pub const OPD_INSTRUMENT_SKIP_RUN: opd_instrument_action = 1;
/// Not a value: makes the type 32 bits wide.
pub const OPD_INSTRUMENT_ACTION_MAX_ENUM: opd_instrument_action = 0x7FFFFFFF;
/// Which calls a profile shows beside calls of kernels and of the program's own functions.
pub type opd_profile_builtins = c_uint;
/// calls with a tensor among their arguments, as TVM's profiler
pub const OPD_BUILTINS_WITH_TENSORS: opd_profile_builtins = 0;
/// every call
pub const OPD_BUILTINS_ALL: opd_profile_builtins = 1;
/// every call; outermost calls of vm.builtin.* share one row, "(builtins)";
/// others count in the row of the function that made them
pub const OPD_BUILTINS_FOLDED: opd_profile_builtins = 2;
/// Not a value: makes the type 32 bits wide.
pub const OPD_PROFILE_BUILTINS_MAX_ENUM: opd_profile_builtins = 0x7FFFFFFF;
/// A form of metrics as text.
pub type opd_telemetry_format = c_uint;
/// "text/plain; version=0.0.4; charset=utf-8"
pub const OPD_TELEMETRY_PROMETHEUS: opd_telemetry_format = 0;
/// "application/openmetrics-text; version=1.0.0; charset=utf-8"
pub const OPD_TELEMETRY_OPEN_METRICS: opd_telemetry_format = 1;
/// Not a value: makes the type 32 bits wide.
pub const OPD_TELEMETRY_FORMAT_MAX_ENUM: opd_telemetry_format = 0x7FFFFFFF;
/// Kinds of a program's own values: metrics, by the meaning of their values, and spans.
pub type opd_telemetry_kind = c_uint;
/// a sum that only rises; its name in texts ends in "_total"
pub const OPD_TELEMETRY_COUNTER: opd_telemetry_kind = 0;
/// any value
pub const OPD_TELEMETRY_GAUGE: opd_telemetry_kind = 1;
/// no metric, but a span that has ended, for the collector
pub const OPD_TELEMETRY_SPAN: opd_telemetry_kind = 2;
/// Not a value: makes the type 32 bits wide.
pub const OPD_TELEMETRY_KIND_MAX_ENUM: opd_telemetry_kind = 0x7FFFFFFF;
/// C's struct `DLPackVersion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// As in C's `DLPackVersion`.
    pub major: u32,
    /// As in C's `DLPackVersion`.
    pub minor: u32,
}
/// C's struct `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// As in C's `DLDevice`.
    pub device_type: DLDeviceType,
    /// As in C's `DLDevice`.
    pub device_id: i32,
}
/// C's struct `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// As in C's `DLDataType`.
    pub code: u8,
    /// As in C's `DLDataType`.
    pub bits: u8,
    /// As in C's `DLDataType`.
    pub lanes: u16,
}
/// C's struct `DLTensor`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLTensor {
    /// As in C's `DLTensor`.
    pub data: *mut c_void,
    /// As in C's `DLTensor`.
    pub device: DLDevice,
    /// As in C's `DLTensor`.
    pub ndim: i32,
    /// As in C's `DLTensor`.
    pub dtype: DLDataType,
    /// As in C's `DLTensor`.
    pub shape: *mut i64,
    /// As in C's `DLTensor`.
    pub strides: *mut i64,
    /// As in C's `DLTensor`.
    pub byte_offset: u64,
}
/// C's struct `DLManagedTensor`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLManagedTensor {
    /// As in C's `DLManagedTensor`.
    pub dl_tensor: DLTensor,
    /// As in C's `DLManagedTensor`.
    pub manager_ctx: *mut c_void,
    /// As in C's `DLManagedTensor`.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}
/// C's struct `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLManagedTensorVersioned {
    /// As in C's `DLManagedTensorVersioned`.
    pub version: DLPackVersion,
    /// As in C's `DLManagedTensorVersioned`.
    pub manager_ctx: *mut c_void,
    /// As in C's `DLManagedTensorVersioned`.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// As in C's `DLManagedTensorVersioned`.
    pub flags: u64,
    /// As in C's `DLManagedTensorVersioned`.
    pub dl_tensor: DLTensor,
}
/// A tagged value. Frozen: 16 bytes, these offsets. Unused bytes are 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_value {
    /// an `opd_type`, or a kind made at run time
    pub r#type: i32,
    /// bytes used of u.bytes for the two small kinds, else 0
    pub length: u32,
    /// As in C's `opd_value`.
    pub u: opd_value_u,
}
/// C's union `opd_value_u`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union opd_value_u {
    /// As in C's `opd_value_u`.
    pub int64: i64,
    /// As in C's `opd_value_u`.
    pub float64: f64,
    /// As in C's `opd_value_u`.
    pub pointer: *mut c_void,
    /// As in C's `opd_value_u`.
    pub cstring: *const c_char,
    /// As in C's `opd_value_u`.
    pub dltensor: *mut DLTensor,
    /// As in C's `opd_value_u`.
    pub dtype: DLDataType,
    /// As in C's `opd_value_u`.
    pub device: DLDevice,
    /// As in C's `opd_value_u`.
    pub object: *mut opd_object,
    /// As in C's `opd_value_u`.
    pub bytes: [c_char; 8],
}
/// Memory in use on a device by the whole process. Sizes in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_memory_stats {
    /// sizeof(`opd_memory_stats`), set by the caller; then the bytes that were filled
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// held by tensors, storages and workspaces
    pub live_bytes: u64,
    /// greatest live_bytes since the start or the last `opd_memory_reset_peak()`
    pub peak_bytes: u64,
    /// taken from the system: live and pooled
    pub reserved_bytes: u64,
    /// requests
    pub alloc_count: u64,
    /// requests served from a pool
    pub pool_hit_count: u64,
    /// the part of live_bytes that VMs keep for their next call and that is not in use now.
    /// `opd_vm_trim()` frees it; so does a VM that runs short of memory
    pub idle_bytes: u64,
}
/// An allocator for CPU memory, for programs with an arena of their own. Both functions must be thread-safe.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_memory_hooks {
    /// sizeof(`opd_memory_hooks`)
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// As in C's `opd_memory_hooks`.
    pub allocate: Option<unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void>,
    /// As in C's `opd_memory_hooks`.
    pub deallocate: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize)>,
    /// handed to both
    pub user_data: *mut c_void,
    /// called with user_data once the hooks were replaced and all their blocks were freed; may be
    /// NULL
    pub deleter: opd_deleter,
}
/// One argument of a kernel. Its layout is final.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_kernel_arg {
    /// `size_bytes` bytes in the layout of the kernel's parameter; the alignment may be as small
    /// as 8
    pub value: *const c_void,
    /// of the value
    pub size_bytes: u32,
    /// 1: the value is an address on the device, or NULL
    pub is_address: u32,
}
/// How a kernel is launched. All of it is borrowed for the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_kernel_launch {
    /// sizeof(`opd_kernel_launch`) of the library
    pub struct_size: u32,
    /// of args
    pub num_args: u32,
    /// in the order of the kernel's parameters
    pub args: *const opd_kernel_arg,
    /// As in C's `opd_kernel_launch`.
    pub grid: [u32; 3],
    /// As in C's `opd_kernel_launch`.
    pub block: [u32; 3],
    /// As in C's `opd_kernel_launch`.
    pub cluster: [u32; 3],
    /// 1: all blocks must run at once
    pub is_cooperative: u32,
    /// memory that the threads of a block share, beyond what the code states
    pub dynamic_shared_bytes: u64,
    /// of create_stream, or NULL for the default one
    pub stream: *mut c_void,
}
/// A piece of work that a plug-in reports. It has ended: its times are not after get_time, and not before opdyno began
/// to ask. Work for which that does not hold, and work without a name, counts as lost.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_device_activity {
    /// sizeof(`opd_device_activity`)
    pub struct_size: u32,
    /// what it was
    pub kind: opd_activity_kind,
    /// borrowed for the call, UTF-8, ends with NUL: of the kernel, or what else was done. Of more
    /// than 4096 bytes, the first ones are taken
    pub name: *const c_char,
    /// on the clock of get_time; not 0
    pub begin_ns: u64,
    /// the same; not before begin_ns
    pub end_ns: u64,
    /// of a copy or a fill, below 2^40; else 0
    pub bytes: u64,
    /// of set_correlation, on the thread that submitted the work; 0: there was none
    pub correlation: u64,
    /// which device of the kind
    pub device_id: i32,
    /// a number below 65535 for the stream, 0 for the default one. It counts only for work without
    /// a correlation; other work has the stream of its launch
    pub stream: u32,
}
/// The functions of a kind of devices. A function may be NULL only if its comment says so; then devices of the kind
/// lack that feature. All functions are called on any thread, several at once. Errors that they return are taken over.
/// An error names the cause; opdyno adds the operator.
///
/// Work in one stream runs in the order of submission; different streams may run concurrently. A function that submits
/// work need not wait for it. If the functions for streams are NULL, work must be complete when its function returns.
///
/// Addresses are device addresses: the host never accesses them, but opdyno adds offsets to them. No two blocks may have
/// the same address, and no block may have an address of host memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_device_table {
    /// sizeof(`opd_device_table`)
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// As in C's `opd_device_table`.
    pub get_attr: Option<unsafe extern "C" fn(*mut c_void, i32, opd_device_attr, *mut opd_value) -> *mut opd_error>,
    /// As in C's `opd_device_table`.
    pub allocate: Option<unsafe extern "C" fn(*mut c_void, i32, u64, u64) -> *mut c_void>,
    /// As in C's `opd_device_table`.
    pub deallocate: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, u64)>,
    /// As in C's `opd_device_table`.
    pub copy: Option<
        unsafe extern "C" fn(
            *mut c_void,
            *const c_void,
            DLDevice,
            *mut c_void,
            DLDevice,
            u64,
            *mut c_void,
        ) -> *mut opd_error,
    >,
    /// As in C's `opd_device_table`.
    pub sync: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, c_int) -> *mut opd_error>,
    /// As in C's `opd_device_table`.
    pub create_stream: Option<unsafe extern "C" fn(*mut c_void, i32, *mut *mut c_void) -> *mut opd_error>,
    /// As in C's `opd_device_table`.
    pub free_stream: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void)>,
    /// As in C's `opd_device_table`.
    pub build: Option<
        unsafe extern "C" fn(*mut c_void, i32, *const c_char, *const c_void, usize, *mut *mut c_void) -> *mut opd_error,
    >,
    /// As in C's `opd_device_table`.
    pub free_program: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void)>,
    /// As in C's `opd_device_table`.
    pub find_kernel:
        Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, *const c_char, *mut *mut c_void) -> *mut opd_error>,
    /// As in C's `opd_device_table`.
    pub launch: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, *const opd_kernel_launch) -> *mut opd_error>,
    /// handed to all; it must last as long as the process
    pub user_data: *mut c_void,
    /// As in C's `opd_device_table`.
    pub record_event: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, *mut *mut c_void) -> *mut opd_error>,
    /// As in C's `opd_device_table`.
    pub wait_event: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, *mut u64) -> *mut opd_error>,
    /// As in C's `opd_device_table`.
    pub free_event: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void)>,
    /// As in C's `opd_device_table`.
    pub get_time: Option<unsafe extern "C" fn(*mut c_void, i32, *mut u64) -> *mut opd_error>,
    /// As in C's `opd_device_table`.
    pub set_activity: Option<unsafe extern "C" fn(*mut c_void, i32) -> *mut opd_error>,
    /// As in C's `opd_device_table`.
    pub set_correlation: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    /// As in C's `opd_device_table`.
    pub read_activity:
        Option<unsafe extern "C" fn(*mut c_void, i32, opd_activity_receiver, *mut c_void, *mut u64) -> *mut opd_error>,
}
/// How a file is opened.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_params_options {
    /// set by `opd_params_options_init()`
    pub struct_size: u32,
    /// 1: copies all tensors at once and closes the file; 0
    pub copy: i32,
    /// 1: has the system read the file ahead, without waiting for it; 0
    pub prefetch: i32,
    /// 1: compares the checksums that the file has (zip entries, shards); reads all of it; 0
    pub verify_checksums: i32,
}
impl Default for opd_params_options {
    /// The defaults that `opd_params_options_init` writes.
    fn default() -> Self {
        Self { struct_size: size_of::<Self>() as u32, copy: 0, prefetch: 0, verify_checksums: 0 }
    }
}
/// The properties of a tensor in a set, known before the tensor is made. Pointers are borrowed from the set, until it
/// is released or the tensor is replaced.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_tensor_info {
    /// sizeof(`opd_tensor_info`), set by the caller; then the bytes that were filled
    pub struct_size: u32,
    /// number of dimensions
    pub ndim: i32,
    /// UTF-8
    pub name: *const c_char,
    /// `ndim` sizes; never NULL
    pub shape: *const i64,
    /// of the elements, compactly
    pub bytes: u64,
    /// their type
    pub dtype: DLDataType,
    /// 1: the tensor is, or once asked for will be, a view of the file
    pub is_view: i32,
}
/// How the tensors have been made so far. Sizes in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_params_stats {
    /// sizeof(`opd_params_stats`), set by the caller; then the bytes that were filled
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// of all tensors of the set
    pub total_bytes: u64,
    /// of the tensors of a file that were given as views of it
    pub viewed_bytes: u64,
    /// of the tensors of a file that were copied or decoded into memory of their own
    pub copied_bytes: u64,
}
/// How to load.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_module_options {
    /// set by `opd_module_options_init()`
    pub struct_size: u32,
    /// an `opd_copy_policy`; `OPD_COPY_ALWAYS`
    pub copy: i32,
    /// "so", "vmexec", "c", "o", "a", "tar"; NULL: detected by content, then by suffix
    pub format: *const c_char,
    /// compiles C sources and links objects; NULL: $CC, then cc
    pub compiler: *const c_char,
    /// its flags, split at spaces; NULL: "-O2"
    pub c_flags: *const c_char,
    /// for compiled and linked files; NULL: $OPDYNO_CACHE_DIR, $XDG_CACHE_HOME/opdyno,
    /// ~/.cache/opdyno
    pub cache_dir: *const c_char,
    /// 1: reads the file and runs nothing of it (see `opd_module_load()`); 0
    pub inspect_only: i32,
    /// most time that the compiler and linker may take together. Then they are ended, and
    /// loading fails with `OPD_DEADLINE_EXCEEDED`; 0: any
    pub build_timeout_ms: i32,
}
impl Default for opd_module_options {
    /// The defaults that `opd_module_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            copy: 0,
            format: core::ptr::null(),
            compiler: core::ptr::null(),
            c_flags: core::ptr::null(),
            cache_dir: core::ptr::null(),
            inspect_only: 0,
            build_timeout_ms: 0,
        }
    }
}
/// How to export.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_export_options {
    /// set by `opd_export_options_init()`
    pub struct_size: u32,
    /// 0
    pub num_addons: i32,
    /// further object files, archives of them and C sources, which are linked in. If no
    /// module of the tree has code, the root imports a module with their functions. NULL:
    /// none
    pub addons: *const *const c_char,
    /// compiles C sources and links objects; NULL: $CC, then cc
    pub compiler: *const c_char,
    /// its flags, split at spaces; NULL: "-O2"
    pub c_flags: *const c_char,
    /// keeps intermediate files; NULL: a temporary directory that is removed
    pub workspace_dir: *const c_char,
}
impl Default for opd_export_options {
    /// The defaults that `opd_export_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            num_addons: 0,
            addons: core::ptr::null(),
            compiler: core::ptr::null(),
            c_flags: core::ptr::null(),
            workspace_dir: core::ptr::null(),
        }
    }
}
/// One instruction. The functions below make it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_instruction {
    /// sizeof(`opd_instruction`)
    pub struct_size: u32,
    /// an `opd_opcode`
    pub opcode: i32,
    /// a register: where a call writes (`OPD_REGISTER_VOID`: nowhere), or what is read
    pub reg: i64,
    /// of a jump, in instructions
    pub offset: i64,
    /// borrowed; of a call
    pub callee: *const c_char,
    /// borrowed; `num_args` operands of a call
    pub args: *const opd_operand,
    /// 0
    pub num_args: i32,
    /// 0
    pub reserved: u32,
}
/// How tables look; for `OPD_REPORT_TABLE`, `OPD_REPORT_MARKDOWN` and `OPD_REPORT_HTML`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_report_write_options {
    /// set by `opd_report_write_options_init()`
    pub struct_size: u32,
    /// 1: by descending duration; 0: program order; 1
    pub sort: i32,
    /// 1: calls of one operator with equal shapes on one device make one row; 1
    pub aggregate: i32,
    /// 1: a row of sums; 1
    pub col_sums: i32,
    /// For `OPD_REPORT_TABLE`. 0: every column, as wide as needed, as TVM writes it. Any other number, at least 40: a
    /// summary in lines of at most so many characters: the slowest operators, times with units, and a sentence on what
    /// would help. A summary is for people and cannot be read back. 0
    pub width: i32,
    /// rows of operators in a summary; 0: all; 0
    pub max_rows: i32,
    /// 1: a summary has bars and the colours of a terminal (ECMA-48); 0
    pub colored: i32,
}
impl Default for opd_report_write_options {
    /// The defaults that `opd_report_write_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            sort: 1,
            aggregate: 1,
            col_sums: 1,
            width: 0,
            max_rows: 0,
            colored: 0,
        }
    }
}
/// A program's own collector. If a function is NULL, its step is skipped. Errors that the functions return are taken
/// over.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_collector_table {
    /// sizeof(`opd_collector_table`)
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// As in C's `opd_collector_table`.
    pub init: Option<unsafe extern "C" fn(*mut c_void, *const DLDevice, i32) -> *mut opd_error>,
    /// As in C's `opd_collector_table`.
    pub start: Option<unsafe extern "C" fn(*mut c_void, DLDevice, *mut *mut c_void) -> *mut opd_error>,
    /// As in C's `opd_collector_table`.
    pub stop: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut opd_metrics) -> *mut opd_error>,
    /// handed to all
    pub user_data: *mut c_void,
    /// called with user_data after the last reference ended; may be NULL
    pub deleter: opd_deleter,
}
/// Built-in collectors.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_counter_options {
    /// set by `opd_counter_options_init()`
    pub struct_size: u32,
    /// 1: also columns "NAME (least of threads)" and "NAME (most of threads)"; 0
    pub per_thread: i32,
    /// 1: events that cannot be counted here are left out; the configuration says why; 0
    pub best_effort: i32,
    /// 0: the collector's usual ones
    pub num_events: i32,
    /// borrowed; `num_events` names of events; NULL: the usual ones
    pub events: *const *const c_char,
    /// borrowed; a device for each of `events`: the event is counted during calls on that
    /// device; NULL:   the CPU
    pub devices: *const DLDevice,
    /// 1: the collector is for profiles on other machines: of a VM whose module is of `opd_rpc_session_load_module()`. The
    /// other machine looks whether it has the events; this one does not. In a profile on this one the collector
    /// fails: the report says so, and lacks its columns. 0
    pub elsewhere: i32,
    /// 0
    pub reserved: i32,
}
impl Default for opd_counter_options {
    /// The defaults that `opd_counter_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            per_thread: 0,
            best_effort: 0,
            num_events: 0,
            events: core::ptr::null(),
            devices: core::ptr::null(),
            elsewhere: 0,
            reserved: 0,
        }
    }
}
/// Options of `opd_trace_write()`. The fields from `group_by_input_shape` to `time_unit` are of `OPD_TRACE_TABLE`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_trace_write_options {
    /// set by `opd_trace_write_options_init()`
    pub struct_size: u32,
    /// `OPD_TRACE_STACKS` and `OPD_TRACE_TABLE`: 1: a line for each span; 0: a line for each stack, or
    /// for each name; 0
    pub per_event: i32,
    /// of `OPD_TRACE_STACKS`: "self_cpu_time_total" is the self time on the host in µs,
    /// "self_cuda_time_total" that on other devices; NULL: "self_cpu_time_total"; NULL
    pub metric: *const c_char,
    /// of `OPD_TRACE_CHROME`: a JSON object whose members become those of the file; NULL
    pub metadata: *const c_char,
    /// 1: spans of different shapes have rows of their own; 0
    pub group_by_input_shape: i32,
    /// 1: a column of floating-point operations, where they are known; 0
    pub with_flops: i32,
    /// "count", "flops", "key", "self_cpu_time_total", "cpu_time_total", "cpu_time",
    /// "cpu_memory_usage" or "self_cpu_memory_usage"; the last five also with "cuda" or
    /// "device" for "cpu". The largest come first; NULL: in the order of the first
    /// begins
    pub sort_by: *const c_char,
    /// -1: all rows; 100
    pub row_limit: i32,
    /// 1: only spans that no other one contains; 0
    pub top_level_events_only: i32,
    /// in characters; 55
    pub max_name_column_width: i32,
    /// in characters; 80
    pub max_shapes_column_width: i32,
    /// a line above the table; NULL
    pub header: *const c_char,
    /// "s", "ms" or "us"; NULL: each time has the unit that suits it
    pub time_unit: *const c_char,
    /// of memory timelines: such as "cuda:0"; NULL: a device other than the host if the trace has
    /// memory of one, else the host
    pub device: *const c_char,
    /// of `OPD_TRACE_TABLE` and `opd_trace_to_report()`: spans are joined only if so many of
    /// the host's functions are equal, from the innermost on. Needs a trace with stacks;
    /// 0
    pub group_by_stack_n: i32,
    /// of `OPD_TRACE_TABLE`, in characters; 75
    pub max_src_column_width: i32,
    /// Of `OPD_TRACE_FLAME_SVG`: an earlier trace, borrowed. Then the picture compares both. The width of a box is the mean
    /// of its times in a part of either trace; `opd_trace_view` says what the parts are. Its colour shows how much its self
    /// time changed. The host's functions are not shown. NULL. Since: 0.2
    pub before: *mut opd_trace,
}
impl Default for opd_trace_write_options {
    /// The defaults that `opd_trace_write_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            per_event: 0,
            metric: core::ptr::null(),
            metadata: core::ptr::null(),
            group_by_input_shape: 0,
            with_flops: 0,
            sort_by: core::ptr::null(),
            row_limit: 100,
            top_level_events_only: 0,
            max_name_column_width: 55,
            max_shapes_column_width: 80,
            header: core::ptr::null(),
            time_unit: core::ptr::null(),
            device: core::ptr::null(),
            group_by_stack_n: 0,
            max_src_column_width: 75,
            before: core::ptr::null_mut(),
        }
    }
}
/// How traces are joined. Each list has an item for each trace, or none.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_trace_merge_options {
    /// set by `opd_trace_merge_options_init()`
    pub struct_size: u32,
    /// 0
    pub num_labels: i32,
    /// Borrowed; distinct names for the processes, such as "rank 0". "": a process keeps its own name; NULL: all do
    pub labels: *const *const c_char,
    /// 0
    pub num_offsets_ns: i32,
    /// 0
    pub num_clock_errors_ns: i32,
    /// borrowed; added to the times of each trace; NULL: nothing
    pub offsets_ns: *const i64,
    /// borrowed; the error of each clock, to be shown; -1: the error that the system
    /// stated; NULL: -1 for all
    pub clock_errors_ns: *const i64,
}
impl Default for opd_trace_merge_options {
    /// The defaults that `opd_trace_merge_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            num_labels: 0,
            labels: core::ptr::null(),
            num_offsets_ns: 0,
            num_clock_errors_ns: 0,
            offsets_ns: core::ptr::null(),
            clock_errors_ns: core::ptr::null(),
        }
    }
}
/// Activities that a profiler records.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_profiler_options {
    /// set by `opd_profiler_options_init()`
    pub struct_size: u32,
    /// 1: also calls without a tensor among their arguments; 0
    pub all_calls: i32,
    /// limit for each thread, calls and ranges together; further events are counted as dropped. It
    /// does not apply to a ring buffer or a file; 2^20
    pub max_events: u64,
    /// Of a schedule of steps, which `opd_profiler_step()` ends. The first `skip_first` steps are not recorded. Then cycles
    /// follow: each has `wait` and `warmup` steps that are not recorded, then `active` steps that are. 0
    pub wait: u64,
    /// of a schedule, see `wait`; 0
    pub warmup: u64,
    /// 0: there is no schedule, and all is recorded; 0
    pub active: u64,
    /// number of cycles; 0: without end; 0
    pub repeat: u64,
    /// steps before the first cycle; 0
    pub skip_first: u64,
    /// 1: the first cycle does not wait; 0
    pub skip_first_wait: i32,
    /// 1: also memory, on all threads. There is an event when a block is allocated for
    /// tensors and kernels, when it is freed, and when the library gives it new contents;
    /// 0
    pub profile_memory: i32,
    /// 1: also the host's call stack when a run of a program, a range or a mark begins; 0
    pub with_stack: i32,
    /// 1: also each task of a parallel loop, on the thread that runs it; 0: none; 1
    pub parallel_tasks: i32,
    /// which events are dropped beyond `max_bytes`; they are counted;
    /// `OPD_PROFILER_KEEP_FIRST`
    pub buffer: opd_profiler_buffer,
    /// 1: `opd_profiler_stop()` and `opd_profiler_step()` do not read the file, so they give no
    /// trace: a file of some GiB would take as much memory; 0
    pub keep_in_file: i32,
    /// Limit for the events of all threads together: of their memory, or of the file's size. Events are kept in blocks of
    /// 64 KiB; each thread has at least one. With a file, FILE.live has one block for each thread, and names and counts
    /// come in addition. 0: no limit, but 64 MiB for a ring buffer; 0
    pub max_bytes: u64,
    /// Borrowed: path of a file. Events are written to it, not to memory, while they are recorded; `opd_trace_load()` reads
    /// it. If the process is killed, the events that it published are in FILE and FILE.live. The next recording into FILE
    /// renames these to FILE.crashed and FILE.crashed.live. Each recording of a schedule writes the file anew. NULL:
    /// events stay in memory; NULL
    pub file: *const c_char,
    /// a trace leaves out events that ended more than so many ns before it is made; 0: none; 0
    pub last_ns: u64,
    /// Interval at which a thread of the library syncs the file to the disk, at most a day. If the machine loses power,
    /// the files have all events from before the last sync but one; docs/tracing.md has the exception. 0: the system
    /// decides when, often 30 s later. A killed process loses nothing in either case; 0
    pub flush_interval_ns: u64,
    /// 1: also kernels and copies on devices other than the CPU. Their times are the device's, converted to the trace's
    /// clock. They are listed by the host thread that submitted them. 0: none. If a driver reports no times, its devices
    /// have no such events. 2: the devices' own libraries report the work: NVIDIA's CUPTI that of CUDA devices, and
    /// plug-ins with set_activity that of theirs. It includes work of other code in the process, memory fills, and the
    /// overhead of the driver and of CUPTI. Only one program can use CUPTI in a process at a time; 1
    pub device_work: i32,
    /// 0
    pub reserved: i32,
}
impl Default for opd_profiler_options {
    /// The defaults that `opd_profiler_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            all_calls: 0,
            max_events: 1048576,
            wait: 0,
            warmup: 0,
            active: 0,
            repeat: 0,
            skip_first: 0,
            skip_first_wait: 0,
            profile_memory: 0,
            with_stack: 0,
            parallel_tasks: 1,
            buffer: 0,
            keep_in_file: 0,
            max_bytes: 0,
            file: core::ptr::null(),
            last_ns: 0,
            flush_interval_ns: 0,
            device_work: 1,
            reserved: 0,
        }
    }
}
/// When a profiler writes a dump of its events. With a ring buffer (`OPD_PROFILER_KEEP_LAST`) it can record all the time,
/// and a dump shows what came before a rare event.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_profiler_dump_options {
    /// set by `opd_profiler_dump_options_init()`
    pub struct_size: u32,
    /// of the files; `OPD_TRACE_CHROME`
    pub format: opd_trace_format,
    /// Borrowed: the path of each dump. "%p" is the number of the process, "%n" the number of the dump, from 1; "%%" is
    /// "%". An existing file is replaced. If the path ends in ".gz", files are compressed by gzip. Required; NULL
    pub path: *const c_char,
    /// this signal triggers a dump, such as SIGUSR2; 0: none does; 0
    pub signal: i32,
    /// 1: a run of a program that fails triggers a dump; 0
    pub on_error: i32,
    /// a range or a run of a program that took at least so many ns triggers a dump when it
    /// ends; 0: none does; 0
    pub slow_ns: u64,
    /// least time from a dump for an error or a slow span to the next one; 10^10
    pub min_interval_ns: u64,
    /// most dumps for errors and slow spans, of each recording; 100
    pub max_dumps: u64,
}
impl Default for opd_profiler_dump_options {
    /// The defaults that `opd_profiler_dump_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            format: 0,
            path: core::ptr::null(),
            signal: 0,
            on_error: 0,
            slow_ns: 0,
            min_interval_ns: 10000000000,
            max_dumps: 100,
        }
    }
}
/// A stack frame of a language that has no native frames, such as an interpreted one.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_stack_frame {
    /// result of `opd_range_name()`
    pub function: u32,
    /// likewise
    pub file: u32,
    /// in the file, from 1; 0: not known; at most 2^21 - 1, which stands for all larger numbers
    pub line: u32,
}
/// How to make a VM.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_vm_options {
    /// set by `opd_vm_options_init()`
    pub struct_size: u32,
    /// 0
    pub num_devices: i32,
    /// borrowed for the call. Programs name devices by their place in this list; constants
    /// lie on the first. The host is added at the end unless that is a CPU device. NULL:
    /// cpu:0
    pub devices: *const DLDevice,
    /// an `opd_allocator_kind` for each of `devices`; NULL: pooled
    pub allocators: *const i32,
    /// largest sum of live storages of one VM; 0: the cgroup's or machine's memory
    pub memory_limit_bytes: u64,
    /// nested program calls; 1000
    pub max_depth: i32,
    /// 0
    pub reserved: u32,
}
impl Default for opd_vm_options {
    /// The defaults that `opd_vm_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            num_devices: 0,
            devices: core::ptr::null(),
            allocators: core::ptr::null(),
            memory_limit_bytes: 0,
            max_depth: 1000,
            reserved: 0,
        }
    }
}
/// How to make one call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_call_options {
    /// set by `opd_call_options_init()`
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// borrowed; a parameter name for each of `args`, with NULL for positional ones; NULL:
    /// all are positional
    pub names: *const *const c_char,
    /// from the beginning of the call. Checked at calls, backward jumps and where a kernel
    /// starts parallel tasks; a running task is not interrupted. 0: none
    pub timeout_ns: i64,
    /// borrowed; cancels the call, as the thread's default token also does; NULL: the
    /// default token only
    pub cancel: *mut opd_cancel_token,
    /// borrowed, num_outputs tensors. The results are copied into them in their order once
    /// the program has run; NULL: none
    pub outputs: *const *mut opd_tensor,
    /// 0
    pub num_outputs: i32,
    /// 0
    pub reserved2: u32,
    /// borrowed; for `opd_vm_set_input()` only: the result of its function `get_params` is the
    /// last argument; NULL: none. Since: 0.2
    pub param_module: *mut opd_module,
}
impl Default for opd_call_options {
    /// The defaults that `opd_call_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            reserved: 0,
            names: core::ptr::null(),
            timeout_ns: 0,
            cancel: core::ptr::null_mut(),
            outputs: core::ptr::null(),
            num_outputs: 0,
            reserved2: 0,
            param_module: core::ptr::null_mut(),
        }
    }
}
/// How to profile.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_profile_options {
    /// set by `opd_profile_options_init()`
    pub struct_size: u32,
    /// calls before the measured ones, as in TVM; 1
    pub warmup: i32,
    /// measured calls; 1
    pub repeat: i32,
    /// 0
    pub reserved: u32,
    /// calls kept for each thread; later ones are counted and dropped; 2^20
    pub max_records: u64,
    /// an `opd_profile_builtins`; `OPD_BUILTINS_WITH_TENSORS`
    pub builtins: i32,
    /// 1: columns Start (us), Self (us), Run, Thread, Tensors (bytes), Call Path; 0
    pub details: i32,
    /// `opd_vm_profile_start()`: records one of so many calls; 1
    pub sample_interval: u64,
    /// borrowed; `num_collectors`; around every call, see collector.h; NULL: none
    pub collectors: *const *mut opd_collector,
    /// 0
    pub num_collectors: i32,
    /// from 1: `opd_report_diff()` compares this run with the run of the same turn on the
    /// other side; 0: it has no turn; 0
    pub turn: i32,
}
impl Default for opd_profile_options {
    /// The defaults that `opd_profile_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            warmup: 1,
            repeat: 1,
            reserved: 0,
            max_records: 1048576,
            builtins: 0,
            details: 0,
            sample_interval: 1,
            collectors: core::ptr::null(),
            num_collectors: 0,
            turn: 0,
        }
    }
}
/// How full a state is. A page of a paged cache holds `page_size` tokens. A page of an RNN state holds one sequence of
/// any length.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_kv_stats {
    /// sizeof(`opd_kv_stats`), set by the caller; then the bytes that were filled
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// that it holds
    pub num_sequences: i64,
    /// of all sequences; a shared token counts for each sequence that has it
    pub num_tokens: i64,
    /// largest number of sequences in a pass
    pub max_batch: i64,
    /// tokens in a page; 0: any number
    pub page_size: i64,
    /// in all
    pub num_pages: i64,
    /// that no sequence has
    pub free_pages: i64,
    /// of its device's memory, taken when it was made
    pub bytes: u64,
}
/// How to measure. The names and defaults are those of TVM's time_evaluator.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_evaluator_options {
    /// set by `opd_evaluator_options_init()`
    pub struct_size: u32,
    /// it is synchronised before the clock is read. If it has events or timestamps,
    /// its own clock measures, in the current stream of each thread; cpu:0
    pub device: DLDevice,
    /// 0
    pub reserved: u32,
    /// calls in each repeat; 10
    pub number: i64,
    /// measurements; 1
    pub repeat: i64,
    /// a repeat is done again with more calls until it lasts that long; 0
    pub min_repeat_ms: i64,
    /// tries while the clock reads 0; 100
    pub limit_zero_time_iterations: i64,
    /// sleep; 0: none
    pub cooldown_interval_ms: i64,
    /// sleeps after every so many repeats; 1
    pub repeats_to_cooldown: i64,
    /// copied from one array to another before each measurement; 0: none
    pub cache_flush_bytes: i64,
    /// borrowed; called with the arguments before each repeat; NULL: none
    pub preprocess: *mut opd_function,
    /// calls of each thread before the measured ones; 1
    pub warmup: i64,
    /// longest time for further warm-up calls, which end once their times are steady; a running call
    /// is not interrupted. Times are compared in windows of ten batches; a batch is 1 ms or one call.
    /// Times are steady if two windows in a row do not differ by Mann-Whitney's test (5 %), or differ
    /// by at most 1 %. Source: Georges, Buytaert, Eeckhout: Statistically Rigorous Java Performance
    /// Evaluation (windows of calls that agree). 0: none
    pub steady_ms: i64,
    /// threads that call at the same time; they begin each repeat together. Not with
    /// cache_flush_bytes; 1: the calling thread
    pub concurrency: i64,
}
impl Default for opd_evaluator_options {
    /// The defaults that `opd_evaluator_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            device: DLDevice { device_type: 1, device_id: 0 },
            reserved: 0,
            number: 10,
            repeat: 1,
            min_repeat_ms: 0,
            limit_zero_time_iterations: 100,
            cooldown_interval_ms: 0,
            repeats_to_cooldown: 1,
            cache_flush_bytes: 0,
            preprocess: core::ptr::null_mut(),
            warmup: 1,
            steady_ms: 0,
            concurrency: 1,
        }
    }
}
/// The figures of a benchmark, and how far they can be relied on. Times are in seconds per call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_benchmark_stats {
    /// sizeof(`opd_benchmark_stats`), set by the caller; then the bytes that were filled
    pub struct_size: u32,
    /// 1: too noisy to say: there are too few repeats for the interval, or it is wider than 5 % of
    /// the median
    pub is_noisy: u32,
    /// lower end of the 95 % confidence interval of the median: an order statistic from the
    /// binomial distribution. If consecutive repeats or the threads of a repeat are correlated,
    /// the interval is wider. 0 with too few repeats
    pub median_low: f64,
    /// upper end; infinite with fewer than 6 repeats
    pub median_high: f64,
    /// of the ranks of consecutive repeats, as the interval accounts for it; 0 to 1
    pub autocorrelation: f64,
    /// repeats that lie more than 1.5 interquartile ranges outside the quartiles. All figures
    /// include them
    pub outlier_count: i64,
    /// calls of a thread in the last repeat. This and the next three are 0 for times measured
    /// elsewhere.
    pub number: i64,
    /// calls of all threads before the measured ones
    pub warmup_count: i64,
    /// of all threads together, while the repeats ran
    pub calls_per_second: f64,
    /// 1: the warm-up ended because the times were steady; 0: they were not within steady_ms, or
    /// steady_ms was 0
    pub is_steady: u32,
    /// 0
    pub reserved: u32,
    /// since 0.2, as the rest
    pub mean: f64,
    /// As in C's `opd_benchmark_stats`.
    pub median: f64,
    /// standard deviation of the population
    pub std: f64,
    /// As in C's `opd_benchmark_stats`.
    pub min: f64,
    /// As in C's `opd_benchmark_stats`.
    pub max: f64,
    /// 1: the times are those of the device's own clock, from when its work before the calls of
    /// a repeat had ended until theirs had; 0: they are the host's, with the device
    /// synchronised, or were measured elsewhere
    pub is_device_time: u32,
    /// 0
    pub reserved2: u32,
}
/// The peak performance of this machine's processors, all together.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_machine_peak {
    /// set by the caller to sizeof(`opd_machine_peak`)
    pub struct_size: u32,
    /// threads that measured
    pub num_threads: i32,
    /// GFLOP/s: fused multiply-adds of float32, each two operations
    pub gflops: f64,
    /// GB/s: a\[i\] = b\[i\] + s * c\[i\] over arrays that no cache holds; reads and writes counted
    pub bandwidth_gbps: f64,
    /// noise of the tries: the median time divided by the shortest, minus 1. From 0.1 on, the peaks may
    /// be too low.
    pub spread: f64,
}
/// How to connect.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_rpc_connect_options {
    /// set by `opd_rpc_connect_options_init()`
    pub struct_size: u32,
    /// at a tracker: of two requests, that with the greater one is served first; 1
    pub priority: i32,
    /// borrowed; the server's key. A tracker chooses among servers with it; NULL: ""
    pub key: *const c_char,
    /// to connect and greet; 10000000000
    pub connect_timeout_ns: i64,
    /// of each request, at a tracker also for a server to be free. Later: the error
    /// `OPD_DEADLINE_EXCEEDED`; 0: no limit
    pub answer_timeout_ns: i64,
    /// the server ends the session after so long, if it supports that; 0: no limit
    pub session_timeout_ns: i64,
    /// borrowed; at least 16 bytes that the server must prove to know, as this side does,
    /// without sending them; NULL: none, as for TVM's servers
    pub secret: *const c_char,
    /// borrowed; PEM file of the authorities, one of which must have signed the certificate that
    /// the server shows. With it or tls_fingerprint, the session goes through TLS 1.3; NULL
    pub tls_ca_file: *const c_char,
    /// borrowed; SHA-256 of the server's certificate, hexadecimal: it is trusted whatever
    /// its signature, name and dates are, unless there is tls_ca_file, too; NULL
    pub tls_fingerprint: *const c_char,
    /// borrowed; the name or IP address that tls_ca_file's certificate must be for; NULL: the
    /// host of the address, also if a tracker gave it
    pub tls_name: *const c_char,
}
impl Default for opd_rpc_connect_options {
    /// The defaults that `opd_rpc_connect_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            priority: 1,
            key: core::ptr::null(),
            connect_timeout_ns: 10000000000,
            answer_timeout_ns: 0,
            session_timeout_ns: 0,
            secret: core::ptr::null(),
            tls_ca_file: core::ptr::null(),
            tls_fingerprint: core::ptr::null(),
            tls_name: core::ptr::null(),
        }
    }
}
/// Counts of a session. `opd_rpc_serve()` writes it while it runs, and others may read it: each number whole.
/// It may lie in memory that processes share.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_rpc_progress {
    /// set by `opd_rpc_progress_init()`
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// that came from the client, those that were refused among them
    pub num_requests: u64,
    /// of requests, without what TLS and TCP add
    pub received_bytes: u64,
    /// of answers, likewise
    pub sent_bytes: u64,
    /// As in C's `opd_rpc_progress`.
    pub crashed_in: [c_char; 128],
    /// with `note_span`: that the client said, and that are none; they are ignored
    pub num_bad_traceparents: u64,
    /// As in C's `opd_rpc_progress`.
    pub end_reason: [c_char; 256],
    /// of the library: what the client can still be told by `tell_end`; 0
    pub wire_state: u32,
    /// 0
    pub reserved2: u32,
}
/// How a client is served.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_rpc_serve_options {
    /// set by `opd_rpc_serve_options_init()`
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// borrowed; the server's key; NULL: ""
    pub key: *const c_char,
    /// borrowed; the key that the client must send, from a tracker; NULL: the key
    pub match_key: *const c_char,
    /// borrowed; where the session's directory for files is made, which ends with it; NULL: in
    /// the system's directory for temporary files
    pub work_folder: *const c_char,
    /// of one packet; 2147483648
    pub max_packet_bytes: u64,
    /// of all files of the session together; 2147483648
    pub max_file_bytes: u64,
    /// of the tensors that the client makes, together; 0: no limit
    pub max_tensor_bytes: u64,
    /// the session ends if the client asks nothing for so long; 0: no limit
    pub max_silence_ns: i64,
    /// 1: the process is restricted, as at `opd_rpc_serve()`; 0
    pub sandbox: i32,
    /// 1: within the sandbox, too, new connections are allowed; 0
    pub allow_network: i32,
    /// CPU time of the process, beyond which SIGXCPU ends it; 0: no limit
    pub max_cpu_s: i32,
    /// 0
    pub num_read_paths: i32,
    /// borrowed; `num_read_paths` files and directories that the sandbox lets the
    /// process read and execute, too; NULL: none
    pub read_paths: *const *const c_char,
    /// of private memory, beyond what the process has at the start of the session, and the
    /// same for each that it starts; 0: no limit
    pub max_process_bytes: u64,
    /// borrowed; the process becomes this user's, for good; only root's can. NULL: no
    pub user: *const c_char,
    /// borrowed; text as `sha256sum` prints it: modules are loaded only from files with these
    /// hashes. Of the global functions, those that could load others are closed. NULL: all
    pub allowed_modules: *const c_char,
    /// borrowed; at least 16 bytes that the client must prove to know, and this side proves,
    /// without sending them, as TVM's clients cannot; NULL: none
    pub secret: *const c_char,
    /// borrowed; PEM file of the certificate that the server shows, and of those that
    /// lead to its authority. The session goes through TLS 1.3, which TVM's clients do
    /// not speak; NULL: not
    pub tls_certificate_file: *const c_char,
    /// borrowed; PEM file of the certificate's private key, without a password; NULL
    pub tls_key_file: *const c_char,
    /// borrowed; the progress is written there; NULL
    pub progress: *mut opd_rpc_progress,
    /// called once the client has said the key and proved the secret, before the
    /// process is restricted. It may wait, as for other sessions to end. Its error,
    /// which it gives away, ends the session; NULL: all clients are welcome
    pub admit: Option<unsafe extern "C" fn(*mut c_void) -> *mut opd_error>,
    /// borrowed; for `admit` and `note_span`; NULL
    pub user_data: *mut c_void,
    /// 1: signals that end the process amid a request (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT,
    /// SIGSYS, SIGXCPU, SIGTERM), and that the program does not handle itself, are sent to the
    /// client before, with the operator that runs. At SIGURG, which another process may send now
    /// and then, that operator is noted in `progress`. For one session of the process at once; 0
    pub report_crashes: i32,
    /// 1: nothing is served. The process that served the client of `socket` has ended, and
    /// `progress` is a copy of its progress. The client gets `end_reason` and `crashed_in` as
    /// the answer to its open request, or to the next one. It gets nothing if it was told
    /// before, if an answer had begun, or with TLS. All other options are ignored. Does not
    /// wait; 0
    pub tell_end: i32,
    /// called by the serving thread when a span begins, then without
    /// `end_ns`, and when it has ended. Spans are the session, and each call of a function in it. Their
    /// parent is the span that opdyno's client says to work for; if it says that later, the session's
    /// span begins anew. `opd_telemetry_set_value()` sends spans that have ended; NULL: none are made
    pub note_span: Option<unsafe extern "C" fn(*mut c_void, *const opd_telemetry_value)>,
}
/// How runs are compared.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_diff_options {
    /// set by `opd_diff_options_init()`
    pub struct_size: u32,
    /// 1: run i before belongs to run i after; 0: only runs whose turns are recorded are paired
    /// (docs/diff.md); 0
    pub is_paired: u32,
    /// changes below this share do not matter; 0.01
    pub min_effect: f64,
    /// largest share of false verdicts among the verdicts of regression or improvement; 0.05
    pub level: f64,
    /// of the intervals; 0.95
    pub confidence: f64,
    /// the column that is compared, counts or durations; NULL: "Duration (us)"
    pub metric: *const c_char,
    /// an operator decides if it takes this share of the total, before or after; 0.01
    pub min_share: f64,
    /// a row fails if it decides and is slower by more; negative: none fails; -1
    pub fail_above: f64,
}
impl Default for opd_diff_options {
    /// The defaults that `opd_diff_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            is_paired: 0,
            min_effect: 0.01,
            level: 0.05,
            confidence: 0.95,
            metric: core::ptr::null(),
            min_share: 0.01,
            fail_above: -1.0,
        }
    }
}
/// How two programs are compared. Two numbers agree if |a - b| \<= atol + rtol * |a|.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_compare_options {
    /// set by `opd_compare_options_init()`
    pub struct_size: u32,
    /// measured runs of each program, for out_times; 0: none; 20
    pub repeat: i32,
    /// borrowed: "1e-4" for all real dtypes, or "float16=1e-2,float32=1e-5" for single dtypes. Other
    /// dtypes have those of PyTorch's assert_close(): float16 1e-3, bfloat16 1.6e-2, float32
    /// 1.3e-6, float64 1e-7, integers 0. If two dtypes differ, the larger tolerance counts;
    /// NULL
    pub rtol: *const c_char,
    /// borrowed, as rtol. Without it 1e-5, float64 1e-7, integers 0; NULL
    pub atol: *const c_char,
    /// most memory for copies of values. If a value does not fit, only its hash is kept, which
    /// shows bitwise equality only; 2^31
    pub keep_bytes: u64,
    /// borrowed; a directory for a.npz and b.npz, the tensors around the first difference;
    /// NULL: nowhere
    pub save_directory: *const c_char,
    /// for everything; 0: none
    pub timeout_ns: i64,
    /// borrowed; cancels it, as the thread's default token also does; NULL: the default
    /// token only
    pub cancel: *mut opd_cancel_token,
    /// 1: NaN agrees with NaN; 1
    pub equal_nan: i32,
    /// 0
    pub reserved: u32,
    /// borrowed; the arguments of B, as many as it takes: for a KV cache that B made, or
    /// quantised weights; NULL: those of A
    pub b_args: *mut opd_array,
}
impl Default for opd_compare_options {
    /// The defaults that `opd_compare_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            repeat: 20,
            rtol: core::ptr::null(),
            atol: core::ptr::null(),
            keep_bytes: 2147483648,
            save_directory: core::ptr::null(),
            timeout_ns: 0,
            cancel: core::ptr::null_mut(),
            equal_nan: 1,
            reserved: 0,
            b_args: core::ptr::null_mut(),
        }
    }
}
/// Parts of a call that a recording keeps.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_record_options {
    /// set by `opd_record_options_init()`
    pub struct_size: u32,
    /// 1: the bytes of program and kernels; 0: their SHA-256 only, so that a replay must be given
    /// the program; 1
    pub with_program: i32,
    /// 1: the elements of the result; 0: a hash of each tensor; 0
    pub with_outputs: i32,
    /// 1: a hash of the values after each operator, so that a replay names the first operator
    /// that differs; 0
    pub with_operators: i32,
    /// 1: the paths of program and libraries, and the machine's name; 0: none of them; 0
    pub with_paths: i32,
    /// 0
    pub reserved: u32,
}
impl Default for opd_record_options {
    /// The defaults that `opd_record_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            with_program: 1,
            with_outputs: 0,
            with_operators: 0,
            with_paths: 0,
            reserved: 0,
        }
    }
}
/// How a recorded call is made again.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_replay_options {
    /// set by `opd_replay_options_init()`
    pub struct_size: u32,
    /// 1: the call is made again; 0: the file is only read; 1
    pub run: i32,
    /// borrowed; a module of kind "relax.VMExecutable" that runs instead of the recorded program;
    /// NULL: that one
    pub module: *mut opd_module,
    /// borrowed; shown the calls, as by `opd_vm_set_instrument()`; NULL: none
    pub instrument: *mut opd_function,
    /// borrowed; path for a recording of a single operator: the one that fails, ends the process,
    /// or is the first that differs; NULL: nowhere
    pub minimise: *const c_char,
    /// borrowed, with `atol`: tolerances of results whose elements were kept, as in
    /// `opd_compare_options`; NULL: as there
    pub rtol: *const c_char,
    /// borrowed; NULL
    pub atol: *const c_char,
    /// of the replayed call; 0: none
    pub timeout_ns: i64,
    /// borrowed; cancels it, as the thread's default token also does; NULL: the default token
    /// only
    pub cancel: *mut opd_cancel_token,
    /// measured calls for out_profile, after an unmeasured one; 0: none; 1
    pub repeat: i32,
    /// 0
    pub reserved: u32,
    /// takes the place of the recorded VM's first device, also for the tensors that were on it; with
    /// type 0, no device does; none
    pub device: DLDevice,
}
impl Default for opd_replay_options {
    /// The defaults that `opd_replay_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            run: 1,
            module: core::ptr::null_mut(),
            instrument: core::ptr::null_mut(),
            minimise: core::ptr::null(),
            rtol: core::ptr::null(),
            atol: core::ptr::null(),
            timeout_ns: 0,
            cancel: core::ptr::null_mut(),
            repeat: 1,
            reserved: 0,
            device: DLDevice { device_type: 0, device_id: 0 },
        }
    }
}
/// Options of `opd_telemetry_start()`: the measurements, and their destinations.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_telemetry_options {
    /// set by `opd_telemetry_options_init()`
    pub struct_size: u32,
    /// 1: also operators: metrics, and spans within those of their calls; each call of an operator
    /// then costs what it costs in a profiler; 0
    pub per_operator: i32,
    /// Borrowed: "HOST:PORT" at which Prometheus finds the metrics, as "127.0.0.1:9464". The host is a number or
    /// "localhost". If the port is 0, the system chooses one, and `opd_telemetry_address()` gives it. Anyone who reaches the
    /// address can read the metrics; nothing is encrypted. NULL: nowhere
    pub prometheus_address: *const c_char,
    /// Borrowed: the address of an OpenTelemetry collector for OTLP/HTTP, as "http://127.0.0.1:4318". https is refused.
    /// NULL: the value of OTEL_EXPORTER_OTLP_ENDPOINT, unless OTEL_EXPORTER_OTLP_PROTOCOL is grpc
    pub otlp_endpoint: *const c_char,
    /// borrowed: "KEY=VALUE,KEY=VALUE", percent-encoded; for each request to the collector;
    /// NULL: OTEL_EXPORTER_OTLP_HEADERS
    pub otlp_headers: *const c_char,
    /// borrowed; NULL: OTEL_SERVICE_NAME, or the name of the process
    pub service_name: *const c_char,
    /// Borrowed: "KEY=VALUE,KEY=VALUE", percent-encoded: further attributes of OpenTelemetry's resource. The attributes
    /// of OTEL_RESOURCE_ATTRIBUTES are added; NULL
    pub resource_attributes: *const c_char,
    /// between two sendings of metrics to the collector, at least 1 ms; 10000000000
    pub interval_ns: u64,
    /// limit of spans that wait to be sent; beyond it, the oldest are dropped and counted;
    /// 2048
    pub max_queue: i32,
    /// limit of label sets of a metric; values beyond it have the labels "other"; 1000
    pub max_series: i32,
    /// limit of events that wait to be read, of all threads; beyond it, the oldest are dropped
    /// and counted; 67108864
    pub max_bytes: u64,
    /// 1: the collector also gets spans; 1
    pub spans: i32,
    /// 1: also processor time, memory and descriptors of the process, as "process_…"; 1
    pub process_metrics: i32,
}
impl Default for opd_telemetry_options {
    /// The defaults that `opd_telemetry_options_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            per_operator: 0,
            prometheus_address: core::ptr::null(),
            otlp_endpoint: core::ptr::null(),
            otlp_headers: core::ptr::null(),
            service_name: core::ptr::null(),
            resource_attributes: core::ptr::null(),
            interval_ns: 10000000000,
            max_queue: 2048,
            max_series: 1000,
            max_bytes: 67108864,
            spans: 1,
            process_metrics: 1,
        }
    }
}
/// A metric of the program's own, with one set of labels; or a span of its own, which the fields from `traceparent` on
/// describe.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_telemetry_value {
    /// set by `opd_telemetry_value_init()`
    pub struct_size: u32,
    /// `OPD_TELEMETRY_GAUGE`
    pub kind: opd_telemetry_kind,
    /// borrowed: letters, digits and '_', without "_total"; a span's is any text. Required;
    /// NULL
    pub name: *const c_char,
    /// borrowed; NULL: ""
    pub help: *const c_char,
    /// borrowed; each of letters, digits and '_', or of a span: any text; NULL
    pub label_names: *const *const c_char,
    /// borrowed; a text for each of `label_names`; NULL
    pub label_values: *const *const c_char,
    /// 0
    pub num_label_names: i32,
    /// 0
    pub reserved: u32,
    /// 0
    pub value: f64,
    /// borrowed; of a span: its own context, as those whom it calls get it: the numbers of its
    /// trace and of itself, and whether the trace is kept; NULL
    pub traceparent: *const c_char,
    /// borrowed; of a span: 16 hexadecimal digits, the number of its parent; NULL: none
    pub parent_span: *const c_char,
    /// borrowed; of a span that failed: the message; NULL: it did not fail
    pub error: *const c_char,
    /// of a span: Unix time; 0
    pub begin_ns: i64,
    /// of a span: Unix time; 0
    pub end_ns: i64,
    /// of a span: 1 internal, 2 server, 3 client, 4 producer, 5 consumer, as in OTLP; 1
    pub span_kind: i32,
    /// 0
    pub reserved2: u32,
}
impl Default for opd_telemetry_value {
    /// The defaults that `opd_telemetry_value_init` writes.
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            kind: 1,
            name: core::ptr::null(),
            help: core::ptr::null(),
            label_names: core::ptr::null(),
            label_values: core::ptr::null(),
            num_label_names: 0,
            reserved: 0,
            value: 0.0,
            traceparent: core::ptr::null(),
            parent_span: core::ptr::null(),
            error: core::ptr::null(),
            begin_ns: 0,
            end_ns: 0,
            span_kind: 1,
            reserved2: 0,
        }
    }
}
/// Counts of sent and dropped data, and whether spans are sent at all.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_telemetry_stats {
    /// sizeof(`opd_telemetry_stats`), set by the caller; then the bytes that were filled
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// requests of Prometheus that were answered
    pub scrape_count: u64,
    /// requests with metrics that the collector took
    pub metrics_sent_count: u64,
    /// spans that the collector took
    pub spans_sent_count: u64,
    /// spans for which there was no room, or that the collector refused
    pub spans_dropped_count: u64,
    /// spans in the queue now
    pub spans_waiting_count: u64,
    /// requests that the collector did not take
    pub failed_count: u64,
    /// events for which there was no room; they are in no other metric
    pub events_dropped_count: u64,
    /// 1: there is a collector, and it gets spans; 0: nobody does
    pub is_sending_spans: u32,
    /// 0
    pub reserved2: u32,
}
/// A counted object. Every handle of this API points to one.
#[repr(C)]
pub struct opd_object {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// An error. Immutable; safe to read from any thread. An `opd_value` can hold it.
#[repr(C)]
pub struct opd_error {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// Bytes made by the library: text, JSON, a saved file. Immutable.
#[repr(C)]
pub struct opd_buffer {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// C's type `opd_log_fn`.
pub type opd_log_fn = Option<unsafe extern "C" fn(*mut c_void, opd_log_level, *const c_char)>;
/// C's type `opd_deleter`.
pub type opd_deleter = Option<unsafe extern "C" fn(*mut c_void)>;
/// An immutable sequence of int64. Immutable.
#[repr(C)]
pub struct opd_shape {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// An immutable sequence of values. The tuples of a VM program are arrays. Immutable.
#[repr(C)]
pub struct opd_array {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// An immutable map in insertion order. Numbers and strings as keys compare by content, objects by identity.
/// Immutable.
#[repr(C)]
pub struct opd_map {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// A packed function. Immutable. It may be called from many threads at once if the code behind it may.
#[repr(C)]
pub struct opd_function {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// C's type `opd_packed_fn`.
pub type opd_packed_fn =
    Option<unsafe extern "C" fn(*mut c_void, *const opd_value, i32, *mut opd_value) -> *mut opd_error>;
/// A C function pointer that calls a packed function. Thread-safe if the function is.
#[repr(C)]
pub struct opd_closure {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// C's type `opd_activity_receiver`.
pub type opd_activity_receiver = Option<unsafe extern "C" fn(*mut c_void, *const opd_device_activity)>;
/// A tensor. Its shape, dtype and device are immutable. opdyno does not synchronise access to its data: a program that
/// reads and writes it on several threads must do so.
///
/// A tensor is read-only if it was taken over from a `DLPack` tensor with `DLPACK_FLAG_BITMASK_READ_ONLY`, or is a view of
/// one that is. opdyno never writes to a read-only tensor: a copy into it is `OPD_INVALID_ARGUMENT`, and so is its use as
/// an output. docs/tensors.md says which functions take it as an input.
#[repr(C)]
pub struct opd_tensor {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// Tensors by name, in order. One thread at a time while tensors are added; else thread-safe. Threads that request the
/// same tensor at once get the same one.
#[repr(C)]
pub struct opd_params {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// A loaded artifact. Thread-safe: its functions may be looked up and called from many threads. Its library stays
/// mapped while anything that came from it lives.
#[repr(C)]
pub struct opd_module {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// A verified VM program. Immutable. Format: docs/executable.md; source: TVM relax::vm::VMExecutable.
#[repr(C)]
pub struct opd_executable {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// A program in the making. One at a time. Source: TVM relax.ExecBuilder.
#[repr(C)]
pub struct opd_executable_builder {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// C's type `opd_operand`.
pub type opd_operand = i64;
/// A report. Immutable. Layout and encodings are those of TVM 0.23's runtime.profiling.Report.
#[repr(C)]
pub struct opd_report {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// A report in the making. One at a time.
#[repr(C)]
pub struct opd_report_builder {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// Measures something around calls. A collector serves one profile or recording at a time: two that overlap need two
/// collectors. A profile calls it like this:
///
/// - `init` once, after the warm-up calls; in `opd_vm_profile_start()` before it returns;
/// - `start` before and `stop` after each whole run, once for each device: these metrics are the device's totals;
/// - `start` before and `stop` after each call of an operator, builtins and the program's own functions included, if the
///   report has a row for it; with the device of the call's last tensor argument.
///
///
/// Calls nest as those of the program do: the last one started stops first. Of several collectors, the first in the list
/// starts first and stops last. The time of the row is taken inside of all of them. If a function of the program calls
/// others, its time includes the collectors' work around these. `Collector cost: NAME (us)`, in the report's
/// configuration, says how much time the starts and stops of a collector took in all. If a collector fails, it is not
/// started any more; the run goes on, and the configuration says so under `Collector error: NAME`. If two collectors set
/// the same metric in a row, the one stopped last wins. Built-in columns cannot be set. Calls of the VM that a collector
/// makes are not recorded.
///
/// Threads: in `opd_vm_profile()` all functions of a collector run on the calling thread. After `opd_vm_profile_start()`
/// they run on the threads of the recorded calls, several at once, nested on each thread: a collector guards its shared
/// state. Built-in collectors that measure the whole device, process or processor also count concurrent calls;
/// `Collector note: NAME` says so. Source: TVM 0.23 runtime.profiling.MetricCollector.
#[repr(C)]
pub struct opd_collector {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// Where a collector's `stop` writes. Valid until that returns.
#[repr(C)]
pub struct opd_metrics {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// A recording: calls with begin, end, thread and name. Immutable.
#[repr(C)]
pub struct opd_trace {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// Records the calls of all VMs on all threads, and the ranges of the program, on one time line. Thread-safe.
#[repr(C)]
pub struct opd_profiler {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// Ends calls from outside. Thread-safe.
#[repr(C)]
pub struct opd_cancel_token {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// A program bound to devices. Thread-safe: registers belong to the call. Source: TVM relax.VirtualMachine.
#[repr(C)]
pub struct opd_vm {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// A paged attention cache, or the states of a recurrent network. A function of the program makes it, and the program's
/// functions take it as an argument: `opd_value_of_object`(state). It holds sequences of tokens, each under a number of
/// the caller's choice.
///
/// `opd_kv_state_add`(state, 7);                        sequence 7, empty
/// `opd_kv_state_begin`(state, &id, 1, &count, 1, NULL, 0);   count tokens of it come now
/// `opd_vm_call`(vm, "prefill", …);                     the program computes them
/// `opd_kv_state_end`(state, 1);
///
/// One thread at a time: if another thread is using the state, also in a call of the program, a function returns
/// `OPD_FAILED_PRECONDITION`. These functions do the same as the global functions `vm.builtin.kv_state_*`. Features of
/// only one kind of state are global functions, too: windows, trees of tokens, checkpoints (docs/builtins.md). Source:
/// TVM KVState.
#[repr(C)]
pub struct opd_kv_state {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// Measures one function. One thread at a time: later measurements reuse the number of calls that an earlier one
/// found.
#[repr(C)]
pub struct opd_evaluator {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// The results of a measurement. Immutable.
#[repr(C)]
pub struct opd_benchmark {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// A session on another machine: with `opdyno serve`, or with a server of TVM's. Thread-safe: one request at a time,
/// the others wait.
///
/// Handles from a session are used as local ones. Its devices have kinds of their own (`opd_rpc_session_device()`), on
/// which tensors are made and copied; `opd_module_get_function()` of its modules gives functions that run there;
/// `opd_vm_create()` of them makes VMs there, and `opd_evaluator_create()` measures there. Arguments are numbers, texts,
/// bytes, tensors of the session's devices, and its modules, functions and objects. An error has kind and message of the
/// one there, and the address. If the connection ends, the error is `OPD_IO` of the kind "ConnectionError"; if the
/// server's process crashed or was ended, it says why and names the operator that ran, where the server is `opdyno
/// serve`.
///
/// A cancel token or a deadline ends the wait for an answer, not the server's work: the next request waits for that. All
/// objects of a session keep it open. It cannot be used in a child of fork(): `OPD_IO`.
#[repr(C)]
pub struct opd_rpc_session {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// Telemetry of this process, until its last reference is released. The release sends all pending data, and takes a
/// second at most. Thread-safe. Several may run at once, beside profilers and recordings from outside. Each counts as a
/// recording; a process has at most 16. In a child of fork(), telemetry has ended.
///
/// A thread of the library computes the metrics from the events that profilers record: calls of functions of programs,
/// how long they took and whether they failed. There are also metrics of device memory, modules, and the process.
/// docs/telemetry.md lists them. While no telemetry runs, nothing is added to a call.
#[repr(C)]
pub struct opd_telemetry {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
/// C's constant `OPD_VERSION_MAJOR`.
pub const OPD_VERSION_MAJOR: c_int = 0;
/// C's constant `OPD_VERSION_MINOR`.
pub const OPD_VERSION_MINOR: c_int = 2;
/// C's constant `OPD_VERSION_PATCH`.
pub const OPD_VERSION_PATCH: c_int = 0;

unsafe extern "C" {
    /// Adds a reference to any handle.
    ///
    /// `object_handle`: Borrowed; NULL is allowed.
    ///
    /// Returns New reference: the same handle.
    /// Threads: safe. Cost: one atomic addition. Since: 0.1
    pub fn opd_object_retain(object_handle: *const c_void) -> *mut c_void;
    /// Ends a reference to any handle. The object is destroyed with its last reference.
    ///
    /// `object_handle`: The reference; NULL does nothing.
    /// Threads: safe. Since: 0.1
    pub fn opd_object_release(object_handle: *mut c_void);
    /// Returns the kind of the object behind `object_handle`, any handle: an `opd_type` or a kind made at run time; `OPD_NONE`
    /// for NULL. Threads: safe. Since: 0.1
    pub fn opd_object_type(object_handle: *const c_void) -> i32;
    /// Returns the code of `error`; `OPD_OK` for NULL. Threads: safe. Since: 0.1
    pub fn opd_error_code(error: *const opd_error) -> opd_code;
    /// Returns the name of `code`, as "`OPD_NOT_FOUND`"; static storage. Threads: safe. Since: 0.1
    pub fn opd_code_name(code: opd_code) -> *const c_char;
    /// Returns the kind of `error`: "TypeError", "ValueError", "IndexError" … Bindings choose the class of their exception
    /// by it. opdyno's own kinds are those of tvm-ffi; a called function may raise any other kind.
    ///
    /// Returns Borrowed; "" for NULL. Threads: safe. Since: 0.1
    pub fn opd_error_kind(error: *const opd_error) -> *const c_char;
    /// Returns the message: one sentence that says what happened.
    ///
    /// Returns Borrowed UTF-8; "" for NULL. Threads: safe. Since: 0.1
    pub fn opd_error_message(error: *const opd_error) -> *const c_char;
    /// Returns the error that led to `error`.
    ///
    /// Returns Borrowed; NULL if there is none. Threads: safe. Since: 0.1
    pub fn opd_error_cause(error: *const opd_error) -> *const opd_error;
    /// Returns the native frames at the place where `error` was made: one a line, most recent first.
    ///
    /// Returns Borrowed. Empty unless OPDYNO_BACKTRACE is set (as to 1) or the raising function attached a backtrace.
    /// Threads: safe. Cost: symbols are looked up at the first request. Since: 0.1
    pub fn opd_error_backtrace(error: *const opd_error) -> *const c_char;
    /// Makes an error, to be returned from a callback.
    ///
    /// `code`:    The error's code; `OPD_OK` is taken as `OPD_INTERNAL`.
    ///
    /// `kind`:    Borrowed; NULL means the usual kind of `code`.
    ///
    /// `message`: Borrowed UTF-8; NULL means "".
    ///
    /// Returns New reference, never NULL: without memory, a preallocated `OPD_OUT_OF_MEMORY` error.
    /// Threads: safe. Since: 0.1
    pub fn opd_error_create(code: opd_code, kind: *const c_char, message: *const c_char) -> *mut opd_error;
    /// Returns the first byte. A 0 byte follows the last one and does not count, so text is a C string.
    ///
    /// Returns Borrowed; "" for NULL. Threads: safe. Since: 0.1
    pub fn opd_buffer_data(buffer: *const opd_buffer) -> *const c_char;
    /// Returns the number of bytes. Threads: safe. Since: 0.1
    pub fn opd_buffer_size(buffer: *const opd_buffer) -> usize;
    /// Writes a file as the library writes its own. A regular file is replaced as a whole: its readers see the old content
    /// or the new one, and the old one stays if writing fails. A symbolic link stays. A device, a FIFO, and a descriptor of
    /// the process (/dev/stdout, /dev/fd/3) are written in place.
    ///
    /// `path`: Borrowed.
    ///
    /// `data`: Borrowed for the call, `size` bytes; NULL if there are none.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND` (the directory), `OPD_IO`. Threads: safe. Blocks. Since: 0.2
    pub fn opd_file_write(path: *const c_char, data: *const c_void, size: usize) -> *mut opd_error;
    /// Sets the function that receives warnings. Without one they are dropped: the library itself never prints.
    ///
    /// `callback`:  NULL ends logging.
    ///
    /// `user_data`: Handed to `callback`; taken over.
    ///
    /// `deleter`:   Called with `user_data` once `callback` was replaced and no call of it runs; may be NULL.
    /// Threads: safe. Since: 0.1
    pub fn opd_log_set_callback(callback: opd_log_fn, user_data: *mut c_void, deleter: opd_deleter);
    /// Returns the library's version, as "0.2.0"; static storage. Threads: safe. Since: 0.1
    pub fn opd_version() -> *const c_char;
    /// Describes how the library was built, as one JSON object: version, compiler, build_type, architecture, features (name
    /// to true or false), tvm_artifacts (TVM releases whose artifacts it loads), tvm_tested (TVM releases that its tests
    /// run).
    ///
    /// `out_json`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_build_info(out_json: *mut *mut opd_buffer) -> *mut opd_error;
    /// Makes the view of a handle whose object a value can hold: a tensor, function, module, error, array …
    ///
    /// `object_handle`: Borrowed: must outlive the view. NULL gives `OPD_NONE`.
    /// Threads: safe. Since: 0.2
    pub fn opd_value_of_object(object_handle: *const c_void) -> opd_value;
    /// Makes an owned value of a view: counts objects, copies C strings and byte views into strings.
    ///
    /// `value`:     Borrowed.
    ///
    /// `out_value`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an `OPD_DLTENSOR`, which cannot be owned, and for an object's type with the
    /// object NULL.
    /// Threads: safe. Since: 0.1
    pub fn opd_value_retain(value: *const opd_value, out_value: *mut opd_value) -> *mut opd_error;
    /// Ends an owned value and sets it to `OPD_NONE`. If the value has an object's type with the object NULL, nothing ends.
    /// Threads: safe. Cost: none for plain kinds. Since: 0.1
    pub fn opd_value_release(value: *mut opd_value);
    /// Returns the name of kind `type`: "int", "ffi.Tensor", "opdyno.Storage" …, or "unknown"; static storage.
    /// Threads: safe. Since: 0.1
    pub fn opd_type_key(r#type: i32) -> *const c_char;
    /// Writes any value for people: numbers, "strings", shapes, dtypes, "Tensor(float32\[2, 3\], cpu:0)", nested containers.
    ///
    /// `value`:    Borrowed.
    ///
    /// `out_text`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`. Threads: safe. Since: 0.1
    pub fn opd_value_to_string(value: *const opd_value, out_text: *mut *mut opd_buffer) -> *mut opd_error;
    /// Makes a string. Up to 7 bytes lie in the value itself.
    ///
    /// `data`:      Borrowed, `size` bytes, which may be 0 bytes.
    ///
    /// `out_value`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`, `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_string_create(data: *const c_char, size: usize, out_value: *mut opd_value) -> *mut opd_error;
    /// Makes a byte string, as `opd_string_create()` makes a string.
    ///
    /// `data`:      Borrowed, `size` bytes.
    ///
    /// `out_value`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`, `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_bytes_create(data: *const c_void, size: usize, out_value: *mut opd_value) -> *mut opd_error;
    /// Gives the bytes of a string or a byte string of any kind.
    ///
    /// `value`:    Borrowed. The bytes of the small kinds lie in it, so it must not be moved.
    ///
    /// `out_data`: Borrowed from `value`: a pointer to plain data.
    ///
    /// `out_size`: Number of bytes.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for other kinds. Threads: safe. Since: 0.1
    pub fn opd_string_get(
        value: *const opd_value,
        out_data: *mut *const c_char,
        out_size: *mut usize,
    ) -> *mut opd_error;
    /// Makes a shape.
    ///
    /// `dims`:      Borrowed, `ndim` numbers.
    ///
    /// `out_shape`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`, `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_shape_create(dims: *const i64, ndim: usize, out_shape: *mut *mut opd_shape) -> *mut opd_error;
    /// Returns the numbers of a shape.
    ///
    /// `out_ndim`: The number of sizes; NULL if it is not wanted.
    ///
    /// Returns Borrowed; NULL for NULL. Threads: safe. Since: 0.2
    pub fn opd_shape_dims(shape: *const opd_shape, out_ndim: *mut usize) -> *const i64;
    /// Makes an array.
    ///
    /// `items`:     Borrowed, `count` values; each is retained.
    ///
    /// `out_array`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an `OPD_DLTENSOR`, `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_array_create(items: *const opd_value, count: usize, out_array: *mut *mut opd_array) -> *mut opd_error;
    /// Returns the number of items. Threads: safe. Since: 0.1
    pub fn opd_array_count(array: *const opd_array) -> usize;
    /// Gives an item.
    ///
    /// `index`:    0 to `opd_array_count()` - 1.
    ///
    /// `out_item`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_RANGE`. Threads: safe. Since: 0.1
    pub fn opd_array_get(array: *const opd_array, index: usize, out_item: *mut opd_value) -> *mut opd_error;
    /// Makes a map.
    ///
    /// `pairs`:   Borrowed: key, value, key, value … (2 × `count`). A repeated key keeps its first place and its last
    /// value.
    ///
    /// `out_map`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`, `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_map_create(pairs: *const opd_value, count: usize, out_map: *mut *mut opd_map) -> *mut opd_error;
    /// Returns the number of entries. Threads: safe. Since: 0.1
    pub fn opd_map_count(map: *const opd_map) -> usize;
    /// Finds a key.
    ///
    /// `key`:       Borrowed.
    ///
    /// `out_value`: New reference.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`. Threads: safe. Cost: one hash. Since: 0.1
    pub fn opd_map_get(map: *const opd_map, key: *const opd_value, out_value: *mut opd_value) -> *mut opd_error;
    /// Gives the entry at a place in insertion order.
    ///
    /// `index`:     0 to `opd_map_count()` - 1.
    ///
    /// `out_key`:   New reference.
    ///
    /// `out_value`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_RANGE`.
    /// Threads: safe. Cost: a step for each entry before it, if the map has more than four. Since: 0.1
    pub fn opd_map_entry(
        map: *const opd_map,
        index: usize,
        out_key: *mut opd_value,
        out_value: *mut opd_value,
    ) -> *mut opd_error;
    /// Reads a dtype: "float32", "int8x4", "bool", "bfloat16", "float8_e4m3fn", "handle" … as TVM writes them, or short as
    /// "f32", "i8", "u16", "bf16".
    ///
    /// `text`:      Borrowed.
    ///
    /// `out_dtype`: Written.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` with the text.
    /// Threads: safe. Since: 0.1. Source: `DLPack` 1.3 `DLDataTypeCode`.
    pub fn opd_dtype_from_string(text: *const c_char, out_dtype: *mut DLDataType) -> *mut opd_error;
    /// Makes a packed function of a C callback.
    ///
    /// `callback`:     Called once for each call, on the calling thread.
    ///
    /// `user_data`:    Handed to `callback`; taken over on success.
    ///
    /// `deleter`:      Called with `user_data` after the last reference ended; may be NULL.
    ///
    /// `out_function`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`, `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_function_create(
        callback: opd_packed_fn,
        user_data: *mut c_void,
        deleter: opd_deleter,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    /// Calls a function and waits for its result.
    ///
    /// `function`:   Borrowed.
    ///
    /// `args`:       Borrowed, `num_args` values; NULL if there are none.
    ///
    /// `out_result`: New reference; NULL if the result is not wanted. Former content is lost: the value is `OPD_NONE`
    /// while the function runs and after an error.
    ///
    /// Returns NULL, or the error that the function raised: `OPD_CALL_FAILED`, unless it has a code of its own.
    /// Threads: as the function. Cost: an indirect call, no allocation. Blocks. Since: 0.1. Source: tvm-ffi safe-call.
    pub fn opd_function_call(
        function: *mut opd_function,
        args: *const opd_value,
        num_args: i32,
        out_result: *mut opd_value,
    ) -> *mut opd_error;
    /// Registers a function for the whole process.
    ///
    /// `name`:              Borrowed UTF-8.
    ///
    /// `function`:          Borrowed; retained.
    ///
    /// `override_existing`: 1: replaces a function of that name; 0: that is an error.
    ///
    /// Returns NULL, or `OPD_ALREADY_EXISTS`. Threads: safe. Since: 0.1
    pub fn opd_function_register(
        name: *const c_char,
        function: *mut opd_function,
        override_existing: c_int,
    ) -> *mut opd_error;
    /// Finds a registered function.
    ///
    /// `name`:         Borrowed.
    ///
    /// `out_function`: New reference.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND` with close names. Threads: safe. Since: 0.1
    pub fn opd_function_get_global(name: *const c_char, out_function: *mut *mut opd_function) -> *mut opd_error;
    /// Removes a registered function. Programs that hold it keep it.
    ///
    /// `name`: Borrowed.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`. Threads: safe. Since: 0.1
    pub fn opd_function_remove_global(name: *const c_char) -> *mut opd_error;
    /// Lists the registered names, sorted.
    ///
    /// `out_names`: New reference: an array of strings, a snapshot.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_function_list_global(out_names: *mut *mut opd_array) -> *mut opd_error;
    /// Makes a packed function of a C function pointer.
    ///
    /// A signature is `result(argument, …)`. The types are void, bool, i8 i16 i32 i64, u8 u16 u32 u64, f32 f64, ptr, str (a
    /// NUL-terminated const char *, borrowed for the call), tensor (`DLTensor` *, borrowed for the call), and structs by value
    /// as {f64, f64}, which are arrays of their fields as packed values. `i32(str, ...)` takes further arguments after the
    /// fixed ones; they are passed by the kind of their value (int as i64, float as f64).
    ///
    /// A wrong count, a wrong kind, or an integer that does not fit its width is an error before the call. Nothing is
    /// truncated.
    ///
    /// `pointer`:      The C function. It must outlive `out_function`, unless `keep_alive` holds it.
    ///
    /// `signature`:    Borrowed, as "f64(f64, ptr, i32)".
    ///
    /// `name`:         Borrowed; for messages. NULL means "function".
    ///
    /// `keep_alive`:   Borrowed handle (of a module, say) that the result retains; may be NULL.
    ///
    /// `out_function`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` with the place of a mistake in `signature`.
    /// Threads: safe. Cost: one libffi call plan, kept with the function. Since: 0.1. Source: libffi ffi_prep_cif.
    pub fn opd_function_create_native(
        pointer: *mut c_void,
        signature: *const c_char,
        name: *const c_char,
        keep_alive: *mut c_void,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    /// Makes a C function pointer of a packed function, for libraries that take callbacks (a comparator for qsort, say).
    ///
    /// C has no way to pass an error on. If `function` raises one, or its result does not fit the signature, the pointer
    /// returns 0, and `opd_closure_take_error()` gives the error.
    ///
    /// `function`:    Borrowed; retained.
    ///
    /// `signature`:   Borrowed; as for `opd_function_create_native()`, without "...".
    ///
    /// `out_closure`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for `signature`, `OPD_UNSUPPORTED` if the system forbids executable memory.
    /// Threads: safe. Since: 0.1. Source: libffi ffi_prep_closure_loc.
    pub fn opd_closure_create(
        function: *mut opd_function,
        signature: *const c_char,
        out_closure: *mut *mut opd_closure,
    ) -> *mut opd_error;
    /// Returns the C function pointer; valid while `closure` lives. Threads: safe. Since: 0.1
    pub fn opd_closure_pointer(closure: *const opd_closure) -> *mut c_void;
    /// Takes the first error since the last request.
    ///
    /// Returns New reference, usually `OPD_CALL_FAILED` or `OPD_INVALID_ARGUMENT`; NULL if there was none.
    /// Threads: safe. Since: 0.1
    pub fn opd_closure_take_error(closure: *mut opd_closure) -> *mut opd_error;
    /// Reads a device: "cpu", "cpu:0", "cuda:1", or a `DLPack` number as "2:0". TVM's other names are read, too: "gpu" is
    /// cuda, "cl" opencl, "mtl" metal, "llvm" and "c" cpu.
    ///
    /// `text`:       Borrowed.
    ///
    /// `out_device`: Written. The device need not exist.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` with the text.
    /// Threads: safe. Since: 0.1. Source: `DLPack` 1.3 `DLDeviceType`.
    pub fn opd_device_from_string(text: *const c_char, out_device: *mut DLDevice) -> *mut opd_error;
    /// Gives a property of a device.
    ///
    /// `device`:    Any, also an absent one.
    ///
    /// `attr`:      Which property; see `opd_device_attr`.
    ///
    /// `out_value`: New reference; `OPD_NONE` if the device does not report it. An absent device has only `OPD_ATTR_EXIST`
    /// and `OPD_ATTR_ABSENCE`.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for any other property of an absent device; the message says why it is absent and
    /// lists the present ones.
    /// Threads: safe. Cost: the first question for a kind starts its driver (OpenCL: up to a second). Blocks. Since: 0.1
    pub fn opd_device_get_attr(device: DLDevice, attr: opd_device_attr, out_value: *mut opd_value) -> *mut opd_error;
    /// Waits until a device has completed the work of all its streams. The CPU never has pending work.
    ///
    /// `device`: A present one.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for an absent device. Threads: safe. Blocks. Since: 0.1
    pub fn opd_device_sync(device: DLDevice) -> *mut opd_error;
    /// Makes a stream.
    ///
    /// `device`:     A present one.
    ///
    /// `out_stream`: Written: the device's own pointer. `opd_stream_free()` ends it.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for an absent device or one without streams, as the CPU.
    /// Threads: safe. Since: 0.2
    pub fn opd_stream_create(device: DLDevice, out_stream: *mut *mut c_void) -> *mut opd_error;
    /// Waits for the work in a stream and frees the stream. It must not be any thread's current stream.
    ///
    /// `device`: A present one.
    ///
    /// `stream`: Of `opd_stream_create()` for the same device; NULL does nothing.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for an absent device, `OPD_INVALID_ARGUMENT` for no stream of it; the device's error
    /// if work in the stream failed; the stream is freed then, too.
    /// Threads: safe. Blocks. Since: 0.2
    pub fn opd_stream_free(device: DLDevice, stream: *mut c_void) -> *mut opd_error;
    /// Sets the calling thread's current stream of a device.
    ///
    /// `device`:     A present one.
    ///
    /// `stream`:     Of `opd_stream_create()` for the same device, or NULL for the default one.
    ///
    /// `out_before`: Written: the stream that was current before.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for an absent device, `OPD_INVALID_ARGUMENT` for no stream of it. Threads: safe.
    /// Since: 0.2
    pub fn opd_stream_set(device: DLDevice, stream: *mut c_void, out_before: *mut *mut c_void) -> *mut opd_error;
    /// Waits until the work in a stream has ended.
    ///
    /// `device`: A present one.
    ///
    /// `stream`: Of `opd_stream_create()` for the same device, or NULL for the default one.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for an absent device, `OPD_INVALID_ARGUMENT` for no stream of it; the device's error
    /// if work in the stream failed.
    /// Threads: safe. Blocks. Since: 0.2
    pub fn opd_stream_sync(device: DLDevice, stream: *mut c_void) -> *mut opd_error;
    /// Reads the statistics of a device's memory.
    ///
    /// `device`:    A present one.
    ///
    /// `out_stats`: Written. Its struct_size must be set.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for an absent device, `OPD_INVALID_ARGUMENT` for a wrong struct_size.
    /// Threads: safe. Since: 0.1
    pub fn opd_memory_get_stats(device: DLDevice, out_stats: *mut opd_memory_stats) -> *mut opd_error;
    /// Sets peak_bytes of a device to its present live_bytes.
    ///
    /// `device`: A present one.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for an absent device. Threads: safe. Since: 0.1
    pub fn opd_memory_reset_peak(device: DLDevice) -> *mut opd_error;
    /// Returns pooled blocks to the system. For the CPU this includes the copies of unloaded libraries that are kept for
    /// their next load (docs/environment.md, OPDYNO_KEPT_LIBRARIES_MB).
    ///
    /// `device`: A present one.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for an absent device. Threads: safe. Blocks. Since: 0.1
    pub fn opd_memory_trim(device: DLDevice) -> *mut opd_error;
    /// Sets the allocator of CPU memory. Blocks in use are later freed by the hooks that allocated them.
    ///
    /// `hooks`: Borrowed; its user_data is taken over on success. NULL restores the system's allocator.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for a wrong struct_size or a missing function. Threads: safe. Since: 0.1
    pub fn opd_memory_set_hooks(hooks: *const opd_memory_hooks) -> *mut opd_error;
    /// Returns the number of threads that a parallel kernel may use, the calling thread included. The first of these that
    /// is set counts: `opd_threads_set_count()`, OPDYNO_NUM_THREADS, TVM_NUM_THREADS, OMP_NUM_THREADS, the processors that the
    /// process may use (affinity and cgroup quota). Threads: safe. Since: 0.1
    pub fn opd_threads_count() -> i32;
    /// Sets that number. Kernels that are running keep theirs.
    ///
    /// `count`: 1 to 1024; 0 restores the default, which is read anew.
    ///
    /// Returns NULL, or `OPD_OUT_OF_RANGE`. Threads: safe. Since: 0.1
    pub fn opd_threads_set_count(count: i32) -> *mut opd_error;
    /// Adds a kind of devices to the process. Its devices then serve tensors, copies, VMs and profiles like other devices.
    /// Kernels of modules of the same kind run on them.
    ///
    /// `kind`:     Borrowed; a name of `DLPack` that opdyno has no back end for, as "ext_dev" or "vpi"; or a new name: 1
    /// to 32 lower-case letters, digits and underscores, a letter first.
    ///
    /// `table`:    Borrowed; it is copied. A kind lasts as long as the process.
    ///
    /// `out_type`: Written: the kind's number for `DLDevice`. One of `DLPack`'s, or the next from 48.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for a wrong name or struct_size or a missing function, `OPD_ALREADY_EXISTS` if
    /// the kind has a back end, `OPD_OUT_OF_RANGE` if 16 kinds with own names are there. Threads: safe. Since: 0.2
    pub fn opd_device_register(
        kind: *const c_char,
        table: *const opd_device_table,
        out_type: *mut i32,
    ) -> *mut opd_error;
    /// Makes a tensor with memory of its own: compact, 64-byte aligned, not initialised.
    ///
    /// `dims`:       Borrowed, `ndim` sizes, each at least 0.
    ///
    /// `dtype`:      Of its elements.
    ///
    /// `device`:     Where its memory lies.
    ///
    /// `out_tensor`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for a negative size, too many elements or a dtype without a size;
    /// `OPD_OUT_OF_MEMORY`; `OPD_UNSUPPORTED` device.
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_tensor_create(
        dims: *const i64,
        ndim: i32,
        dtype: DLDataType,
        device: DLDevice,
        out_tensor: *mut *mut opd_tensor,
    ) -> *mut opd_error;
    /// Returns the `DLPack` view of a tensor. Strides are always given.
    ///
    /// Returns Borrowed: valid while the tensor lives. NULL for NULL. Threads: safe. Since: 0.1
    pub fn opd_tensor_view(tensor: *const opd_tensor) -> *mut DLTensor;
    /// Returns the size of the elements in bytes. Threads: safe. Since: 0.1
    pub fn opd_tensor_bytes(tensor: *const opd_tensor) -> u64;
    /// Returns 1 if the elements lie compactly in row-major order, else 0. Threads: safe. Since: 0.1
    pub fn opd_tensor_is_contiguous(tensor: *const opd_tensor) -> c_int;
    /// Returns 1 if the elements must not be written, else 0. A function that you register must ask before it writes a
    /// tensor. Threads: safe. Since: 0.2. Source: `DLPack` 1.3 `DLPACK_FLAG_BITMASK_READ_ONLY`.
    pub fn opd_tensor_is_read_only(tensor: *const opd_tensor) -> c_int;
    /// Copies the elements of a tensor to another one of the same shape and dtype. Strides and devices may differ. If one
    /// side is memory of the host, it waits, unless the copy goes from pinned memory (cuda_host) to a device whose current
    /// stream the program made. Then the source must not be written until that stream was waited for.
    ///
    /// `from`: Borrowed.
    ///
    /// `to`:   Borrowed; its elements are written.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`: the shapes or dtypes differ (the message has both), or `to` is read-only;
    /// `OPD_UNSUPPORTED` device.
    /// Threads: one at a time per `to`. Blocks. Since: 0.1
    pub fn opd_tensor_copy(from: *const DLTensor, to: *mut opd_tensor) -> *mut opd_error;
    /// Copies bytes into a contiguous tensor.
    ///
    /// `to`:   Borrowed; its elements are written.
    ///
    /// `data`: Borrowed.
    ///
    /// `size`: The tensor's size in bytes.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for another size, strides or a read-only tensor; `OPD_UNSUPPORTED` device.
    /// Threads: one at a time per `to`. Blocks. Since: 0.1
    pub fn opd_tensor_copy_from_bytes(to: *mut opd_tensor, data: *const c_void, size: usize) -> *mut opd_error;
    /// Copies the bytes of a contiguous tensor out.
    ///
    /// `from`: Borrowed.
    ///
    /// `data`: Written: `size` bytes.
    ///
    /// `size`: The tensor's size in bytes.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for another size or strides; `OPD_UNSUPPORTED` device.
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_tensor_copy_to_bytes(from: *const opd_tensor, data: *mut c_void, size: usize) -> *mut opd_error;
    /// Makes a tensor of the same elements with another shape. It shares the data of `tensor`, which must be contiguous.
    ///
    /// `dims`:       Borrowed, `ndim` sizes, each at least 0.
    ///
    /// `out_tensor`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for another number of elements or for strides.
    /// Threads: safe. Since: 0.1
    pub fn opd_tensor_reshape(
        tensor: *mut opd_tensor,
        dims: *const i64,
        ndim: i32,
        out_tensor: *mut *mut opd_tensor,
    ) -> *mut opd_error;
    /// Makes a tensor of borrowed memory, valid until `opd_tensor_end_borrow()`. It lets a callback pass an argument of kind
    /// `OPD_DLTENSOR`, whose memory is the caller's, to functions that take tensors, not views.
    ///
    /// `from`:       Borrowed, as its memory.
    ///
    /// `out_tensor`: New reference. Its views, as `opd_tensor_reshape()` makes them, belong to the same loan.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` as `opd_tensor_from_dlpack()`. Threads: safe. Since: 0.2
    pub fn opd_tensor_borrow(from: *const DLTensor, out_tensor: *mut *mut opd_tensor) -> *mut opd_error;
    /// Ends a loan. Remaining references to the tensor or its views then have a tensor of shape \[0\] and the same dtype,
    /// without data. `DLPack` exports must have ended before. Does nothing for other tensors.
    /// Threads: not while another thread uses a tensor of the loan. Since: 0.2
    pub fn opd_tensor_end_borrow(tensor: *mut opd_tensor);
    /// Returns 1 for a tensor of `opd_tensor_borrow()` and its views, also after the end of the loan, else 0.
    /// Threads: safe. Since: 0.2
    pub fn opd_tensor_is_borrowed(tensor: *const opd_tensor) -> c_int;
    /// Returns 1 if the tensor is borrowed and `opd_tensor_end_borrow()` was called, else 0. Threads: safe. Since: 0.2
    pub fn opd_tensor_has_ended(tensor: *const opd_tensor) -> c_int;
    /// Returns 1 if this is the only reference to the tensor and, as far as opdyno knows, to its memory; else 0. If it is
    /// 1, no other part of the program can read or write the tensor through opdyno. Memory that was taken over by `DLPack` may
    /// have further users that opdyno does not know. A borrowed tensor is never unique: its memory is the caller's.
    /// Threads: safe. Since: 0.2
    pub fn opd_tensor_is_unique(tensor: *const opd_tensor) -> c_int;
    /// Takes over a `DLPack` tensor without a copy.
    ///
    /// `managed`:    Taken over on success only. Its deleter runs after the last reference.
    ///
    /// `out_tensor`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`: padded elements smaller than a byte, no data, a dtype of 0 lanes, elements not
    /// at a multiple of their size; `OPD_UNSUPPORTED`: a tensor of OpenCL or Vulkan. Threads: safe. Since: 0.1.
    /// Source: `DLPack` 1.3.
    pub fn opd_tensor_from_dlpack(managed: *mut DLManagedTensor, out_tensor: *mut *mut opd_tensor) -> *mut opd_error;
    /// Takes over a versioned `DLPack` tensor, as `opd_tensor_from_dlpack()` does an old one. Its flag READ_ONLY stays with the
    /// tensor and its views.
    ///
    /// `managed`:    Taken over on success only.
    ///
    /// `out_tensor`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` as there; `OPD_UNSUPPORTED` for another major version.
    /// Threads: safe. Since: 0.1. Source: `DLPack` 1.3.
    pub fn opd_tensor_from_dlpack_versioned(
        managed: *mut DLManagedTensorVersioned,
        out_tensor: *mut *mut opd_tensor,
    ) -> *mut opd_error;
    /// Gives a tensor to a `DLPack` consumer without a copy.
    ///
    /// `out_managed`: New; its own deleter ends it.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for a read-only tensor, as this struct has no flag for it; `OPD_OUT_OF_MEMORY`.
    /// Threads: safe. Since: 0.1. Source: `DLPack` 1.3.
    pub fn opd_tensor_to_dlpack(tensor: *mut opd_tensor, out_managed: *mut *mut DLManagedTensor) -> *mut opd_error;
    /// Gives a tensor to a `DLPack` consumer as the versioned struct, version 1.3, with the flag READ_ONLY
    /// of a read-only tensor.
    ///
    /// `out_managed`: New; its own deleter ends it.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1. Source: `DLPack` 1.3.
    pub fn opd_tensor_to_dlpack_versioned(
        tensor: *mut opd_tensor,
        out_managed: *mut *mut DLManagedTensorVersioned,
    ) -> *mut opd_error;
    /// Makes an empty set.
    ///
    /// `out_params`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_params_create(out_params: *mut *mut opd_params) -> *mut opd_error;
    /// Opens a file, or a tensor cache by its directory or its JSON file. The content of a file decides its format.
    ///
    /// The file is mapped. Names, dtypes and shapes are read and checked at once, tensors when they are asked for. If the
    /// elements of a tensor lie at a multiple of 64, the tensor is a view of the mapping; else it is copied once into memory
    /// of its own. A write into a view stays in this process. Until the set and its views are released, the file may be
    /// replaced (renamed over, as `opd_params_save()` does) or removed. It must not be cut short in place: the process would
    /// get SIGBUS. With the option copy, this holds only until this function returns.
    ///
    /// `path`:       Borrowed. An .npy file gives one tensor, named "".
    ///
    /// `options`:    Borrowed; NULL means all defaults.
    ///
    /// `out_params`: New reference.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`; `OPD_IO`; `OPD_BAD_FORMAT` with the offset; `OPD_UNSUPPORTED` for content that no tensor
    /// can hold or that this build cannot read; `OPD_OUT_OF_MEMORY`.
    /// Threads: safe. Cost: the headers; the elements are not touched. Blocks. Since: 0.1. Source: TVM load_param_dict,
    /// tensor cache; NumPy NEP 1; safetensors 0.8.
    pub fn opd_params_open(
        path: *const c_char,
        options: *const opd_params_options,
        out_params: *mut *mut opd_params,
    ) -> *mut opd_error;
    /// Opens the bytes of a file in memory, as `opd_params_open()` opens the file.
    ///
    /// `data`:       Borrowed until `deleter` is called; with the option copy, until this function returns. Views point
    /// into it, and writing into them writes there.
    ///
    /// `size`:       Bytes of `data`.
    ///
    /// `options`:    Borrowed; NULL means all defaults.
    ///
    /// `user_data`:  Handed to `deleter`.
    ///
    /// `deleter`:    May be NULL. Called once when the data is no longer needed; not after an error.
    ///
    /// `out_params`: New reference.
    ///
    /// Returns NULL, or an error as there; `OPD_UNSUPPORTED` for a tensor cache, which has several files.
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_params_open_bytes(
        data: *mut c_void,
        size: usize,
        options: *const opd_params_options,
        user_data: *mut c_void,
        deleter: opd_deleter,
        out_params: *mut *mut opd_params,
    ) -> *mut opd_error;
    /// Writes a file. Its suffix decides the format: .npz, .safetensors, .npy (exactly one tensor), tensor-cache.json (with
    /// shards params_shard_0.bin … beside it), else a TVM param dict.
    ///
    /// Each file is replaced as a whole: readers see the old one or the new one. If the format has room for padding (a param
    /// dict has none), elements begin at multiples of 64 and can be mapped again.
    ///
    /// `path`: Borrowed.
    ///
    /// Returns NULL, or `OPD_IO`; `OPD_NOT_FOUND` (the directory); `OPD_UNSUPPORTED` for a dtype that the format lacks;
    /// `OPD_INVALID_ARGUMENT` for a name that it cannot hold.
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_params_save(params: *const opd_params, path: *const c_char) -> *mut opd_error;
    /// Writes a TVM param dict to memory.
    ///
    /// `out_bytes`: New reference.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED`, `OPD_OUT_OF_MEMORY`. Threads: safe. Blocks. Since: 0.1. Source: TVM
    /// save_param_dict.
    pub fn opd_params_save_bytes(params: *const opd_params, out_bytes: *mut *mut opd_buffer) -> *mut opd_error;
    /// Returns the number of tensors. Threads: safe. Since: 0.1
    pub fn opd_params_count(params: *const opd_params) -> usize;
    /// Gives the properties of the tensor at a place, without making it.
    ///
    /// `index`:    0 to `opd_params_count()` - 1.
    ///
    /// `out_info`: Written. Its struct_size must be set.
    ///
    /// Returns NULL, or `OPD_OUT_OF_RANGE`; `OPD_INVALID_ARGUMENT` for a wrong struct_size. Threads: safe. Since: 0.2
    pub fn opd_params_get_info(
        params: *const opd_params,
        index: usize,
        out_info: *mut opd_tensor_info,
    ) -> *mut opd_error;
    /// Reads the statistics.
    ///
    /// `out_stats`: Written. Its struct_size must be set.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for a wrong struct_size. Threads: safe. Since: 0.1
    pub fn opd_params_get_stats(params: *const opd_params, out_stats: *mut opd_params_stats) -> *mut opd_error;
    /// Gives a tensor by name. A tensor of a file is made at the first call.
    ///
    /// `name`:       Borrowed.
    ///
    /// `out_tensor`: New reference; shares its data with the set, and keeps the file mapped.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND` with close names; `OPD_BAD_FORMAT` for damage in compressed elements; `OPD_OUT_OF_MEMORY`;
    /// `OPD_IO` if the file was cut short.
    /// Threads: safe. Cost: a few page faults for a view, the copying for a copy; afterwards a look-up. Blocks. Since:
    /// 0.1
    pub fn opd_params_get(
        params: *const opd_params,
        name: *const c_char,
        out_tensor: *mut *mut opd_tensor,
    ) -> *mut opd_error;
    /// Adds a tensor at the end, or replaces the one of that name in its place.
    ///
    /// `name`:   Borrowed; copied.
    ///
    /// `tensor`: Borrowed; retained.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`, `OPD_OUT_OF_MEMORY`. Threads: one at a time. Since: 0.1
    pub fn opd_params_set(params: *mut opd_params, name: *const c_char, tensor: *mut opd_tensor) -> *mut opd_error;
    /// Loads a file.
    ///
    /// A shared library gives the root of its embedded import tree. A C source is compiled. An object file (.o), an archive
    /// of them (.a) and a tar archive (.tar, also compressed with gzip) of objects and C sources are linked to a shared
    /// library. Compiled and linked files are kept in the cache directory; nothing is left beside the file. A VM executable
    /// is read.
    ///
    /// With `inspect_only` an untrusted file can be looked at: it is read, but no library is mapped, no initialiser runs, no
    /// program is started, nothing is compiled or linked, and the libraries that it is linked against are not opened. The
    /// module lists its functions and imports, describes itself as JSON and can be exported. A C source lists the functions
    /// that its text names. A request for a function or a C symbol is `OPD_FAILED_PRECONDITION`.
    ///
    /// `path`:       Borrowed.
    ///
    /// `options`:    Borrowed; NULL means all defaults.
    ///
    /// `out_module`: New reference.
    ///
    /// Returns NULL, or
    /// - `OPD_NOT_FOUND`: there is no such file, or no such compiler;
    /// - `OPD_BAD_FORMAT` with the offset;
    /// - `OPD_UNSUPPORTED` with the missing symbol, the TVM release it was made for, or the processor feature it needs;
    /// - `OPD_CALL_FAILED` with the compiler's or linker's message;
    /// - `OPD_INVALID_ARGUMENT`: a directory, or an unknown option;
    /// - `OPD_FAILED_PRECONDITION`: `OPD_COPY_NEVER`, and the file is mapped already;
    /// - `OPD_DEADLINE_EXCEEDED`: `build_timeout_ms` passed;
    /// - `OPD_IO`: the copy or the cache directory cannot be written.
    ///
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_module_load(
        path: *const c_char,
        options: *const opd_module_options,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    /// Loads the bytes of a file, as `opd_module_load()` loads the file.
    ///
    /// With the format "c" the bytes are a C source. Its functions named __tvm_ffi_\<name\> are offered as \<name\>, others
    /// through `opd_module_native_function()`.
    ///
    /// `data`:       Borrowed for the call.
    ///
    /// `size`:       Bytes of `data`.
    ///
    /// `name`:       Borrowed; for messages. NULL means "memory".
    ///
    /// `options`:    Borrowed; NULL means all defaults.
    ///
    /// `out_module`: New reference.
    ///
    /// Returns NULL, or an error as there: `OPD_BAD_FORMAT`, `OPD_UNSUPPORTED`, `OPD_CALL_FAILED` … Threads: safe. Blocks.
    /// Since: 0.1
    pub fn opd_module_load_bytes(
        data: *const c_void,
        size: usize,
        name: *const c_char,
        options: *const opd_module_options,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    /// Keeps an object file as it is, as a module of kind "static_library". It cannot run. If a tree that imports it is
    /// exported, it is linked into the exported file.
    ///
    /// `path`:       Borrowed. An object file (.o) or an archive of them (.a).
    ///
    /// `func_names`: Borrowed; `num_func_names` names of the functions that it has, without their prefix.
    ///
    /// `out_module`: New reference.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`, `OPD_BAD_FORMAT`, `OPD_UNSUPPORTED` for another kind of machine.
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_module_load_static_library(
        path: *const c_char,
        func_names: *const *const c_char,
        num_func_names: i32,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    /// Loads a shared library as a module of kind "opdyno.native", which offers C functions of the library as packed
    /// functions.
    ///
    /// Exporting such a module stores its table and the library's path. If the library lies in the exported file's
    /// directory, the path is relative to that. TVM ignores such modules.
    ///
    /// `path`:       Borrowed.
    ///
    /// `names`:      Borrowed; `num_functions` names of C functions.
    ///
    /// `signatures`: Borrowed; as many signatures, as in `opd_function_create_native()`.
    ///
    /// `options`:    Borrowed; as for `opd_module_load()`.
    ///
    /// `out_module`: New reference.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND` for an absent function, `OPD_INVALID_ARGUMENT` for a signature, `OPD_ALREADY_EXISTS` for a
    /// repeated name, or an error of `opd_module_load()`.
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_module_load_native(
        path: *const c_char,
        names: *const *const c_char,
        signatures: *const *const c_char,
        num_functions: i32,
        options: *const opd_module_options,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    /// Gives the module of a system library: objects that are linked into the program and register themselves at start-up.
    /// TVM must have compiled them for a system library. Link them whole (-Wl,--whole-archive), together with
    /// libopdyno_tvmffi.
    ///
    /// `prefix`:     Borrowed. Their `system_lib_prefix`; NULL means "". Without any such object the module is empty.
    ///
    /// `out_module`: New reference: the same module at each call with that prefix, as long as the process lives.
    ///
    /// Returns NULL, or `OPD_BAD_FORMAT` if the embedded data cannot be read. Threads: safe. Since: 0.1
    pub fn opd_module_system_lib(prefix: *const c_char, out_module: *mut *mut opd_module) -> *mut opd_error;
    /// Returns 1 if this build can run artifacts for `target`: "cpu", "llvm", "c", "cuda", "gpu", "nvptx", "opencl", "cl",
    /// "vulkan", "metal", "mtl", "rocm" …, with or without options after a space. 0 for unknown ones.
    /// Threads: safe. Since: 0.1
    pub fn opd_module_enabled(target: *const c_char) -> c_int;
    /// Gives a function of a module.
    ///
    /// `name`:          Borrowed. NULL means the entry function: "main" (in a library the symbol __tvm_ffi_main), of the
    /// module or of an import.
    ///
    /// `query_imports`: 1: looks also in imported modules, depth first.
    ///
    /// `out_function`:  New reference; keeps the module.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND` with close names; `OPD_UNSUPPORTED` for a function that must first be linked, or run by
    /// a VM or a device that this build lacks. Threads: safe. Blocks. Since: 0.1
    pub fn opd_module_get_function(
        module: *mut opd_module,
        name: *const c_char,
        query_imports: c_int,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    /// Gives a C symbol of a shared library as a packed function.
    ///
    /// `symbol`:       Borrowed.
    ///
    /// `signature`:    Borrowed; as in `opd_function_create_native()`.
    ///
    /// `out_function`: New reference; keeps the module.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`, `OPD_INVALID_ARGUMENT` for the signature. Threads: safe. Since: 0.1
    pub fn opd_module_native_function(
        module: *mut opd_module,
        symbol: *const c_char,
        signature: *const c_char,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    /// Returns 1 if there is a function of that name, else 0.
    ///
    /// `name`:  Borrowed.
    ///
    /// `flags`: Bits of `opd_module_lookup`. `OPD_LOOKUP_OWN` and `OPD_LOOKUP_IMPORTS` tell whether `opd_module_get_function()`
    /// succeeds.
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_module_has_function(module: *mut opd_module, name: *const c_char, flags: c_int) -> c_int;
    /// Lists the functions that the module itself offers, sorted.
    ///
    /// `out_names`: New reference: an array of strings.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Blocks. Since: 0.1
    pub fn opd_module_list_functions(module: *mut opd_module, out_names: *mut *mut opd_array) -> *mut opd_error;
    /// Returns the kind: "library", "relax.VMExecutable", "c" …; borrowed. Threads: safe. Since: 0.1
    pub fn opd_module_kind(module: *const opd_module) -> *const c_char;
    /// Returns the format of the module's content: "so", "c", "o", "vmexec", "ptx" …, "" if it is not known; borrowed.
    /// Threads: safe. Since: 0.1
    pub fn opd_module_format(module: *const opd_module) -> *const c_char;
    /// Returns `opd_module_property` bits. Threads: safe. Since: 0.1
    pub fn opd_module_properties(module: *const opd_module) -> i32;
    /// Gives the source: a C module's text, a VM executable's assembly.
    ///
    /// `format`:   Borrowed; NULL means the usual one.
    ///
    /// `out_text`: New reference.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for binary modules. Threads: safe. Since: 0.1
    pub fn opd_module_get_source(
        module: *mut opd_module,
        format: *const c_char,
        out_text: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    /// Describes the module and its imports as JSON: kind, file, TVM release as far as it can be told, functions, imports.
    ///
    /// `out_json`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_module_to_json(module: *mut opd_module, out_json: *mut *mut opd_buffer) -> *mut opd_error;
    /// Lists the imported modules.
    ///
    /// `out_modules`: New reference: an array of modules, a snapshot.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_module_list_imports(module: *mut opd_module, out_modules: *mut *mut opd_array) -> *mut opd_error;
    /// Lets `module` look functions up in `imported`.
    ///
    /// `imported`: Borrowed; retained.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for a cycle. Threads: safe. Blocks. Since: 0.1
    pub fn opd_module_add_import(module: *mut opd_module, imported: *mut opd_module) -> *mut opd_error;
    /// Lists the formats of `opd_module_save()`, the usual one first.
    ///
    /// `out_formats`: New reference: an array of strings.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_module_list_formats(module: *mut opd_module, out_formats: *mut *mut opd_array) -> *mut opd_error;
    /// Writes a file of this module alone, without its imports.
    ///
    /// `path`:   Borrowed; a file there is replaced.
    ///
    /// `format`: Borrowed; NULL: by the path's suffix, then the usual one.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` with the possible formats, `OPD_IO`. Threads: safe. Blocks. Since: 0.1
    pub fn opd_module_save(module: *mut opd_module, path: *const c_char, format: *const c_char) -> *mut opd_error;
    /// Writes a module and all its imports to one file, which opdyno and TVM can load.
    ///
    /// C sources and static libraries are compiled and linked. VM executables and other serialisable modules are embedded in
    /// TVM's format. If the only code is a library that is linked already, it is kept as it is and its embedded modules are
    /// replaced.
    ///
    /// `path`:    Borrowed. Ends in .so for a shared library, or in .tar for an archive of objects, which are linked
    /// when it is loaded. A file there is replaced.
    ///
    /// `options`: Borrowed; NULL means all defaults.
    ///
    /// Returns NULL, or
    /// - `OPD_UNSUPPORTED`: a module that can be neither linked nor embedded; a linked library beside other code, in a .tar
    ///   or from memory;
    /// - `OPD_FAILED_PRECONDITION`: the file of a linked library has changed;
    /// - `OPD_CALL_FAILED` with the compiler's or linker's message;
    /// - `OPD_INVALID_ARGUMENT`: another suffix; `OPD_NOT_FOUND`; `OPD_IO`.
    ///
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_module_export(
        module: *mut opd_module,
        path: *const c_char,
        options: *const opd_export_options,
    ) -> *mut opd_error;
    /// Reads an executable's bytes (of either version) and verifies it.
    ///
    /// `data`:           Borrowed for the call.
    ///
    /// `size`:           Bytes of `data`.
    ///
    /// `out_executable`: New reference.
    ///
    /// Returns NULL, or `OPD_BAD_FORMAT` with the section, function or instruction and the offset.
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_executable_load_bytes(
        data: *const c_void,
        size: usize,
        out_executable: *mut *mut opd_executable,
    ) -> *mut opd_error;
    /// Writes the bytes that TVM 0.23 and newer read.
    ///
    /// `out_bytes`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_executable_save_bytes(
        executable: *const opd_executable,
        out_bytes: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    /// Assembles text (docs/assembly.md).
    ///
    /// `text`:           Borrowed, `size` bytes.
    ///
    /// `out_executable`: New reference.
    ///
    /// Returns NULL, or `OPD_BAD_FORMAT` with line and column. Threads: safe. Blocks. Since: 0.1
    pub fn opd_executable_assemble(
        text: *const c_char,
        size: usize,
        out_executable: *mut *mut opd_executable,
    ) -> *mut opd_error;
    /// Writes a program as text.
    ///
    /// `format`:   The form; see `opd_executable_format`.
    ///
    /// `out_text`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an unknown format. Threads: safe. Since: 0.2
    pub fn opd_executable_write(
        executable: *const opd_executable,
        format: opd_executable_format,
        out_text: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    /// Gives the program of a module of kind "relax.VMExecutable".
    ///
    /// `out_executable`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for another kind. Threads: safe. Since: 0.1
    pub fn opd_executable_from_module(
        module: *mut opd_module,
        out_executable: *mut *mut opd_executable,
    ) -> *mut opd_error;
    /// Makes a module of a program. Add the modules with its kernels by `opd_module_add_import()`.
    ///
    /// `out_module`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_executable_to_module(
        executable: *mut opd_executable,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    /// Begins a program.
    ///
    /// `out_builder`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.2
    pub fn opd_executable_builder_create(out_builder: *mut *mut opd_executable_builder) -> *mut opd_error;
    /// Begins a function. Instructions follow until `opd_executable_builder_end_function()`.
    ///
    /// `name`:        Borrowed.
    ///
    /// `num_params`:  At least 0.
    ///
    /// `param_names`: Borrowed, `num_params` names; NULL: "param_0" …. Parameters lie in registers 0 ….
    ///
    /// Returns NULL, or `OPD_ALREADY_EXISTS` for a repeated name, `OPD_FAILED_PRECONDITION` within a function.
    /// Threads: one at a time. Since: 0.2
    pub fn opd_executable_builder_begin_function(
        builder: *mut opd_executable_builder,
        name: *const c_char,
        num_params: i64,
        param_names: *const *const c_char,
    ) -> *mut opd_error;
    /// Ends the function that was begun.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` if none was. Threads: one at a time. Since: 0.2
    pub fn opd_executable_builder_end_function(builder: *mut opd_executable_builder) -> *mut opd_error;
    /// Adds a constant (tensor, shape, string, dtype, int, float), or finds an equal one.
    ///
    /// `value`:       Borrowed; retained.
    ///
    /// `out_operand`: Written.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for another kind. Threads: one at a time. Since: 0.2
    pub fn opd_executable_builder_add_constant(
        builder: *mut opd_executable_builder,
        value: *const opd_value,
        out_operand: *mut opd_operand,
    ) -> *mut opd_error;
    /// Declares or finds the function of a name as an operand.
    ///
    /// `name`:        Borrowed.
    ///
    /// `out_operand`: Written.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`. Threads: one at a time. Since: 0.2
    pub fn opd_executable_builder_add_function(
        builder: *mut opd_executable_builder,
        name: *const c_char,
        out_operand: *mut opd_operand,
    ) -> *mut opd_error;
    /// Appends an instruction to the function that was begun.
    ///
    /// `instruction`: Borrowed for the call.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` outside of a function, `OPD_INVALID_ARGUMENT` for an unknown opcode, or a
    /// register or number that does not fit. Threads: one at a time. Since: 0.2
    pub fn opd_executable_builder_emit(
        builder: *mut opd_executable_builder,
        instruction: *const opd_instruction,
    ) -> *mut opd_error;
    /// Verifies and gives the program. The builder stays usable.
    ///
    /// `out_executable`: New reference.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` within a function, `OPD_BAD_FORMAT` for a program that is not valid.
    /// Threads: one at a time. Since: 0.2
    pub fn opd_executable_builder_get(
        builder: *mut opd_executable_builder,
        out_executable: *mut *mut opd_executable,
    ) -> *mut opd_error;
    /// Begins a report without calls.
    ///
    /// `out_builder`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_report_builder_create(out_builder: *mut *mut opd_report_builder) -> *mut opd_error;
    /// Starts a new row of calls. Following `opd_report_builder_set()` calls for `OPD_REPORT_CALLS` fill it.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` if the report was taken. Threads: one at a time. Since: 0.1
    pub fn opd_report_builder_add_call(builder: *mut opd_report_builder) -> *mut opd_error;
    /// Sets a metric of the newest call, a device or the configuration.
    ///
    /// `section`: Whose metric: that of the newest call, a device or the configuration.
    ///
    /// `device`:  Borrowed; for `OPD_REPORT_DEVICES` the device's name, as "cpu0"; else NULL.
    ///
    /// `name`:    Borrowed UTF-8: "Name", "Duration (us)" … For bytes and hertz, " (bytes)" or " (Hz)" is appended
    /// unless the name ends with it.
    ///
    /// `kind`:    The kind of `value`; neither NONE nor JSON.
    ///
    /// `value`:   Borrowed: an int for counts and bytes, a string, else a float or int.
    ///
    /// Returns NULL, or `OPD_ALREADY_EXISTS` (the row has that metric), `OPD_INVALID_ARGUMENT` (the value does not fit the kind,
    /// or is not UTF-8; a device is missing or not expected), `OPD_FAILED_PRECONDITION` (no call was added, or the
    /// report was taken).
    /// Threads: one at a time. Cost: a look-up of the column; none if calls have the same columns in the same order.
    /// Since: 0.2
    pub fn opd_report_builder_set(
        builder: *mut opd_report_builder,
        section: opd_report_section,
        device: *const c_char,
        name: *const c_char,
        kind: opd_metric_kind,
        value: *const opd_value,
    ) -> *mut opd_error;
    /// Takes the report. The builder can only be released afterwards.
    ///
    /// `out_report`: New reference.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` if it was taken. Threads: one at a time. Since: 0.1
    pub fn opd_report_builder_finish(
        builder: *mut opd_report_builder,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    /// Reads a report from its JSON.
    ///
    /// `json`:       Borrowed, `size` bytes.
    ///
    /// `out_report`: New reference.
    ///
    /// Returns NULL, or `OPD_BAD_FORMAT` with the offset. Threads: safe. Since: 0.1. Source: TVM Report.from_json.
    pub fn opd_report_from_json(json: *const c_char, size: usize, out_report: *mut *mut opd_report) -> *mut opd_error;
    /// Joins reports of several runs, machines or ranks into one.
    ///
    /// Configuration entries that are equal in all reports stay in the configuration. The others become columns of the rows
    /// (and metrics of the devices) of their reports. If the rows already have a column of that name, " (configuration)" is
    /// appended to the name. The column "Run" counts the runs from 0; runs of reports that were merged before stay apart.
    /// Devices are listed for each run, as "cpu0 (run 1)".
    ///
    /// `reports`:    Borrowed, `num` of them, at least one.
    ///
    /// `out_report`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` (no reports), `OPD_UNSUPPORTED` (more than 2^32 - 1 rows).
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_report_merge(
        reports: *const *const opd_report,
        num: usize,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    /// Writes a report as text.
    ///
    /// `format`:   The form; see `opd_report_format`.
    ///
    /// `options`:  Borrowed; NULL means all defaults.
    ///
    /// `out_text`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an unknown format or a width that is too small. Threads: safe. Since: 0.2
    pub fn opd_report_write(
        report: *const opd_report,
        format: opd_report_format,
        options: *const opd_report_write_options,
        out_text: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    /// Gives the calls as one batch of an Arrow stream, with the report's own memory if its layout is Arrow's.
    ///
    /// Counts and bytes are int64; durations, percentages, ratios and hertz are float64; text is a dictionary of int64 and
    /// utf8, which all text columns share. A column of different kinds is float64 if all its values are numbers, else utf8.
    /// A missing metric is null. The metadata of each field has "opdyno.kind", as TVM's JSON names it; the metadata of the
    /// schema has "device_metrics" and "configuration" as JSON.
    ///
    /// `out_stream`: Written, not read. It and its arrays keep the memory alive until they are released, on any thread,
    /// also after `report`.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`.
    /// Threads: safe. Cost: no copy of columns that have a number or a text in each row. Since: 0.1. Source: the Arrow C
    /// data and C stream interfaces.
    pub fn opd_report_to_arrow(report: *const opd_report, out_stream: *mut c_void) -> *mut opd_error;
    /// Returns the number of rows of `section`; 0 for an unknown one. Threads: safe. Since: 0.2
    pub fn opd_report_count(report: *const opd_report, section: opd_report_section) -> usize;
    /// Lists the names of the metrics of a section's rows, in the order in which they appeared.
    ///
    /// `section`:   Calls, devices or configuration.
    ///
    /// `out_names`: New reference: an array of strings.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an unknown section. Threads: safe. Since: 0.2
    pub fn opd_report_list(
        report: *const opd_report,
        section: opd_report_section,
        out_names: *mut *mut opd_array,
    ) -> *mut opd_error;
    /// Gives one metric of a row: counts and bytes as int, text as string, all else as float.
    ///
    /// `section`:   Calls, devices or configuration.
    ///
    /// `row`:       0 to `opd_report_count()` - 1.
    ///
    /// `name`:      Borrowed: "Name", "Duration (us)" …
    ///
    /// `out_value`: New reference; `OPD_NONE` if other rows have such a metric, but not this one.
    ///
    /// `out_kind`:  Written; `OPD_METRIC_NONE` likewise. NULL if it is not wanted.
    ///
    /// Returns NULL, or `OPD_OUT_OF_RANGE`; `OPD_NOT_FOUND` with the names of the section; `OPD_INVALID_ARGUMENT` for the section.
    /// Threads: safe. Since: 0.2
    pub fn opd_report_get(
        report: *const opd_report,
        section: opd_report_section,
        row: usize,
        name: *const c_char,
        out_value: *mut opd_value,
        out_kind: *mut opd_metric_kind,
    ) -> *mut opd_error;
    /// Gives one metric of all rows of a section, as `opd_report_get()` gives it for one.
    ///
    /// `section`:    Calls, devices or configuration.
    ///
    /// `name`:       Borrowed.
    ///
    /// `out_values`: New reference: an array with a value for each row.
    ///
    /// `out_kinds`:  New reference: an array with the `opd_metric_kind` of each value; NULL if it is not wanted.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND` with the names of the section; `OPD_INVALID_ARGUMENT` for the section.
    /// Threads: safe. Cost: some 10 ns a row. Since: 0.2
    pub fn opd_report_get_column(
        report: *const opd_report,
        section: opd_report_section,
        name: *const c_char,
        out_values: *mut *mut opd_array,
        out_kinds: *mut *mut opd_array,
    ) -> *mut opd_error;
    /// Writes a metric of the call that ended.
    ///
    /// `name`:  Borrowed; the name of the report's column. If a name is set twice, the later value counts.
    ///
    /// `kind`:  The kind of `value`: an int for `OPD_METRIC_COUNT` and `OPD_METRIC_BYTES`, text for `OPD_METRIC_STRING`,
    /// an int or a float for the others.
    ///
    /// `value`: Borrowed.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`: no name, no such kind, a value of another type.
    /// Threads: the one that runs `stop`. Cost: 20 ns if metrics come in the order of the call before. Since: 0.1
    pub fn opd_metrics_set(
        metrics: *mut opd_metrics,
        name: *const c_char,
        kind: opd_metric_kind,
        value: *const opd_value,
    ) -> *mut opd_error;
    /// Makes a collector of a table.
    ///
    /// `name`:          Borrowed; its name in reports.
    ///
    /// `table`:         Borrowed; its user_data is taken over on success.
    ///
    /// `out_collector`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`; `OPD_UNSUPPORTED` for functions of a later version.
    /// Threads: safe. Since: 0.1
    pub fn opd_collector_create(
        name: *const c_char,
        table: *const opd_collector_table,
        out_collector: *mut *mut opd_collector,
    ) -> *mut opd_error;
    /// Makes a built-in collector.
    ///
    /// `kind`:          The kind of collector; see `opd_collector_kind`.
    ///
    /// `options`:       Borrowed; NULL means all defaults.
    ///
    /// `out_collector`: New reference.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND` for the name of an event; `OPD_UNSUPPORTED` with the reason and the remedy if the
    /// collector or an event is not available here; `OPD_INVALID_ARGUMENT` for the kind or an option that it does not
    /// take.
    /// Threads: safe. Cost: each named event is counted once. Blocks. Since: 0.2
    pub fn opd_collector_create_builtin(
        kind: opd_collector_kind,
        options: *const opd_counter_options,
        out_collector: *mut *mut opd_collector,
    ) -> *mut opd_error;
    /// Lists the events that a built-in collector can count here: each was counted once.
    ///
    /// `kind`:      Which collector.
    ///
    /// `out_names`: New reference: an array of strings; empty for a collector that takes no events.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` without the PAPI library, `OPD_INVALID_ARGUMENT` for the kind.
    /// Threads: safe. Blocks. Since: 0.2
    pub fn opd_collector_list_events(kind: opd_collector_kind, out_names: *mut *mut opd_array) -> *mut opd_error;
    /// Makes a function that measures calls of another one. It takes the same arguments, calls the function `warmup_iters`
    /// times, then once with the collectors around it. Its result is a map from a metric's name to an array of its kind
    /// (`opd_metric_kind`) and its value; "Duration (us)" is always there. A collector that fails is an error here.
    ///
    /// `function`:     Borrowed; retained.
    ///
    /// `device`:       The device that collectors are started with. It is synchronised before the clock is read.
    ///
    /// `collectors`:   Borrowed; `num_collectors` of them, retained.
    ///
    /// `out_function`: New reference. One call at a time.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`, `OPD_UNSUPPORTED` device.
    /// Threads: safe. Since: 0.2. Source: TVM 0.23 profile_function.
    pub fn opd_function_profile(
        function: *mut opd_function,
        device: DLDevice,
        collectors: *const *mut opd_collector,
        num_collectors: i32,
        warmup_iters: i32,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    /// Reads the file of a recording (`opd_profiler_options.file`): a finished recording, one that a process is still
    /// writing, or the rest that a killed process has left. Beside PATH it reads PATH.live, if there is one. Times are on
    /// the clock of the process that recorded. A damaged block of 64 KiB is left out; its events are counted as dropped.
    ///
    /// `path`:      Borrowed. Hostile files do no harm.
    ///
    /// `out_trace`: New reference.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`, `OPD_IO`, or `OPD_BAD_FORMAT` if the file is no recording.
    /// Threads: safe. Cost: memory for the file's events. Blocks. Since: 0.2
    pub fn opd_trace_load(path: *const c_char, out_trace: *mut *mut opd_trace) -> *mut opd_error;
    /// Returns the number of recorded calls. Threads: safe. Since: 0.1
    pub fn opd_trace_call_count(trace: *const opd_trace) -> usize;
    /// Returns the number of dropped events: calls of operators and of programs, and ranges for which there was no room.
    /// Threads: safe. Since: 0.1
    pub fn opd_trace_dropped_count(trace: *const opd_trace) -> u64;
    /// Gives a trace as text or bytes.
    ///
    /// `format`:    The form; see `opd_trace_format`.
    ///
    /// `options`:   Borrowed; NULL means all defaults.
    ///
    /// `out_bytes`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an unknown format, metric, device or time unit, or for metadata that is not
    /// a JSON object; `OPD_NOT_FOUND` for `sort_by`, with the known ones; `OPD_FAILED_PRECONDITION` for a memory
    /// timeline of a trace without memory. Threads: safe. Blocks. Since: 0.2
    /// Source: torch.profiler: export_chrome_trace, export_stacks, key_averages().table(), export_memory_timeline;
    /// speedscope's file format; Perfetto's trace_packet.proto; pprof's profile.proto; OpenTelemetry's profiles.proto;
    /// Brendan Gregg, "The Flame Graph" (CACM 59(6), 2016), here with the outermost names at the top
    pub fn opd_trace_write(
        trace: *const opd_trace,
        format: opd_trace_format,
        options: *const opd_trace_write_options,
        out_bytes: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    /// Writes a trace to a file, which appears as a whole, any number of times. If the path ends in ".gz", the file is
    /// compressed by gzip.
    ///
    /// `path`:    Borrowed.
    ///
    /// `format`:  The form; see `opd_trace_format`.
    ///
    /// `options`: Borrowed; NULL means all defaults.
    ///
    /// Returns NULL, or as `opd_trace_write()`, or `OPD_IO` for the file. Threads: safe. Blocks. Since: 0.2
    pub fn opd_trace_save(
        trace: *const opd_trace,
        path: *const c_char,
        format: opd_trace_format,
        options: *const opd_trace_write_options,
    ) -> *mut opd_error;
    /// Makes a report of calls, runs of programs, ranges and steps.
    ///
    /// Columns: "Name"; "Duration (us)" and "Percent", nested spans included; "Device"; "Count"; "Argument Shapes"; "Self
    /// (us)", nested spans excluded; "Kind": call, run, range, step, mark or device; "FLOP" where it is known. If memory was
    /// recorded: "Memory (bytes)" and "Self Memory (bytes)", the memory that the thread allocated on the host minus the
    /// memory it freed, with and without nested spans; "Device Memory (bytes)" and "Self Device Memory (bytes)" of other
    /// devices. If work of devices was recorded: "Device Duration (us)" and "Self Device Duration (us)", the time on devices
    /// of the work that the thread submitted, with and without nested spans. Kernels and copies have rows of their own, with
    /// only the time on the device. Of events they have "Stream", a number; "Launch Thread ID"; "Launched In", the row of
    /// the span around the launch; "Launch Gap (us)", how long the work waited on the device; and of copies "Bytes". Of
    /// events, also "Start (us)" from the begin of the first one, "Thread ID", "Thread", "Parent" (the row of the span
    /// around it), "Depth", "Open" (1: it had not ended when the recording did), "Step" (its number) and "Error"; of a
    /// merged trace "Process ID", "Process" and "Host", too. If stacks were recorded, events have "Stack": the host's call
    /// stack at the begin of the span, or else of the span around it. The innermost function is first, each as "file(line):
    /// function;".
    ///
    /// The "Name" of a path has the names of its spans, outermost first, joined by ";"; a ";" in a name becomes "_". Paths
    /// have no shapes, memory and FLOP. Views by part have "Run". If a span is nested in one of the same name, they count
    /// its time once.
    ///
    /// Tasks are in no other view, because the calls that launch their loops are in those. Their columns: "Name" of the
    /// innermost span that launched the loop, or "parallel_for"; "Duration (us)"; "Start (us)"; "Wait (us)" from its end to
    /// the end of the loop's last task; "Loop", a number; "Task", its number in the loop; "Tasks", how many the loop has;
    /// "Thread ID"; "Thread"; of a merged trace "Process ID", "Process" and "Host", too.
    ///
    /// `view`:       Of which spans, and what makes one row; see `opd_trace_view`.
    ///
    /// `options`:    Borrowed; NULL means all defaults. Of key averages, `group_by_input_shape` makes a row for each
    /// name and shapes, and `group_by_stack_n` for each name and so many functions, which are the column "Stack". The other
    /// fields have no effect.
    ///
    /// `out_report`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an unknown view or a field. Threads: safe. Blocks. Since: 0.2
    /// Source: torch.profiler.profile.events, key_averages
    pub fn opd_trace_to_report(
        trace: *const opd_trace,
        view: opd_trace_view,
        options: *const opd_trace_write_options,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    /// Joins traces of several processes and machines into one, on the time line of Unix time. Each process keeps its own
    /// threads, runs and number. Processes on one machine are aligned by its monotonic clock, unless it was restarted in
    /// between; so a change of the system's time does not move them apart. On several machines, the times are as accurate as
    /// the clocks. Chrome traces and the page show the clock errors that the options or NTP state.
    ///
    /// Merged traces may be merged again. Then a label is put before the label of each process.
    ///
    /// `traces`:    Borrowed, `num_traces` of them, each another one. The result shares their events.
    ///
    /// `options`:   Borrowed; NULL means all defaults.
    ///
    /// `out_trace`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` (no trace, one recording twice, more than 4096 processes; a list that is not as
    /// long as the traces; two equal labels; offsets of more than 2^60 ns).
    /// Threads: safe. Cost: 8 bytes an event. Blocks. Since: 0.2
    pub fn opd_trace_merge(
        traces: *const *const opd_trace,
        num_traces: usize,
        options: *const opd_trace_merge_options,
        out_trace: *mut *mut opd_trace,
    ) -> *mut opd_error;
    /// Makes a profiler, which records nothing until it is started.
    ///
    /// `options`:      Borrowed; NULL means all defaults.
    ///
    /// `out_profiler`: New reference. A profiler that is released while it records is stopped.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an option. Threads: safe. Since: 0.2
    /// Source: torch.profiler.profile, torch.profiler.schedule
    pub fn opd_profiler_create(
        options: *const opd_profiler_options,
        out_profiler: *mut *mut opd_profiler,
    ) -> *mut opd_error;
    /// Records from now on, or as the schedule says. Several profilers, and profiles of VMs, may record at the same time.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` if the profiler was started already, 16 recordings run in the process, or
    /// another one writes the file; `OPD_INVALID_ARGUMENT` if there is something else than a regular file, `OPD_IO`.
    /// Threads: safe. Cost: two readings of the clock and 64 bytes an event; with a file, both twice. Blocks. Since: 0.2
    /// Source: torch.profiler.profile.start
    pub fn opd_profiler_start(profiler: *mut opd_profiler) -> *mut opd_error;
    /// Sets the action of the profiler in the step that begins with the next `opd_profiler_start()` or `opd_profiler_step()`,
    /// in place of the schedule. Use it for a schedule of your own.
    ///
    /// `action`: As a schedule would choose it for that step.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an unknown action. Threads: safe. Since: 0.2
    /// Source: torch.profiler.ProfilerAction
    pub fn opd_profiler_set_action(profiler: *mut opd_profiler, action: opd_profiler_action) -> *mut opd_error;
    /// Ends a step of the program and begins the next one. Before `opd_profiler_start()` it only counts.
    ///
    /// `out_trace`: New reference if the schedule says that a cycle ends with this step; else NULL.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` as `opd_profiler_start()`.
    /// Threads: safe. Blocks. Since: 0.2. Source: torch.profiler.profile.step
    pub fn opd_profiler_step(profiler: *mut opd_profiler, out_trace: *mut *mut opd_trace) -> *mut opd_error;
    /// Ends the recording at once. Unfinished ranges and runs of programs are in the trace up to now, marked as open. A
    /// profiler may be started again.
    ///
    /// `out_trace`: New reference; NULL if the schedule was not recording.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` if the profiler was not started.
    /// Threads: safe, also inside of a recorded call. Blocks. Since: 0.2. Source: torch.profiler.profile.stop
    pub fn opd_profiler_stop(profiler: *mut opd_profiler, out_trace: *mut *mut opd_trace) -> *mut opd_error;
    /// Gives the events recorded so far, as `opd_profiler_stop()` would, and goes on recording. With a ring buffer, these are
    /// the last events.
    ///
    /// `out_trace`: New reference; NULL if the schedule is not recording.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` if the profiler was not started; `OPD_IO` for its file.
    /// Threads: safe. Cost: 8 bytes an event; of a file, reading it. Blocks. Since: 0.2
    pub fn opd_profiler_snapshot(profiler: *mut opd_profiler, out_trace: *mut *mut opd_trace) -> *mut opd_error;
    /// Makes a profiler a flight recorder: from the next `opd_profiler_start()` on, a trigger dumps its events to a file. A
    /// thread of the library writes the dump while the profiler goes on recording, so a trigger delays nothing. Triggers
    /// that come during a dump share one dump after it; `opd_profiler_stop()` waits for it. The reason of a dump is the member
    /// "dump_reason" of a Chrome trace. The log callback gets it, too, and the reason why a dump failed.
    ///
    /// From `opd_profiler_start()` to `opd_profiler_stop()` the library handles the signal, and the process goes on. The program
    /// must have no handler for it. In a step that is not recorded, the signal does nothing. A forked child writes no dumps.
    /// Dumps of a memory timeline need `profile_memory`.
    ///
    /// `options`: Borrowed; NULL: no dumps.
    ///
    /// Returns NULL, `OPD_FAILED_PRECONDITION` if the profiler was started, or `OPD_INVALID_ARGUMENT` for an option. Then
    /// `opd_profiler_start()` returns `OPD_FAILED_PRECONDITION` if the program handles the signal.
    /// Threads: safe. Cost: a sleeping thread, and one load for each range and run. Blocks. Since: 0.2
    pub fn opd_profiler_set_dumps(
        profiler: *mut opd_profiler,
        options: *const opd_profiler_dump_options,
    ) -> *mut opd_error;
    /// Asks for a dump, and does not wait for it.
    ///
    /// `reason`: Borrowed; UTF-8. The dump contains it.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` if the profiler does not record, or has no dumps.
    /// Threads: safe. Blocks. Since: 0.2
    pub fn opd_profiler_dump(profiler: *mut opd_profiler, reason: *const c_char) -> *mut opd_error;
    /// Returns the number of dumps written so far, which is the newest dump's number. Threads: safe. Blocks. Since: 0.2
    pub fn opd_profiler_dump_count(profiler: *const opd_profiler) -> u64;
    /// Returns a number for the name of ranges. Equal names have equal numbers. For frequent ranges, keep the number.
    ///
    /// `name`: Borrowed; UTF-8. NULL is "".
    /// Threads: safe. Cost: a lock and a hash. Since: 0.2
    pub fn opd_range_name(name: *const c_char) -> u32;
    /// Returns 1 if a profiler records ranges now, or a tool that `opd_itt_is_available()` reports; else 0. For bindings:
    /// while the result is 0, names need no numbers. Threads: safe. Cost: a load. Since: 0.2
    pub fn opd_range_is_recorded() -> i32;
    /// Begins a range on the calling thread. Ranges of a thread should be nested; a trace shows overlapping ranges on
    /// separate tracks.
    ///
    /// `name`: Result of `opd_range_name()`; ignored if no profiler records.
    ///
    /// Returns The range for `opd_range_end()`; 0 if no profiler records.
    /// Threads: safe. Cost: some 3 ns with its end if no profiler records, else a reading of the clock. Since: 0.2
    /// Source: torch.profiler.record_function
    pub fn opd_range_begin(name: u32) -> u64;
    /// Ends a range, on the thread that began it; on another thread it does nothing. Profilers that have recorded since the
    /// range began get it.
    ///
    /// `range`: Result of `opd_range_begin()`.
    /// Threads: safe. Since: 0.2
    pub fn opd_range_end(range: u64);
    /// Begins a range that `opd_range_pop()` ends.
    ///
    /// `name`: Borrowed; UTF-8. NULL is "". It is not read if no profiler records.
    ///
    /// Returns The depth: the number of pushed ranges around it on this thread, from 0.
    /// Threads: safe. Cost: as `opd_range_begin()`, and that of `opd_range_name()` if a profiler records. Since: 0.2
    /// Source: torch.profiler.itt.range_push
    pub fn opd_range_push(name: *const c_char) -> i32;
    /// Ends the range that was pushed last on this thread.
    ///
    /// Returns The number that its `opd_range_push()` returned; -1 if there is none. Threads: safe. Since: 0.2
    /// Source: torch.profiler.itt.range_pop
    pub fn opd_range_pop() -> i32;
    /// Marks a moment on the calling thread.
    ///
    /// `name`: Result of `opd_range_name()`.
    /// Threads: safe. Since: 0.2. Source: torch.profiler.itt.mark
    pub fn opd_range_mark(name: u32);
    /// Returns 1 if a tool receives ranges and marks through Intel's ITT API, else 0. It does if the environment variable
    /// INTEL_LIBITTNOTIFY64 named the tool's collector library when this library was loaded. Then each range is a task of
    /// the domain "opdyno", and each mark a marker, also while no profiler records. ITT ends the tasks of a thread in
    /// reverse order, so ranges should be nested.
    /// Threads: safe. Cost: the first call, or the first range, loads the collector. Since: 0.2
    /// Source: torch.profiler.itt.is_available; Intel's ITT API reference, "Task API"
    pub fn opd_itt_is_available() -> i32;
    /// Returns 1 if a profiler records stacks now, else 0. Threads: safe. Cost: a load. Since: 0.2
    pub fn opd_stack_is_recorded() -> i32;
    /// Sets which functions of a language run on the calling thread, until `opd_stack_pop()`. For bindings, around each
    /// native call for their language. Stacks recorded meanwhile have these functions in place of the native caller of
    /// `opd_stack_push()` and that caller's own callers.
    ///
    /// `frames`: Borrowed: all `num_frames` frames of the thread, innermost first. If there are more than 256, the
    /// innermost 256 count.
    /// Threads: safe. Cost: a lock and a hash of the frames. Since: 0.2
    pub fn opd_stack_push(frames: *const opd_stack_frame, num_frames: i32);
    /// Undoes the calling thread's last `opd_stack_push()`. Threads: safe. Since: 0.2
    pub fn opd_stack_pop();
    /// Makes a token.
    ///
    /// `out_token`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.2
    pub fn opd_cancel_token_create(out_token: *mut *mut opd_cancel_token) -> *mut opd_error;
    /// Cancels all running and future calls that use this token: they return `OPD_CANCELLED`.
    ///
    /// A running call stops before its next operator or parallel region. Tasks of a region that have not started are
    /// skipped, unless another task waits for them at a barrier. The VM stays usable; the contents of tensors that the
    /// kernel was to write are undefined. Threads: safe. Since: 0.2
    pub fn opd_cancel_token_cancel(token: *mut opd_cancel_token);
    /// Makes the token usable again. Threads: safe. Since: 0.2
    pub fn opd_cancel_token_reset(token: *mut opd_cancel_token);
    /// Sets the default cancel token of the calling thread. It ends calls of VMs on that thread, also calls with a token of
    /// their own. Bindings use this for Ctrl-C.
    ///
    /// `token`: Borrowed; retained until the next one is set or the thread ends. NULL: none.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` inside of a call. Threads: safe; each has its own. Since: 0.2
    pub fn opd_cancel_token_set_default(token: *mut opd_cancel_token) -> *mut opd_error;
    /// Returns the operator that a call with this token is running, for messages about calls that hang.
    ///
    /// Returns Borrowed from the VM of that call; NULL if there is none. Threads: safe. Since: 0.2
    pub fn opd_cancel_token_current_operator(token: *const opd_cancel_token) -> *const c_char;
    /// Makes a VM of a module of kind "relax.VMExecutable". Kernels are looked up in its imports, then among the global
    /// functions. If the module is of a session (rpc.h), the VM is on the server: its devices are the session's, cpu:0 if
    /// none is given, and memory_limit_bytes and max_depth must have their defaults.
    ///
    /// `module`:  Borrowed; retained.
    ///
    /// `options`: Borrowed; NULL means all defaults.
    ///
    /// `out_vm`:  New reference.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND` with the functions that are missing; `OPD_UNSUPPORTED` device or program;
    /// `OPD_INVALID_ARGUMENT` for a module of another kind or an option.
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_vm_create(
        module: *mut opd_module,
        options: *const opd_vm_options,
        out_vm: *mut *mut opd_vm,
    ) -> *mut opd_error;
    /// Calls function `name` of `vm` and waits for its result.
    ///
    /// `vm`:        Borrowed. May be called from several threads at once.
    ///
    /// `name`:      Borrowed.
    ///
    /// `args`:      Borrowed, `num_args` values. Tensors must lie on a device of the VM. An `OPD_TENSOR` is handed on as
    /// it is, with its strides and byte offset, which kernels check; its data must be 64-byte aligned. An `OPD_DLTENSOR` may
    /// have any alignment: it is copied into a compact tensor on every call, and writes of the program do not reach the
    /// original. To avoid the copy, make a tensor of it once by `opd_tensor_from_dlpack()`.
    ///
    /// `options`:   Borrowed; NULL means all defaults.
    ///
    /// `out_value`: New reference; a tuple arrives as an array, nested as the program returns it.
    ///
    /// Returns NULL, or
    /// - `OPD_NOT_FOUND` with close names;
    /// - `OPD_INVALID_ARGUMENT`: count, dtype or shape (the message has the parameter, expected and given); outputs that do
    ///   not fit; a negative timeout;
    /// - `OPD_CANCELLED`, `OPD_DEADLINE_EXCEEDED`, `OPD_OUT_OF_MEMORY`, `OPD_OUT_OF_RANGE` (depth);
    /// - the error that an operator raised, with the operator's name.
    ///
    /// Threads: safe. Cost: one frame; no allocation once the pool is warm. Blocks. Since: 0.1
    pub fn opd_vm_call(
        vm: *mut opd_vm,
        name: *const c_char,
        args: *const opd_value,
        num_args: i32,
        options: *const opd_call_options,
        out_value: *mut opd_value,
    ) -> *mut opd_error;
    /// Gives a function of the program. It keeps the VM and is called without a look-up by name.
    ///
    /// `name`:         Borrowed.
    ///
    /// `out_function`: New reference.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND` with close names. Threads: safe. Blocks. Since: 0.2
    pub fn opd_vm_get_function(
        vm: *mut opd_vm,
        name: *const c_char,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    /// Calls a closure that a function of `vm` returned, or any packed function, as `opd_vm_call()` calls a function: with
    /// deadline and cancel token, and seen by profiles and the instrument. Closures that a program returns keep their VM.
    ///
    /// `closure`:   Borrowed.
    ///
    /// `args`:      As in `opd_vm_call()`: `num_args` values.
    ///
    /// `options`:   Borrowed; without names and outputs; NULL means all defaults.
    ///
    /// `out_value`: New reference.
    ///
    /// Returns NULL, or an error as `opd_vm_call()`: `OPD_CANCELLED`, `OPD_CALL_FAILED` …
    /// Threads: safe. Blocks. Since: 0.1. Source: TVM invoke_closure.
    pub fn opd_vm_invoke_closure(
        vm: *mut opd_vm,
        closure: *mut opd_function,
        args: *const opd_value,
        num_args: i32,
        options: *const opd_call_options,
        out_value: *mut opd_value,
    ) -> *mut opd_error;
    /// Saves a function with its arguments under a name, by which it is then called without arguments.
    ///
    /// `name`:           Borrowed: a function of the program.
    ///
    /// `saved_name`:     Borrowed. A saved function of that name is replaced.
    ///
    /// `args`:           As in `opd_vm_call()`: `num_args` values; kept until the name is saved anew or the VM ends.
    ///
    /// `options`:        Borrowed; only names are used.
    ///
    /// `include_return`: 0: a call of the saved function gives `OPD_NONE`.
    ///
    /// Returns NULL, or `OPD_ALREADY_EXISTS` if the program has a function named `saved_name`; `OPD_NOT_FOUND`;
    /// `OPD_INVALID_ARGUMENT` as in `opd_vm_call()`.
    /// Threads: safe; running calls keep the function they began with. Blocks. Since: 0.1. Source: TVM save_function.
    pub fn opd_vm_save_function(
        vm: *mut opd_vm,
        name: *const c_char,
        saved_name: *const c_char,
        args: *const opd_value,
        num_args: i32,
        options: *const opd_call_options,
        include_return: c_int,
    ) -> *mut opd_error;
    /// Keeps the arguments of a function for `opd_vm_invoke_stateful()`. Tensors on the VM's device are not copied.
    ///
    /// `name`:    Borrowed.
    ///
    /// `args`:    As in `opd_vm_call()`: `num_args` values.
    ///
    /// `options`: Borrowed; only names and param_module are used. NULL means all defaults.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`, `OPD_INVALID_ARGUMENT` as in `opd_vm_call()`.
    /// Threads: one at a time. Blocks. Since: 0.1
    pub fn opd_vm_set_input(
        vm: *mut opd_vm,
        name: *const c_char,
        args: *const opd_value,
        num_args: i32,
        options: *const opd_call_options,
    ) -> *mut opd_error;
    /// Runs a function on its inputs and keeps the result.
    ///
    /// `name`:    Borrowed.
    ///
    /// `options`: Borrowed; NULL means all defaults.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` if its inputs were not set; errors as `opd_vm_call()`.
    /// Threads: one at a time. Blocks. Since: 0.1
    pub fn opd_vm_invoke_stateful(
        vm: *mut opd_vm,
        name: *const c_char,
        options: *const opd_call_options,
    ) -> *mut opd_error;
    /// Gives the result of the last `opd_vm_invoke_stateful()`, or an item of it.
    ///
    /// `name`:      Borrowed.
    ///
    /// `path`:      Borrowed: `path_size` indices into nested tuples; none for the whole result.
    ///
    /// `out_value`: New reference.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` before it ran, `OPD_OUT_OF_RANGE`, `OPD_INVALID_ARGUMENT` for an index into
    /// anything but a tuple.
    /// Threads: one at a time. Blocks. Since: 0.1
    pub fn opd_vm_get_outputs(
        vm: *mut opd_vm,
        name: *const c_char,
        path: *const i64,
        path_size: i32,
        out_value: *mut opd_value,
    ) -> *mut opd_error;
    /// Shows every call of the VM's programs to a function: `instrument(function, name, before, result, arguments …)`, once
    /// before the call (before is true, result `OPD_NONE`) and once after it. An error that it raises ends the call. Calls
    /// that it makes itself are not shown. In compiled functions, calls of kernels come with `OPD_NONE` as the function.
    ///
    /// `instrument`: Borrowed; retained. NULL: none. Running calls keep theirs.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`.
    /// Threads: safe; the instrument runs on the thread of the call. Blocks. Since: 0.1. Source: TVM set_instrument.
    pub fn opd_vm_set_instrument(vm: *mut opd_vm, instrument: *mut opd_function) -> *mut opd_error;
    /// Returns 1 if the program has a function named `name`, or one was saved under that name; else 0.
    /// Threads: safe. Blocks. Since: 0.1
    pub fn opd_vm_has_function(vm: *mut opd_vm, name: *const c_char) -> c_int;
    /// Lists the program's functions.
    ///
    /// `out_names`: New reference: an array of strings.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Blocks. Since: 0.1
    pub fn opd_vm_list_functions(vm: *mut opd_vm, out_names: *mut *mut opd_array) -> *mut opd_error;
    /// Lists the names of a function's parameters.
    ///
    /// `name`:      Borrowed.
    ///
    /// `out_names`: New reference: an array of strings.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`. Threads: safe. Blocks. Since: 0.1
    pub fn opd_vm_list_params(vm: *mut opd_vm, name: *const c_char, out_names: *mut *mut opd_array) -> *mut opd_error;
    /// Returns the memory that idle frames keep to the allocators.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`. Threads: safe. Blocks. Since: 0.1
    pub fn opd_vm_trim(vm: *mut opd_vm) -> *mut opd_error;
    /// Calls a function as `opd_vm_call()` does and measures every operator call with a tensor argument.
    ///
    /// `name`:         Borrowed.
    ///
    /// `args`:         As in `opd_vm_call()`: `num_args` values.
    ///
    /// `call_options`: As in `opd_vm_call()`.
    ///
    /// `options`:      Borrowed; NULL means all defaults.
    ///
    /// `out_report`:   New reference: rows Name, Duration (us), Percent, Device, Count, Argument Shapes in program
    /// order, then the collectors' columns. The rows "(dispatch)" and "(profiler)" are the time of the VM and of the
    /// recording; with them the outermost rows add up to the total.
    ///
    /// `out_trace`:    New reference: the same calls on a time line; NULL if it is not wanted.
    ///
    /// Returns NULL, or an error as `opd_vm_call()`; `OPD_INVALID_ARGUMENT` also for an option. After an error there is no
    /// report. A VM of a session (rpc.h) is measured on the server. It can use only collectors of
    /// `opd_collector_create_builtin()`, and the trace is on this process's clock; `OPD_UNSUPPORTED` if the server is TVM's. To
    /// see what ran before a call failed, make that call between `opd_vm_profile_start()` and `opd_vm_profile_stop()`: each call
    /// that failed has a row with its "Error". Threads: safe. Blocks. Since: 0.1. Source: TVM 0.23 vm.profile.
    pub fn opd_vm_profile(
        vm: *mut opd_vm,
        name: *const c_char,
        args: *const opd_value,
        num_args: i32,
        call_options: *const opd_call_options,
        options: *const opd_profile_options,
        out_report: *mut *mut opd_report,
        out_trace: *mut *mut opd_trace,
    ) -> *mut opd_error;
    /// Records every call of `vm` from now on, on any thread, until `opd_vm_profile_stop()`: an application is profiled
    /// without a change of its calls. Runs that `opd_vm_profile()` makes meanwhile belong to both.
    ///
    /// `options`: Borrowed; NULL means all defaults; warmup and repeat are not used. Collectors are prepared here and
    /// retained until `opd_vm_profile_stop()`. They run on the threads of the recorded calls, several at once.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` if the VM is being profiled already, or 16 recordings run in the process;
    /// `OPD_INVALID_ARGUMENT` for an option. Of a VM of a session (rpc.h): as `opd_vm_profile()`, or `OPD_CALL_FAILED`.
    /// Threads: safe. Cost: for recorded calls that of a profile; some 25 ns for others. Blocks. Since: 0.1
    pub fn opd_vm_profile_start(vm: *mut opd_vm, options: *const opd_profile_options) -> *mut opd_error;
    /// Ends the recording, once the calls that are being recorded have ended.
    ///
    /// `out_report`: New reference: as `opd_vm_profile()`'s, thread by thread; Run counts the calls.
    ///
    /// `out_trace`:  New reference; NULL if it is not wanted.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION` if it was not started, or inside of a call of the VM, collectors included.
    /// Of a VM of a session: `OPD_CALL_FAILED`. Threads: safe. Blocks. Since: 0.1
    pub fn opd_vm_profile_stop(
        vm: *mut opd_vm,
        out_report: *mut *mut opd_report,
        out_trace: *mut *mut opd_trace,
    ) -> *mut opd_error;
    /// Gives the state that a value holds.
    ///
    /// `value`:     Borrowed: the result of the program's function.
    ///
    /// `out_state`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` of the kind "TypeError" for another value. A state of a session (rpc.h) counts
    /// as another value: use the global functions of that session.
    /// Threads: safe. Since: 0.2
    pub fn opd_kv_state_from_value(value: *const opd_value, out_state: *mut *mut opd_kv_state) -> *mut opd_error;
    /// Adds an empty sequence.
    ///
    /// `id`: Its number.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` if there is one of that number; `OPD_OUT_OF_RANGE` if an RNN state is full;
    /// `OPD_FAILED_PRECONDITION`. Threads: one at a time. Since: 0.2. Source: TVM kv_state_add_sequence.
    pub fn opd_kv_state_add(state: *mut opd_kv_state, id: i64) -> *mut opd_error;
    /// Removes a sequence and frees its pages, except pages that other sequences share.
    ///
    /// `id`: Its number.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`, `OPD_FAILED_PRECONDITION`. Threads: one at a time. Since: 0.2. Source: TVM
    /// kv_state_remove_sequence.
    pub fn opd_kv_state_remove(state: *mut opd_kv_state, id: i64) -> *mut opd_error;
    /// Removes all sequences.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION`. Threads: one at a time. Since: 0.2. Source: TVM kv_state_clear.
    pub fn opd_kv_state_clear(state: *mut opd_kv_state) -> *mut opd_error;
    /// Makes a sequence that begins with the tokens of another one. The two share full pages; the page where they diverge
    /// is copied. An RNN state is copied as a whole.
    ///
    /// `parent`:       The number of the existing sequence.
    ///
    /// `child`:        The number of the new one.
    ///
    /// `num_tokens`:   How many of the parent's tokens it begins with; -1: all. An RNN state always gives all.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND` (`parent`), `OPD_INVALID_ARGUMENT` (`child` exists), `OPD_OUT_OF_RANGE` (`num_tokens`
    /// is out of range; no page is free), `OPD_FAILED_PRECONDITION`. Threads: one at a time. Since: 0.2. Source: TVM
    /// kv_state_fork_sequence.
    pub fn opd_kv_state_fork(state: *mut opd_kv_state, parent: i64, child: i64, num_tokens: i64) -> *mut opd_error;
    /// Removes the last tokens of a sequence.
    ///
    /// `id`:         Its number.
    ///
    /// `num_tokens`: How many. An RNN state can go back only as far as the states that its program keeps.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`, `OPD_OUT_OF_RANGE`, `OPD_FAILED_PRECONDITION`. Threads: one at a time. Since: 0.2.
    /// Source: TVM kv_state_popn.
    pub fn opd_kv_state_pop(state: *mut opd_kv_state, id: i64, num_tokens: i64) -> *mut opd_error;
    /// Begins a pass: sets the tokens that the program computes next. Their places are taken at once. If it fails, nothing
    /// has changed.
    ///
    /// `ids`:         Borrowed: `num_ids` numbers of sequences, each once.
    ///
    /// `num_ids`:     At least 1, and as many as the state takes in a pass.
    ///
    /// `counts`:      Borrowed: for each of them the number of its new tokens, at least 1.
    ///
    /// `num_counts`:  Equal to `num_ids`.
    ///
    /// `parents`:     Borrowed: the parent of each new token, one sequence after the other. A parent is an index from 0
    /// into the tree of the token's sequence; -1 makes a root. NULL: each token follows the one before.
    ///
    /// `num_parents`: The sum of `counts`, or 0.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`; `OPD_OUT_OF_RANGE` with the pages that are needed and free; `OPD_INVALID_ARGUMENT`;
    /// `OPD_FAILED_PRECONDITION`. Threads: one at a time. Cost: some 100 ns, without allocation once warm. Since: 0.2.
    /// Source: TVM kv_state_begin_forward.
    pub fn opd_kv_state_begin(
        state: *mut opd_kv_state,
        ids: *const i64,
        num_ids: usize,
        counts: *const i64,
        num_counts: usize,
        parents: *const i64,
        num_parents: usize,
    ) -> *mut opd_error;
    /// Ends the pass. Without one it does nothing.
    ///
    /// `keep`: 0: removes the tokens of the pass, for example after a call that failed or was cancelled. If a sliding
    /// window dropped older tokens for them, those are lost. Any other value keeps the tokens.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION`. Threads: one at a time. Since: 0.2. Source: TVM kv_state_end_forward.
    pub fn opd_kv_state_end(state: *mut opd_kv_state, keep: c_int) -> *mut opd_error;
    /// Gives the lengths of all sequences.
    ///
    /// `out_lengths`: New reference: a map from the number of a sequence to its number of tokens, in the order of the
    /// sequences' numbers. The tokens of a running pass count in a paged cache, but not in an RNN state.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION`, `OPD_OUT_OF_MEMORY`. Threads: one at a time. Since: 0.2
    pub fn opd_kv_state_lengths(state: *mut opd_kv_state, out_lengths: *mut *mut opd_map) -> *mut opd_error;
    /// Gives how full a state is.
    ///
    /// `out_stats`: Written. Its struct_size must be set.
    ///
    /// Returns NULL, or `OPD_FAILED_PRECONDITION`; `OPD_INVALID_ARGUMENT` for a wrong struct_size. Threads: one at a time.
    /// Since: 0.2. Source: TVM attention_kv_cache_get_num_available_pages, …_get_total_sequence_length.
    pub fn opd_kv_state_get_stats(state: *mut opd_kv_state, out_stats: *mut opd_kv_stats) -> *mut opd_error;
    /// Makes an evaluator of any packed function: a module's, a VM's or a saved one. A function of a session (rpc.h) is
    /// measured on the server; its preprocess must be a function of the same session. If the server is TVM's, preprocess,
    /// steady_ms and concurrency are not available, and warmup must be 1.
    ///
    /// `function`:      Borrowed; retained.
    ///
    /// `options`:       Borrowed; NULL means all defaults.
    ///
    /// `out_evaluator`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` with the option; `OPD_UNSUPPORTED` device.
    /// Threads: safe. Blocks. Since: 0.1. Source: TVM Module.time_evaluator.
    pub fn opd_evaluator_create(
        function: *mut opd_function,
        options: *const opd_evaluator_options,
        out_evaluator: *mut *mut opd_evaluator,
    ) -> *mut opd_error;
    /// Calls the function warmup + number × repeat times (more with min_repeat_ms or steady_ms) on each of `concurrency`
    /// threads. The warm-up is not measured.
    ///
    /// `args`:          Borrowed, `num_args` values, the same for every call. With concurrency, several threads call
    /// the function at once, which a VM's functions allow. The calling thread's cancel token applies to
    /// all of them.
    ///
    /// `out_benchmark`: New reference.
    ///
    /// Returns NULL, or the first error that the function raised (`OPD_CALL_FAILED` …). After an error, no thread calls it
    /// again.
    /// Threads: one at a time. Blocks. Since: 0.1
    pub fn opd_evaluator_call(
        evaluator: *mut opd_evaluator,
        args: *const opd_value,
        num_args: i32,
        out_benchmark: *mut *mut opd_benchmark,
    ) -> *mut opd_error;
    /// Makes a benchmark of times that were measured elsewhere.
    ///
    /// `seconds`:       Borrowed; seconds per call, one value for each repeat, in the order of measurement.
    ///
    /// `num`:           At least 1.
    ///
    /// `out_benchmark`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT`: no value, or one that is not at least 0. Threads: safe. Since: 0.1
    pub fn opd_benchmark_create(
        seconds: *const f64,
        num: usize,
        out_benchmark: *mut *mut opd_benchmark,
    ) -> *mut opd_error;
    /// Returns seconds per call, one value for each repeat, in the order of measurement. With concurrency there is one for
    /// each thread of a repeat; for number = 1 these are the latencies of the calls.
    ///
    /// `out_count`: The number of values; NULL if it is not wanted.
    ///
    /// Returns Borrowed; NULL for NULL. Threads: safe. Since: 0.2
    pub fn opd_benchmark_seconds(benchmark: *const opd_benchmark, out_count: *mut usize) -> *const f64;
    /// Returns a percentile of the seconds per call, interpolated between two repeats.
    ///
    /// `percent`: 0 to 100; numbers outside are taken as the nearer end. Threads: safe. Since: 0.1
    pub fn opd_benchmark_percentile(benchmark: *const opd_benchmark, percent: f64) -> f64;
    /// Gives the figures of a benchmark.
    ///
    /// `out_stats`: Written. Its struct_size must be set.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for a wrong struct_size. Threads: safe. Since: 0.1. Source: the interval:
    /// Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3.6; the outliers: Tukey: Exploratory Data Analysis.
    pub fn opd_benchmark_get_stats(
        benchmark: *const opd_benchmark,
        out_stats: *mut opd_benchmark_stats,
    ) -> *mut opd_error;
    /// Writes the summary that TVM's BenchmarkResult prints, in ms.
    ///
    /// `out_text`: New reference.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.1
    pub fn opd_benchmark_to_text(benchmark: *const opd_benchmark, out_text: *mut *mut opd_buffer) -> *mut opd_error;
    /// Measures the peaks with as many threads as a parallel launch has, for about half a second. The best of several tries
    /// counts, so that other load on the machine matters little.
    ///
    /// `out_peak`: Its struct_size must be set.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe, but two at once measure each other. Blocks. Since: 0.1. Source:
    /// STREAM (triad) for the bandwidth.
    pub fn opd_machine_measure_peak(out_peak: *mut opd_machine_peak) -> *mut opd_error;
    /// Copies `report` and adds the operations and the memory traffic of its operators, as far as their names and shapes
    /// tell.
    ///
    /// New columns: "FLOP", "Tensors (bytes)" (unless it is there), "GFLOP/s", "Arithmetic Intensity (FLOP/byte)" and, if
    /// the peaks are known, "Percent of Peak". This peak is the roofline: the lower of the arithmetic peak and the bandwidth
    /// times the intensity. If its operator is not known, a call has no FLOP. Data in caches may move faster than memory
    /// allows, so more than 100 percent is possible.
    ///
    /// Operators are recognised by the words in their names, as TVM gives them ("fused_conv2d_add1_relu"): contractions
    /// (matmul, dense, conv1d to conv3d and their transposes) count 2 operations for each multiply-add, elementwise ones and
    /// reductions one or more for each element. The last tensor is the result, as destination-passing kernels have it. If
    /// there is a global function "opdyno.flop.\<name\>" (the name without its last digits), it is called first: it gets the
    /// text of "Argument Shapes" and returns the number of operations.
    ///
    /// `report`: Borrowed.
    /// `peak_gflops`:, peak_bandwidth_gbps As `opd_machine_measure_peak()` gives them, which the
    /// configuration gets as "Peak GFLOP/s" and "Peak Bandwidth (GB/s)"; 0 and 0: not known.
    /// `out_report`: New
    /// reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for only one peak or a negative one, `OPD_ALREADY_EXISTS` if the report has such
    /// columns, or the error of a global function. Threads: safe. Since: 0.1. Source: Williams, Waterman, Patterson:
    /// Roofline, 2009.
    pub fn opd_report_add_roofline(
        report: *const opd_report,
        peak_gflops: f64,
        peak_bandwidth_gbps: f64,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    /// Begins a session with a server.
    ///
    /// `address`:     Borrowed: "HOST:PORT", "\[::1\]:PORT".
    ///
    /// `options`:     Borrowed; NULL means all defaults.
    ///
    /// `out_session`: New reference.
    ///
    /// Returns NULL, or `OPD_IO` (there is no connection, or no such file), `OPD_DEADLINE_EXCEEDED`, `OPD_FAILED_PRECONDITION`
    /// (the server has another key, lacks the secret or requires TLS; its certificate is refused), `OPD_BAD_FORMAT` (it uses
    /// another protocol; a file has no certificates), `OPD_OUT_OF_RANGE` (256 sessions are open), `OPD_UNSUPPORTED`
    /// (TLS, but OpenSSL is not here: `opdyno info` says why), `OPD_INVALID_ARGUMENT`. Threads: safe. Blocks. Since: 0.2.
    /// Source: TVM tvm.rpc.connect.
    pub fn opd_rpc_connect(
        address: *const c_char,
        options: *const opd_rpc_connect_options,
        out_session: *mut *mut opd_rpc_session,
    ) -> *mut opd_error;
    /// Asks TVM's tracker for a server, waits until one is free, and begins a session with it.
    ///
    /// `tracker`:     Borrowed: the tracker's "HOST:PORT".
    ///
    /// `options`:     Borrowed; NULL means all defaults.
    ///
    /// `out_session`: New reference.
    ///
    /// Returns NULL, or an error as `opd_rpc_connect()`; `OPD_CALL_FAILED` if the tracker refuses. Threads: safe. Blocks.
    /// Since: 0.2. Source: TVM TrackerSession.request.
    pub fn opd_rpc_request(
        tracker: *const c_char,
        options: *const opd_rpc_connect_options,
        out_session: *mut *mut opd_rpc_session,
    ) -> *mut opd_error;
    /// Describes a tracker: its servers, and for each key the number of free ones and of waiting clients.
    ///
    /// `tracker`:  Borrowed: "HOST:PORT".
    ///
    /// `options`:  Borrowed; only connect_timeout_ns is used. NULL means all defaults.
    ///
    /// `out_json`: New reference: an object with `server_info` and `queue_info`, as TVM's tracker makes it.
    ///
    /// Returns NULL, or `OPD_IO`, `OPD_DEADLINE_EXCEEDED`, `OPD_BAD_FORMAT`, `OPD_INVALID_ARGUMENT` as `opd_rpc_connect()`.
    /// Threads: safe. Blocks. Since: 0.2. Source: TVM TrackerSession.summary.
    pub fn opd_rpc_tracker_summary(
        tracker: *const c_char,
        options: *const opd_rpc_connect_options,
        out_json: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    /// Gives the name of a device of the session in this process. All that takes a device takes it: "remote\[0\]:cpu:0".
    ///
    /// `session`:    Borrowed.
    ///
    /// `device`:     As the server calls it; it need not exist.
    ///
    /// `out_device`: Written: its kind is 128 times the session's number and one more, plus that of `device`.
    ///
    /// Returns NULL, or `OPD_UNSUPPORTED` for a device of a session there. Threads: safe. Since: 0.2. Source: TVM
    /// RPCSession.device.
    pub fn opd_rpc_session_device(
        session: *mut opd_rpc_session,
        device: DLDevice,
        out_device: *mut DLDevice,
    ) -> *mut opd_error;
    /// Gives a global function of the server.
    ///
    /// `session`:      Borrowed.
    ///
    /// `name`:         Borrowed. Servers have "tvm.rpc.server.remove", "tvm.rpc.server.listdir" … beside what their
    /// runtime has.
    ///
    /// `out_function`: New reference.
    ///
    /// Returns NULL, or `OPD_NOT_FOUND`, `OPD_IO`. Threads: safe. Blocks. Since: 0.2. Source: TVM RPCSession.get_function.
    pub fn opd_rpc_session_get_function(
        session: *mut opd_rpc_session,
        name: *const c_char,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    /// Writes a file of the session: libraries to load, parameters.
    ///
    /// `session`: Borrowed.
    ///
    /// `name`:    Borrowed: a relative path there.
    ///
    /// `data`:    Borrowed: `size` bytes.
    ///
    /// Returns NULL, or `OPD_IO`, or the server's error. Threads: safe. Blocks. Since: 0.2. Source: TVM RPCSession.upload.
    pub fn opd_rpc_session_upload(
        session: *mut opd_rpc_session,
        name: *const c_char,
        data: *const c_void,
        size: usize,
    ) -> *mut opd_error;
    /// Reads a file of the session.
    ///
    /// `session`:   Borrowed.
    ///
    /// `name`:      Borrowed: a relative path there.
    ///
    /// `out_bytes`: New reference.
    ///
    /// Returns NULL, or `OPD_IO`, or the server's error. Threads: safe. Blocks. Since: 0.2. Source: TVM
    /// RPCSession.download.
    pub fn opd_rpc_session_download(
        session: *mut opd_rpc_session,
        name: *const c_char,
        out_bytes: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    /// Loads a file of the session as a module, on the server. Its kind is "rpc".
    ///
    /// `session`:    Borrowed.
    ///
    /// `name`:       Borrowed: a relative path there, as it was uploaded.
    ///
    /// `out_module`: New reference.
    ///
    /// Returns NULL, or `OPD_IO`, or the server's error. Threads: safe. Blocks. Since: 0.2. Source: TVM
    /// RPCSession.load_module.
    pub fn opd_rpc_session_load_module(
        session: *mut opd_rpc_session,
        name: *const c_char,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    /// Describes a session.
    ///
    /// `session`:  Borrowed.
    ///
    /// `out_json`: New reference: {"address": "127.0.0.1:9090", "key": "pi4", "index": 0, "server": "opdyno 0.2.0",
    /// "host": "board7", "absence": ""}. `server` is "tvm" for one of TVM's; `host` is the machine's
    /// own name, "" if it is not known; `absence` is the reason why the session has ended.
    ///
    /// Returns NULL, or `OPD_OUT_OF_MEMORY`. Threads: safe. Since: 0.2
    pub fn opd_rpc_session_describe(session: *mut opd_rpc_session, out_json: *mut *mut opd_buffer) -> *mut opd_error;
    /// Ends the session. A request that another thread waits for ends with `OPD_IO`, as all later ones; tensors and objects
    /// of the session can only be released. Without it, the session ends with the last reference to its objects.
    ///
    /// `session`: Borrowed. NULL does nothing. Threads: safe. Blocks. Since: 0.2
    pub fn opd_rpc_session_close(session: *mut opd_rpc_session);
    /// Serves one client of TVM's RPC, protocol 0.8.0, until it ends the session or closes the connection. The client loads
    /// files that it sent and runs what is in them: serve only clients that may run programs as this process, or restrict it
    /// by `options`. A wrong request is an error for the client; the session goes on.
    ///
    /// With `sandbox`, once the client has said the key, the process can read programs, libraries and devices, and write
    /// only to the session's directory. It opens no connections, signals no other processes, and loses all capabilities. Its
    /// environment changes (HOME, TMPDIR and the places of caches lie in that directory). All of this, and the limits, hold
    /// until the process ends: call this in a child of fork() that has no other threads, and end the child afterwards. If
    /// the kernel does not support a restriction, it is left out; `opd_rpc_serve_describe()` lists those. The session's
    /// directory is emptied at the end. The process that waits for this one is to remove it.
    ///
    /// `socket`:  Of an accepted connection, a stream; stays open and the caller's.
    ///
    /// `options`: Borrowed; NULL means all defaults.
    ///
    /// Returns NULL, or an error. Before the session: those of `opd_rpc_serve_describe()`; `OPD_INVALID_ARGUMENT` if `socket`
    /// is none; `OPD_NOT_FOUND` for the work folder. If the session cannot begin, or ends early:
    /// - `OPD_FAILED_PRECONDITION`: the client does not know the key or the secret, does not speak TLS or refuses the
    ///   certificate; the process has further threads, or another session whose crashes are reported;
    /// - `OPD_BAD_FORMAT`: the client uses another protocol, or sends too large a packet;
    /// - `OPD_DEADLINE_EXCEEDED`: it went silent;
    /// - `OPD_IO`: the connection broke; the work folder cannot be used; the kernel refuses a restriction that it supports;
    /// - the error of the function admit of the options.
    ///
    ///
    /// A session that ends early because of a limit, or of what the client sends, is an error for the client, too.
    ///
    /// Threads: safe, a session each. The current devices and streams of the thread change. Blocks. Since: 0.2. Source: TVM
    /// tvm.rpc.Server.
    pub fn opd_rpc_serve(socket: i32, options: *const opd_rpc_serve_options) -> *mut opd_error;
    /// Lists the sandbox's restrictions that the kernel enforces, and checks whether sessions can begin with these options.
    ///
    /// `options`:  Borrowed; NULL means all defaults.
    ///
    /// `out_json`: New reference: {"enforced": \["files (Landlock ABI 7)", "no network"\], "missing": \[\],
    /// "tls_fingerprint": "", "tls_absence": ""}. The lists are phrases for the user; without `sandbox`
    /// nothing is enforced or missing. `tls_fingerprint` is that of the certificate, as clients take it; "":
    /// there is none. `tls_absence` is the reason why servers and clients have no TLS here; "": they have
    /// it, or `options` need none: then OpenSSL is not looked for.
    ///
    /// Returns NULL, or an error:
    /// - `OPD_INVALID_ARGUMENT`: an option is wrong, or the key is not the certificate's.
    /// - `OPD_NOT_FOUND`: there is no such user, or nothing at one of the paths.
    /// - `OPD_FAILED_PRECONDITION`: another user is named, but this one is not root.
    /// - `OPD_BAD_FORMAT`: `allowed_modules` cannot be read, or a file is no certificate or key.
    /// - `OPD_IO`: a file cannot be read.
    /// - `OPD_UNSUPPORTED`: TLS is wanted, but OpenSSL is not here.
    ///
    ///
    /// Threads: safe. Since: 0.2
    pub fn opd_rpc_serve_describe(
        options: *const opd_rpc_serve_options,
        out_json: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    /// Compares two sets of runs. A report is one run; a report with a column "Run", as `opd_report_merge()` makes it, holds
    /// a run for each value of it. Rows with equal name, argument shapes and device are one operator.
    ///
    /// `before`:     Borrowed, `num_before` reports in the order of time.
    ///
    /// `after`:      Borrowed, `num_after` reports in the order of time.
    ///
    /// `options`:    Borrowed; NULL means all defaults.
    ///
    /// `out_report`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` (no reports on one side; an option out of range; a value of the metric that is
    /// negative or no number, with report and row), `OPD_NOT_FOUND` (a report with calls lacks the metric).
    /// Threads: safe. Cost: 10 ms for two reports of 30,000 rows. Blocks. Since: 0.2. Source: Hollander, Wolfe, Chicken:
    /// Nonparametric Statistical Methods, 4.1-4.3; Genovese, Roeder, Wasserman: False discovery control with p-value
    /// weighting, Biometrika 93 (2006).
    pub fn opd_report_diff(
        before: *const *const opd_report,
        num_before: usize,
        after: *const *const opd_report,
        num_after: usize,
        options: *const opd_diff_options,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    /// Compares two benchmarks. Each repeat is a run of the one operator "call"; the threads of a repeat count by their
    /// mean.
    ///
    /// `before`:     Borrowed.
    ///
    /// `after`:      Borrowed.
    ///
    /// `options`:    Borrowed; NULL means all defaults.
    ///
    /// `out_report`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an option. Threads: safe. Since: 0.2
    pub fn opd_benchmark_diff(
        before: *const opd_benchmark,
        after: *const opd_benchmark,
        options: *const opd_diff_options,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    /// Runs a function of two programs on the same arguments, and compares what their operators read and write.
    ///
    /// The report's configuration has the "Verdict", a sentence: "first difference at softmax1: max abs 3.1e-3 (tolerance
    /// 1e-5), caused by matmul3 whose inputs agree"; and "Equal". It is 1 if both programs return, nothing differs, and
    /// nothing is undecided. A value that was not kept is undecided, and so are functions as results. The report's rows are
    /// the operators of both programs, then the tensors of the results. "State" is "equal" (bit for bit), "agrees" (within
    /// the tolerance), "differs", "unknown" (not kept), "only in A" or "only in B". "Matched By" says how an operator of A
    /// was matched with one of B: by "name" and shapes, by "order", "value" or "data flow". "Max Abs", "Max Rel",
    /// "Tolerance", "Mismatches" and "Elements" describe the output that differs most.
    ///
    /// Each program runs once, and gets copies of the tensors among the arguments. If a tensor is on A's first device, B's
    /// copy is on B's first device. If the program expects another floating-point dtype than a tensor has, the copy is
    /// converted. If all parameters of B have names of A's, but in another order or fewer of them, B gets the arguments by
    /// these names, and a note says so. For a paged KV cache or RNN state, B gets a copy of A's initial state, with B's
    /// kernels of the same names. Other objects cannot be copied: B gets them as A left them, and a note says so. If
    /// options-\>b_args is given, B gets those arguments instead. Memory that a program allocates is filled with NaN, so that
    /// elements which a kernel leaves unwritten show as differences. If an operator fails, its program's run ends. The
    /// operators before it are compared, and the verdict begins with the failure.
    ///
    /// `a`:          Borrowed. During the comparison its instrument is not called, not even for calls of other threads.
    ///
    /// `b`:          Borrowed; another VM than `a`.
    ///
    /// `function`:   Borrowed: a function of both programs.
    ///
    /// `args`:       As in `opd_vm_call()`: `num_args` values.
    ///
    /// `options`:    Borrowed; NULL means all defaults.
    ///
    /// `out_report`: New reference.
    ///
    /// `out_times`:  New reference: which operators are slower, as `opd_report_diff()` reports it for runs made in turns.
    /// NULL if it is not wanted; then nothing is measured. It becomes NULL if repeat is 0, or a program
    /// failed.
    ///
    /// Returns NULL, or
    /// - `OPD_INVALID_ARGUMENT`: programs that take different arguments; arguments as in `opd_vm_call()`; an option;
    /// - `OPD_NOT_FOUND`: the function, with close names;
    /// - `OPD_UNSUPPORTED`: a VM of a session (rpc.h);
    /// - `OPD_CANCELLED`, `OPD_DEADLINE_EXCEEDED`, `OPD_OUT_OF_MEMORY`;
    /// - `OPD_IO`: the directory cannot be written.
    ///
    /// Threads: safe. Cost: two runs, hashes and copies of all that operators read and write. Blocks. Since: 0.2. Source:
    /// PyTorch torch.testing.assert_close for tolerances.
    pub fn opd_compare(
        a: *mut opd_vm,
        b: *mut opd_vm,
        function: *const c_char,
        args: *const opd_value,
        num_args: i32,
        options: *const opd_compare_options,
        out_report: *mut *mut opd_report,
        out_times: *mut *mut opd_report,
    ) -> *mut opd_error;
    /// Records the next call of `vm`, from any thread, in a file for `opd_replay()`.
    ///
    /// The file has program and kernels, the function, its arguments, the options of the VM, and the settings of the
    /// environment that matter. It also has the results of host functions that the program called, and how the call ended.
    /// The file is written before the call begins, and completed afterwards: if the process ends within the call, the file
    /// has what led there. A problem with the file never affects the call. If the process is forked during the call, only
    /// the parent writes the file. If the recorded call uses functions of the host, memory that the program allocates is
    /// filled with NaN, as in `opd_compare()`.
    ///
    /// `path`:    Borrowed. A file there is replaced. NULL: ends the recording. The result is then NULL if the call was
    /// recorded, or an error that says why not.
    ///
    /// `options`: Borrowed; NULL means all defaults.
    ///
    /// Returns NULL, or
    /// - `OPD_FAILED_PRECONDITION`: a call is to be recorded already; without `path`: no call was made, it has not ended,
    ///   or recording was not asked for;
    /// - `OPD_UNSUPPORTED`: a VM of a session (rpc.h); without `path`: an argument, or a result of a function of the host,
    ///   that cannot be kept, such as a function of the host, which the file only names; or a library that was loaded
    ///   from memory;
    /// - `OPD_INVALID_ARGUMENT`: a path of no regular file, or an option;
    /// - `OPD_NOT_FOUND`, `OPD_IO`: the directory is not there, or cannot be written; without `path`: the file was not.
    ///
    /// Threads: safe. Cost: the recorded call writes the file; later calls cost what they did. Blocks. Since: 0.2
    pub fn opd_vm_record_next_call(
        vm: *mut opd_vm,
        path: *const c_char,
        options: *const opd_record_options,
    ) -> *mut opd_error;
    /// Makes a recorded call again, and compares the outcome with the recorded one.
    ///
    /// It runs the code of the file: replay only files that you would run. Functions of the host are not called: the program
    /// gets the results in the file. Their arguments are compared with the recorded ones.
    ///
    /// The report's configuration has the "Verdict", a sentence: "the call returned what was recorded: 1 tensor is equal bit
    /// for bit"; and "Same", which is 1 if the call ended as recorded: with equal results, with kept elements within the
    /// tolerances, or with the same error. "Minimised" is the operator that the option minimise has written. Rows are the
    /// arguments, the functions of the host, the operators that differ, and the tensors of the result. If run is 0, there
    /// are no verdict and no states.
    ///
    /// `path`:        Borrowed.
    ///
    /// `options`:     Borrowed; NULL means all defaults.
    ///
    /// `out_module`:  New reference: the program; NULL if it is not wanted. It becomes NULL if the file has only hashes,
    /// and no module is given.
    ///
    /// `out_report`:  New reference.
    ///
    /// `out_profile`: New reference, as of `opd_vm_profile()`; NULL if it is not wanted; then nothing is measured. It
    /// becomes NULL if the call did not return, or run or repeat is 0.
    ///
    /// Returns NULL, or
    /// - `OPD_NOT_FOUND`, `OPD_IO`: the file;
    /// - `OPD_BAD_FORMAT`: it is damaged, cut, or no recording;
    /// - `OPD_UNSUPPORTED`: of a newer version; an argument that could not be kept; a device that is not here, or that the
    ///   program has no kernels for;
    /// - `OPD_FAILED_PRECONDITION`: it has only hashes of the program, and no module is given; or minimise found no operator
    ///   that fails or differs. On another device, it looks only for one that fails;
    /// - `OPD_INVALID_ARGUMENT`: an option;
    /// - `OPD_CANCELLED`, `OPD_DEADLINE_EXCEEDED`: as the options say.
    ///
    /// Threads: safe. Blocks. Since: 0.2
    pub fn opd_replay(
        path: *const c_char,
        options: *const opd_replay_options,
        out_module: *mut *mut opd_module,
        out_report: *mut *mut opd_report,
        out_profile: *mut *mut opd_report,
    ) -> *mut opd_error;
    /// Starts to measure, to listen and to send.
    ///
    /// `options`:       Borrowed; NULL means all defaults.
    ///
    /// `out_telemetry`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an option or one of the variables OTEL_…; `OPD_UNSUPPORTED` for https; `OPD_IO`
    /// if the address is in use, or no thread can be started; `OPD_FAILED_PRECONDITION` if 16 recordings run. A
    /// collector that does not answer is no error.
    /// Threads: safe. Cost: a call of a program takes 100 to 250 ns more. Since: 0.2
    /// Source: OpenTelemetry, "OTLP Exporter configuration"
    pub fn opd_telemetry_start(
        options: *const opd_telemetry_options,
        out_telemetry: *mut *mut opd_telemetry,
    ) -> *mut opd_error;
    /// Returns where Prometheus finds the metrics, as "127.0.0.1:9464"; the path is /metrics.
    ///
    /// Returns Borrowed; "" if it listens nowhere, or for NULL. Threads: safe. Since: 0.2
    pub fn opd_telemetry_address(telemetry: *const opd_telemetry) -> *const c_char;
    /// Gives the metrics as text, for programs that have a server themselves. All calls that ended before are in it.
    ///
    /// `format`:   The form; see `opd_telemetry_format`.
    ///
    /// `out_text`: New reference.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for an unknown form; `OPD_FAILED_PRECONDITION` in a child of fork().
    /// Threads: safe. Blocks. Since: 0.2. Source: Prometheus, "Exposition formats"; OpenMetrics 1.0.0
    pub fn opd_telemetry_to_text(
        telemetry: *mut opd_telemetry,
        format: opd_telemetry_format,
        out_text: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    /// Sets a metric of the program's own, until it is set anew. Or adds a span to those that wait to be sent; it is
    /// dropped if there is no collector, or if its trace is not kept.
    ///
    /// `value`: Borrowed.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for a name, for what describes a span, or if the metric is of another kind
    /// already; `OPD_OUT_OF_RANGE` if the program has `max_series` label sets. Threads: safe. Blocks. Since: 0.2 Source:
    /// Prometheus, "Metric names and labels"; W3C Trace Context, level 1
    pub fn opd_telemetry_set_value(telemetry: *mut opd_telemetry, value: *const opd_telemetry_value) -> *mut opd_error;
    /// Sends all pending data to the collector, and waits until the collector has accepted it.
    ///
    /// `timeout_ns`: How long to wait at most.
    ///
    /// Returns NULL, or `OPD_DEADLINE_EXCEEDED`, `OPD_IO` (the collector refused, or there is none; the spans wait for the next
    /// try), `OPD_FAILED_PRECONDITION` in a child of fork().
    /// Threads: safe. Blocks. Since: 0.2
    pub fn opd_telemetry_flush(telemetry: *mut opd_telemetry, timeout_ns: u64) -> *mut opd_error;
    /// Reads the counts of sent and dropped data.
    ///
    /// `out_stats`: Written. Its struct_size must be set.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for a wrong struct_size. Threads: safe. Since: 0.2
    pub fn opd_telemetry_get_stats(
        telemetry: *mut opd_telemetry,
        out_stats: *mut opd_telemetry_stats,
    ) -> *mut opd_error;
    /// Sets the request that the calling thread works for. Spans of its later calls become children of the caller's span.
    /// If the caller does not keep its trace, they are left out.
    ///
    /// `traceparent`: Borrowed: the value of the request's header `traceparent`; NULL: none, as at first.
    ///
    /// Returns NULL, or `OPD_INVALID_ARGUMENT` for any other text; then nothing changes.
    /// Threads: safe. Cost: some 50 ns. Since: 0.2. Source: W3C Trace Context, level 1
    pub fn opd_telemetry_set_parent(traceparent: *const c_char) -> *mut opd_error;
}
