// Made by bindings/rust/generator from bindings/swig and the headers; in one file, since nobody edits it.
use core::ffi::*;
use core::marker::{PhantomData, PhantomPinned};

pub type DLDeviceType = c_uint;
pub const kDLCPU: DLDeviceType = 1;
pub const kDLCUDA: DLDeviceType = 2;
pub const kDLCUDAHost: DLDeviceType = 3;
pub const kDLOpenCL: DLDeviceType = 4;
pub const kDLVulkan: DLDeviceType = 7;
pub const kDLMetal: DLDeviceType = 8;
pub const kDLVPI: DLDeviceType = 9;
pub const kDLROCM: DLDeviceType = 10;
pub const kDLROCMHost: DLDeviceType = 11;
pub const kDLExtDev: DLDeviceType = 12;
pub const kDLCUDAManaged: DLDeviceType = 13;
pub const kDLOneAPI: DLDeviceType = 14;
pub const kDLWebGPU: DLDeviceType = 15;
pub const kDLHexagon: DLDeviceType = 16;
pub const kDLMAIA: DLDeviceType = 17;
pub const kDLTrn: DLDeviceType = 18;
pub type DLDataTypeCode = c_uint;
pub const kDLInt: DLDataTypeCode = 0;
pub const kDLUInt: DLDataTypeCode = 1;
pub const kDLFloat: DLDataTypeCode = 2;
pub const kDLOpaqueHandle: DLDataTypeCode = 3;
pub const kDLBfloat: DLDataTypeCode = 4;
pub const kDLComplex: DLDataTypeCode = 5;
pub const kDLBool: DLDataTypeCode = 6;
pub const kDLFloat8_e3m4: DLDataTypeCode = 7;
pub const kDLFloat8_e4m3: DLDataTypeCode = 8;
pub const kDLFloat8_e4m3b11fnuz: DLDataTypeCode = 9;
pub const kDLFloat8_e4m3fn: DLDataTypeCode = 10;
pub const kDLFloat8_e4m3fnuz: DLDataTypeCode = 11;
pub const kDLFloat8_e5m2: DLDataTypeCode = 12;
pub const kDLFloat8_e5m2fnuz: DLDataTypeCode = 13;
pub const kDLFloat8_e8m0fnu: DLDataTypeCode = 14;
pub const kDLFloat6_e2m3fn: DLDataTypeCode = 15;
pub const kDLFloat6_e3m2fn: DLDataTypeCode = 16;
pub const kDLFloat4_e2m1fn: DLDataTypeCode = 17;
pub type opd_code = c_uint;
pub const OPD_OK: opd_code = 0;
pub const OPD_INVALID_ARGUMENT: opd_code = 1;
pub const OPD_NOT_FOUND: opd_code = 2;
pub const OPD_ALREADY_EXISTS: opd_code = 3;
pub const OPD_OUT_OF_RANGE: opd_code = 4;
pub const OPD_BAD_FORMAT: opd_code = 5;
pub const OPD_UNSUPPORTED: opd_code = 6;
pub const OPD_OUT_OF_MEMORY: opd_code = 7;
pub const OPD_CANCELLED: opd_code = 8;
pub const OPD_DEADLINE_EXCEEDED: opd_code = 9;
pub const OPD_FAILED_PRECONDITION: opd_code = 10;
pub const OPD_IO: opd_code = 11;
pub const OPD_CALL_FAILED: opd_code = 12;
pub const OPD_INTERNAL: opd_code = 13;
pub const OPD_CODE_MAX_ENUM: opd_code = 0x7FFFFFFF;
pub type opd_log_level = c_uint;
pub const OPD_LOG_DEBUG: opd_log_level = 0;
pub const OPD_LOG_INFO: opd_log_level = 1;
pub const OPD_LOG_WARNING: opd_log_level = 2;
pub const OPD_LOG_ERROR: opd_log_level = 3;
pub const OPD_LOG_LEVEL_MAX_ENUM: opd_log_level = 0x7FFFFFFF;
pub type opd_type = c_uint;
pub const OPD_NONE: opd_type = 0;
pub const OPD_INT: opd_type = 1;
pub const OPD_BOOL: opd_type = 2;
pub const OPD_FLOAT: opd_type = 3;
pub const OPD_POINTER: opd_type = 4;
pub const OPD_DTYPE: opd_type = 5;
pub const OPD_DEVICE: opd_type = 6;
pub const OPD_DLTENSOR: opd_type = 7;
pub const OPD_CSTRING: opd_type = 8;
pub const OPD_BYTES_VIEW: opd_type = 9;
pub const OPD_SMALL_STRING: opd_type = 11;
pub const OPD_SMALL_BYTES: opd_type = 12;
pub const OPD_OBJECT: opd_type = 64;
pub const OPD_STRING: opd_type = 65;
pub const OPD_BYTES: opd_type = 66;
pub const OPD_ERROR: opd_type = 67;
pub const OPD_FUNCTION: opd_type = 68;
pub const OPD_SHAPE: opd_type = 69;
pub const OPD_TENSOR: opd_type = 70;
pub const OPD_ARRAY: opd_type = 71;
pub const OPD_MAP: opd_type = 72;
pub const OPD_MODULE: opd_type = 73;
pub const OPD_TYPE_MAX_ENUM: opd_type = 0x7FFFFFFF;
pub type opd_device_attr = c_uint;
pub const OPD_ATTR_EXIST: opd_device_attr = 0;
pub const OPD_ATTR_MAX_THREADS_PER_BLOCK: opd_device_attr = 1;
pub const OPD_ATTR_WARP_SIZE: opd_device_attr = 2;
pub const OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK: opd_device_attr = 3;
pub const OPD_ATTR_COMPUTE_VERSION: opd_device_attr = 4;
pub const OPD_ATTR_DEVICE_NAME: opd_device_attr = 5;
pub const OPD_ATTR_MAX_CLOCK_RATE: opd_device_attr = 6;
pub const OPD_ATTR_MULTI_PROCESSOR_COUNT: opd_device_attr = 7;
pub const OPD_ATTR_MAX_THREAD_DIMENSIONS: opd_device_attr = 8;
pub const OPD_ATTR_API_VERSION: opd_device_attr = 11;
pub const OPD_ATTR_DRIVER_VERSION: opd_device_attr = 12;
pub const OPD_ATTR_L2_CACHE_SIZE_BYTES: opd_device_attr = 13;
pub const OPD_ATTR_TOTAL_GLOBAL_MEMORY: opd_device_attr = 14;
pub const OPD_ATTR_AVAILABLE_GLOBAL_MEMORY: opd_device_attr = 15;
pub const OPD_ATTR_TEXTURE_SPATIAL_LIMIT: opd_device_attr = 1000;
pub const OPD_ATTR_ABSENCE: opd_device_attr = 1001;
pub const OPD_DEVICE_ATTR_MAX_ENUM: opd_device_attr = 0x7FFFFFFF;
pub type opd_allocator_kind = c_uint;
pub const OPD_ALLOCATOR_NAIVE: opd_allocator_kind = 1;
pub const OPD_ALLOCATOR_POOLED: opd_allocator_kind = 2;
pub const OPD_ALLOCATOR_KIND_MAX_ENUM: opd_allocator_kind = 0x7FFFFFFF;
pub type opd_activity_kind = c_uint;
pub const OPD_ACTIVITY_KERNEL: opd_activity_kind = 0;
pub const OPD_ACTIVITY_COPY_TO_DEVICE: opd_activity_kind = 1;
pub const OPD_ACTIVITY_COPY_TO_HOST: opd_activity_kind = 2;
pub const OPD_ACTIVITY_COPY_ON_DEVICE: opd_activity_kind = 3;
pub const OPD_ACTIVITY_FILL: opd_activity_kind = 4;
pub const OPD_ACTIVITY_OVERHEAD: opd_activity_kind = 5;
pub const OPD_ACTIVITY_KIND_MAX_ENUM: opd_activity_kind = 0x7FFFFFFF;
pub type opd_copy_policy = c_uint;
pub const OPD_COPY_ALWAYS: opd_copy_policy = 0;
pub const OPD_COPY_WHEN_SHARED: opd_copy_policy = 1;
pub const OPD_COPY_NEVER: opd_copy_policy = 2;
pub const OPD_COPY_POLICY_MAX_ENUM: opd_copy_policy = 0x7FFFFFFF;
pub type opd_module_property = c_uint;
pub const OPD_MODULE_SERIALIZABLE: opd_module_property = 1;
pub const OPD_MODULE_RUNNABLE: opd_module_property = 2;
pub const OPD_MODULE_COMPILATION_EXPORTABLE: opd_module_property = 4;
pub const OPD_MODULE_PROPERTY_MAX_ENUM: opd_module_property = 0x7FFFFFFF;
pub type opd_module_lookup = c_uint;
pub const OPD_LOOKUP_OWN: opd_module_lookup = 0;
pub const OPD_LOOKUP_IMPORTS: opd_module_lookup = 1;
pub const OPD_LOOKUP_UNCALLABLE: opd_module_lookup = 2;
pub const OPD_MODULE_LOOKUP_MAX_ENUM: opd_module_lookup = 0x7FFFFFFF;
pub type opd_executable_format = c_uint;
pub const OPD_EXECUTABLE_ASSEMBLY: opd_executable_format = 0;
pub const OPD_EXECUTABLE_PYTHON: opd_executable_format = 1;
pub const OPD_EXECUTABLE_JSON: opd_executable_format = 2;
pub const OPD_EXECUTABLE_STATS: opd_executable_format = 3;
pub const OPD_EXECUTABLE_FORMAT_MAX_ENUM: opd_executable_format = 0x7FFFFFFF;
pub type opd_opcode = c_uint;
pub const OPD_OPCODE_CALL: opd_opcode = 0;
pub const OPD_OPCODE_RET: opd_opcode = 1;
pub const OPD_OPCODE_GOTO: opd_opcode = 2;
pub const OPD_OPCODE_IF: opd_opcode = 3;
pub const OPD_OPCODE_MAX_ENUM: opd_opcode = 0x7FFFFFFF;
pub type opd_metric_kind = c_uint;
pub const OPD_METRIC_NONE: opd_metric_kind = 0;
pub const OPD_METRIC_COUNT: opd_metric_kind = 1;
pub const OPD_METRIC_DURATION: opd_metric_kind = 2;
pub const OPD_METRIC_PERCENT: opd_metric_kind = 3;
pub const OPD_METRIC_RATIO: opd_metric_kind = 4;
pub const OPD_METRIC_STRING: opd_metric_kind = 5;
pub const OPD_METRIC_BYTES: opd_metric_kind = 6;
pub const OPD_METRIC_HERTZ: opd_metric_kind = 7;
pub const OPD_METRIC_JSON: opd_metric_kind = 8;
pub const OPD_METRIC_KIND_MAX_ENUM: opd_metric_kind = 0x7FFFFFFF;
pub type opd_report_section = c_uint;
pub const OPD_REPORT_CALLS: opd_report_section = 0;
pub const OPD_REPORT_DEVICES: opd_report_section = 1;
pub const OPD_REPORT_CONFIGURATION: opd_report_section = 2;
pub const OPD_REPORT_SECTION_MAX_ENUM: opd_report_section = 0x7FFFFFFF;
pub type opd_report_format = c_uint;
pub const OPD_REPORT_JSON: opd_report_format = 0;
pub const OPD_REPORT_CSV: opd_report_format = 1;
pub const OPD_REPORT_TABLE: opd_report_format = 2;
pub const OPD_REPORT_MARKDOWN: opd_report_format = 3;
pub const OPD_REPORT_HTML: opd_report_format = 4;
pub const OPD_REPORT_FORMAT_MAX_ENUM: opd_report_format = 0x7FFFFFFF;
pub type opd_collector_kind = c_uint;
pub const OPD_COLLECTOR_TIME: opd_collector_kind = 0;
pub const OPD_COLLECTOR_MEMORY: opd_collector_kind = 1;
pub const OPD_COLLECTOR_PERF: opd_collector_kind = 2;
pub const OPD_COLLECTOR_PAPI: opd_collector_kind = 3;
pub const OPD_COLLECTOR_ENERGY: opd_collector_kind = 4;
pub const OPD_COLLECTOR_NVML: opd_collector_kind = 5;
pub const OPD_COLLECTOR_DEVICE: opd_collector_kind = 6;
pub const OPD_COLLECTOR_KIND_MAX_ENUM: opd_collector_kind = 0x7FFFFFFF;
pub type opd_trace_format = c_uint;
pub const OPD_TRACE_CHROME: opd_trace_format = 0;
pub const OPD_TRACE_TABLE: opd_trace_format = 1;
pub const OPD_TRACE_STACKS: opd_trace_format = 2;
pub const OPD_TRACE_SPEEDSCOPE: opd_trace_format = 3;
pub const OPD_TRACE_PERFETTO: opd_trace_format = 4;
pub const OPD_TRACE_PPROF: opd_trace_format = 5;
pub const OPD_TRACE_HTML: opd_trace_format = 6;
pub const OPD_TRACE_FLAME_SVG: opd_trace_format = 7;
pub const OPD_TRACE_MEMORY_TIMELINE: opd_trace_format = 8;
pub const OPD_TRACE_MEMORY_TIMELINE_RAW: opd_trace_format = 9;
pub const OPD_TRACE_MEMORY_TIMELINE_HTML: opd_trace_format = 10;
pub const OPD_TRACE_FORMAT_MAX_ENUM: opd_trace_format = 0x7FFFFFFF;
pub type opd_trace_view = c_uint;
pub const OPD_TRACE_EVENTS: opd_trace_view = 0;
pub const OPD_TRACE_KEY_AVERAGES: opd_trace_view = 1;
pub const OPD_TRACE_KEY_AVERAGES_BY_SHAPE: opd_trace_view = 2;
pub const OPD_TRACE_TASKS: opd_trace_view = 3;
pub const OPD_TRACE_PATHS: opd_trace_view = 4;
pub const OPD_TRACE_KEY_AVERAGES_BY_PART: opd_trace_view = 5;
pub const OPD_TRACE_PATHS_BY_PART: opd_trace_view = 6;
pub const OPD_TRACE_VIEW_MAX_ENUM: opd_trace_view = 0x7FFFFFFF;
pub type opd_profiler_buffer = c_uint;
pub const OPD_PROFILER_KEEP_FIRST: opd_profiler_buffer = 0;
pub const OPD_PROFILER_KEEP_LAST: opd_profiler_buffer = 1;
pub const OPD_PROFILER_BUFFER_MAX_ENUM: opd_profiler_buffer = 0x7FFFFFFF;
pub type opd_profiler_action = c_uint;
pub const OPD_PROFILER_NONE: opd_profiler_action = 0;
pub const OPD_PROFILER_WARMUP: opd_profiler_action = 1;
pub const OPD_PROFILER_RECORD: opd_profiler_action = 2;
pub const OPD_PROFILER_RECORD_AND_SAVE: opd_profiler_action = 3;
pub const OPD_PROFILER_ACTION_MAX_ENUM: opd_profiler_action = 0x7FFFFFFF;
pub type opd_instrument_action = c_uint;
pub const OPD_INSTRUMENT_NO_OP: opd_instrument_action = 0;
pub const OPD_INSTRUMENT_SKIP_RUN: opd_instrument_action = 1;
pub const OPD_INSTRUMENT_ACTION_MAX_ENUM: opd_instrument_action = 0x7FFFFFFF;
pub type opd_profile_builtins = c_uint;
pub const OPD_BUILTINS_WITH_TENSORS: opd_profile_builtins = 0;
pub const OPD_BUILTINS_ALL: opd_profile_builtins = 1;
pub const OPD_BUILTINS_FOLDED: opd_profile_builtins = 2;
pub const OPD_PROFILE_BUILTINS_MAX_ENUM: opd_profile_builtins = 0x7FFFFFFF;
pub type opd_telemetry_format = c_uint;
pub const OPD_TELEMETRY_PROMETHEUS: opd_telemetry_format = 0;
pub const OPD_TELEMETRY_OPEN_METRICS: opd_telemetry_format = 1;
pub const OPD_TELEMETRY_FORMAT_MAX_ENUM: opd_telemetry_format = 0x7FFFFFFF;
pub type opd_telemetry_kind = c_uint;
pub const OPD_TELEMETRY_COUNTER: opd_telemetry_kind = 0;
pub const OPD_TELEMETRY_GAUGE: opd_telemetry_kind = 1;
pub const OPD_TELEMETRY_SPAN: opd_telemetry_kind = 2;
pub const OPD_TELEMETRY_KIND_MAX_ENUM: opd_telemetry_kind = 0x7FFFFFFF;
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    pub major: u32,
    pub minor: u32,
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    pub device_type: DLDeviceType,
    pub device_id: i32,
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLTensor {
    pub data: *mut c_void,
    pub device: DLDevice,
    pub ndim: i32,
    pub dtype: DLDataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLManagedTensor {
    pub dl_tensor: DLTensor,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLManagedTensorVersioned {
    pub version: DLPackVersion,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    pub flags: u64,
    pub dl_tensor: DLTensor,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_value {
    pub r#type: i32,
    pub length: u32,
    pub u: opd_value_u,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub union opd_value_u {
    pub int64: i64,
    pub float64: f64,
    pub pointer: *mut c_void,
    pub cstring: *const c_char,
    pub dltensor: *mut DLTensor,
    pub dtype: DLDataType,
    pub device: DLDevice,
    pub object: *mut opd_object,
    pub bytes: [c_char; 8],
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_memory_stats {
    pub struct_size: u32,
    pub reserved: u32,
    pub live_bytes: u64,
    pub peak_bytes: u64,
    pub reserved_bytes: u64,
    pub alloc_count: u64,
    pub pool_hit_count: u64,
    pub idle_bytes: u64,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_memory_hooks {
    pub struct_size: u32,
    pub reserved: u32,
    pub allocate: Option<unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void>,
    pub deallocate: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize)>,
    pub user_data: *mut c_void,
    pub deleter: opd_deleter,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_kernel_arg {
    pub value: *const c_void,
    pub size_bytes: u32,
    pub is_address: i32,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_kernel_launch {
    pub struct_size: u32,
    pub num_args: i32,
    pub args: *const opd_kernel_arg,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub is_cooperative: i32,
    pub dynamic_shared_bytes: u64,
    pub stream: *mut c_void,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_device_activity {
    pub struct_size: u32,
    pub kind: opd_activity_kind,
    pub name: *const c_char,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub bytes: u64,
    pub correlation: u64,
    pub device_id: i32,
    pub stream: u32,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_device_table {
    pub struct_size: u32,
    pub reserved: u32,
    pub get_attr: Option<unsafe extern "C" fn(*mut c_void, i32, opd_device_attr, *mut opd_value) -> *mut opd_error>,
    pub allocate: Option<unsafe extern "C" fn(*mut c_void, i32, u64, u64) -> *mut c_void>,
    pub deallocate: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, u64)>,
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
    pub sync: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, i32) -> *mut opd_error>,
    pub create_stream: Option<unsafe extern "C" fn(*mut c_void, i32, *mut *mut c_void) -> *mut opd_error>,
    pub free_stream: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void)>,
    pub build: Option<
        unsafe extern "C" fn(*mut c_void, i32, *const c_char, *const c_void, usize, *mut *mut c_void) -> *mut opd_error,
    >,
    pub free_program: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void)>,
    pub find_kernel:
        Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, *const c_char, *mut *mut c_void) -> *mut opd_error>,
    pub launch: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, *const opd_kernel_launch) -> *mut opd_error>,
    pub user_data: *mut c_void,
    pub record_event: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, *mut *mut c_void) -> *mut opd_error>,
    pub wait_event: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void, *mut u64) -> *mut opd_error>,
    pub free_event: Option<unsafe extern "C" fn(*mut c_void, i32, *mut c_void)>,
    pub get_time: Option<unsafe extern "C" fn(*mut c_void, i32, *mut u64) -> *mut opd_error>,
    pub set_activity: Option<unsafe extern "C" fn(*mut c_void, i32) -> *mut opd_error>,
    pub set_correlation: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    pub read_activity:
        Option<unsafe extern "C" fn(*mut c_void, i32, opd_activity_receiver, *mut c_void, *mut u64) -> *mut opd_error>,
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_params_options {
    pub struct_size: u32,
    pub copy: i32,
    pub prefetch: i32,
    pub verify_checksums: i32,
}
impl Default for opd_params_options {
    fn default() -> Self {
        Self { struct_size: size_of::<Self>() as u32, copy: 0, prefetch: 0, verify_checksums: 0 }
    }
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_tensor_info {
    pub struct_size: u32,
    pub ndim: i32,
    pub name: *const c_char,
    pub shape: *const i64,
    pub bytes: u64,
    pub dtype: DLDataType,
    pub is_view: i32,
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_params_stats {
    pub struct_size: u32,
    pub reserved: u32,
    pub total_bytes: u64,
    pub viewed_bytes: u64,
    pub copied_bytes: u64,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_module_options {
    pub struct_size: u32,
    pub copy: opd_copy_policy,
    pub format: *const c_char,
    pub compiler: *const c_char,
    pub c_flags: *const c_char,
    pub cache_dir: *const c_char,
    pub inspect_only: i32,
    pub build_timeout_ms: i32,
}
impl Default for opd_module_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_export_options {
    pub struct_size: u32,
    pub num_addons: i32,
    pub addons: *const *const c_char,
    pub compiler: *const c_char,
    pub c_flags: *const c_char,
    pub workspace_dir: *const c_char,
}
impl Default for opd_export_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_instruction {
    pub struct_size: u32,
    pub opcode: opd_opcode,
    pub reg: i64,
    pub offset: i64,
    pub callee: *const c_char,
    pub args: *const opd_operand,
    pub num_args: i32,
    pub reserved: u32,
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_report_write_options {
    pub struct_size: u32,
    pub sort: i32,
    pub aggregate: i32,
    pub col_sums: i32,
    pub width: i32,
    pub max_rows: i32,
    pub colored: i32,
}
impl Default for opd_report_write_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_collector_table {
    pub struct_size: u32,
    pub reserved: u32,
    pub init: Option<unsafe extern "C" fn(*mut c_void, *const DLDevice, i32) -> *mut opd_error>,
    pub start: Option<unsafe extern "C" fn(*mut c_void, DLDevice, *mut *mut c_void) -> *mut opd_error>,
    pub stop: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut opd_metrics) -> *mut opd_error>,
    pub user_data: *mut c_void,
    pub deleter: opd_deleter,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_counter_options {
    pub struct_size: u32,
    pub per_thread: i32,
    pub best_effort: i32,
    pub num_events: i32,
    pub events: *const *const c_char,
    pub devices: *const DLDevice,
    pub elsewhere: i32,
    pub reserved: i32,
}
impl Default for opd_counter_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_trace_write_options {
    pub struct_size: u32,
    pub per_event: i32,
    pub metric: *const c_char,
    pub metadata: *const c_char,
    pub group_by_input_shape: i32,
    pub with_flops: i32,
    pub sort_by: *const c_char,
    pub row_limit: i32,
    pub top_level_events_only: i32,
    pub max_name_column_width: i32,
    pub max_shapes_column_width: i32,
    pub header: *const c_char,
    pub time_unit: *const c_char,
    pub device: *const c_char,
    pub group_by_stack_n: i32,
    pub max_src_column_width: i32,
    pub before: *mut opd_trace,
}
impl Default for opd_trace_write_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_trace_merge_options {
    pub struct_size: u32,
    pub num_labels: i32,
    pub labels: *const *const c_char,
    pub num_offsets_ns: i32,
    pub num_clock_errors_ns: i32,
    pub offsets_ns: *const i64,
    pub clock_errors_ns: *const i64,
}
impl Default for opd_trace_merge_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_profiler_options {
    pub struct_size: u32,
    pub all_calls: i32,
    pub max_events: u64,
    pub wait: u64,
    pub warmup: u64,
    pub active: u64,
    pub repeat: u64,
    pub skip_first: u64,
    pub skip_first_wait: i32,
    pub profile_memory: i32,
    pub with_stack: i32,
    pub parallel_tasks: i32,
    pub buffer: opd_profiler_buffer,
    pub keep_in_file: i32,
    pub max_bytes: u64,
    pub file: *const c_char,
    pub last_ns: u64,
    pub flush_interval_ns: u64,
    pub device_work: i32,
    pub reserved: i32,
}
impl Default for opd_profiler_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_profiler_dump_options {
    pub struct_size: u32,
    pub format: opd_trace_format,
    pub path: *const c_char,
    pub signal: i32,
    pub on_error: i32,
    pub slow_ns: u64,
    pub min_interval_ns: u64,
    pub max_dumps: u64,
}
impl Default for opd_profiler_dump_options {
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
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_stack_frame {
    pub function: u32,
    pub file: u32,
    pub line: u32,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_vm_options {
    pub struct_size: u32,
    pub num_devices: i32,
    pub devices: *const DLDevice,
    pub allocators: *const opd_allocator_kind,
    pub memory_limit_bytes: u64,
    pub max_depth: i32,
    pub reserved: u32,
}
impl Default for opd_vm_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_call_options {
    pub struct_size: u32,
    pub reserved: u32,
    pub names: *const *const c_char,
    pub timeout_ns: i64,
    pub cancel: *mut opd_cancel_token,
    pub outputs: *const *mut opd_tensor,
    pub num_outputs: i32,
    pub reserved2: u32,
    pub param_module: *mut opd_module,
}
impl Default for opd_call_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_profile_options {
    pub struct_size: u32,
    pub warmup: i32,
    pub repeat: i32,
    pub reserved: u32,
    pub max_records: u64,
    pub builtins: opd_profile_builtins,
    pub details: i32,
    pub sample_interval: u64,
    pub collectors: *const *mut opd_collector,
    pub num_collectors: i32,
    pub turn: i32,
    pub budget_s: f64,
}
impl Default for opd_profile_options {
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
            budget_s: 0.0,
        }
    }
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_kv_stats {
    pub struct_size: u32,
    pub reserved: u32,
    pub num_sequences: i64,
    pub num_tokens: i64,
    pub max_batch: i64,
    pub page_size: i64,
    pub num_pages: i64,
    pub free_pages: i64,
    pub bytes: u64,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_evaluator_options {
    pub struct_size: u32,
    pub device: DLDevice,
    pub reserved: u32,
    pub number: i32,
    pub repeat: i32,
    pub limit_zero_time_iterations: i32,
    pub repeats_to_cooldown: i32,
    pub warmup: i32,
    pub concurrency: i32,
    pub min_repeat_ms: i64,
    pub cooldown_interval_ms: i64,
    pub steady_ms: i64,
    pub cache_flush_bytes: i64,
    pub preprocess: *mut opd_function,
}
impl Default for opd_evaluator_options {
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            device: DLDevice { device_type: 1, device_id: 0 },
            reserved: 0,
            number: 10,
            repeat: 1,
            limit_zero_time_iterations: 100,
            repeats_to_cooldown: 1,
            warmup: 1,
            concurrency: 1,
            min_repeat_ms: 0,
            cooldown_interval_ms: 0,
            steady_ms: 0,
            cache_flush_bytes: 0,
            preprocess: core::ptr::null_mut(),
        }
    }
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_benchmark_stats {
    pub struct_size: u32,
    pub is_noisy: i32,
    pub median_low: f64,
    pub median_high: f64,
    pub autocorrelation: f64,
    pub outlier_count: i64,
    pub number: i64,
    pub warmup_count: i64,
    pub calls_per_second: f64,
    pub is_steady: i32,
    pub reserved: u32,
    pub mean: f64,
    pub median: f64,
    pub std: f64,
    pub min: f64,
    pub max: f64,
    pub is_device_time: i32,
    pub reserved2: u32,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_machine_peak {
    pub struct_size: u32,
    pub num_threads: i32,
    pub gflops: f64,
    pub bandwidth_gbps: f64,
    pub spread: f64,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_rpc_connect_options {
    pub struct_size: u32,
    pub priority: i32,
    pub key: *const c_char,
    pub connect_timeout_ns: i64,
    pub answer_timeout_ns: i64,
    pub session_timeout_ns: i64,
    pub secret: *const c_char,
    pub tls_ca_file: *const c_char,
    pub tls_fingerprint: *const c_char,
    pub tls_name: *const c_char,
}
impl Default for opd_rpc_connect_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_rpc_progress {
    pub struct_size: u32,
    pub reserved: u32,
    pub num_requests: u64,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub crashed_in: [c_char; 128],
    pub num_bad_traceparents: u64,
    pub end_reason: [c_char; 256],
    pub private_state: u32,
    pub reserved2: u32,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_rpc_serve_options {
    pub struct_size: u32,
    pub reserved: u32,
    pub key: *const c_char,
    pub match_key: *const c_char,
    pub work_folder: *const c_char,
    pub max_packet_bytes: u64,
    pub max_file_bytes: u64,
    pub max_tensor_bytes: u64,
    pub max_silence_ns: i64,
    pub sandbox: i32,
    pub allow_network: i32,
    pub max_cpu_s: i32,
    pub num_read_paths: i32,
    pub read_paths: *const *const c_char,
    pub max_process_bytes: u64,
    pub user: *const c_char,
    pub allowed_modules: *const c_char,
    pub secret: *const c_char,
    pub tls_certificate_file: *const c_char,
    pub tls_key_file: *const c_char,
    pub progress: *mut opd_rpc_progress,
    pub admit: Option<unsafe extern "C" fn(*mut c_void) -> *mut opd_error>,
    pub user_data: *mut c_void,
    pub report_crashes: i32,
    pub reserved2: i32,
    pub note_span: Option<unsafe extern "C" fn(*mut c_void, *const opd_telemetry_value)>,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_diff_options {
    pub struct_size: u32,
    pub is_paired: i32,
    pub min_effect: f64,
    pub level: f64,
    pub confidence: f64,
    pub metric: *const c_char,
    pub min_share: f64,
    pub fail_above: f64,
}
impl Default for opd_diff_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_compare_options {
    pub struct_size: u32,
    pub repeat: i32,
    pub rtol: *const c_char,
    pub atol: *const c_char,
    pub keep_bytes: u64,
    pub save_directory: *const c_char,
    pub timeout_ns: i64,
    pub cancel: *mut opd_cancel_token,
    pub equal_nan: i32,
    pub reserved: u32,
    pub b_args: *mut opd_array,
}
impl Default for opd_compare_options {
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
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_record_options {
    pub struct_size: u32,
    pub with_program: i32,
    pub with_outputs: i32,
    pub with_operators: i32,
    pub with_paths: i32,
    pub reserved: u32,
}
impl Default for opd_record_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_replay_options {
    pub struct_size: u32,
    pub run: i32,
    pub module: *mut opd_module,
    pub instrument: *mut opd_function,
    pub minimise: *const c_char,
    pub rtol: *const c_char,
    pub atol: *const c_char,
    pub timeout_ns: i64,
    pub cancel: *mut opd_cancel_token,
    pub repeat: i32,
    pub reserved: u32,
    pub device: DLDevice,
}
impl Default for opd_replay_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_telemetry_options {
    pub struct_size: u32,
    pub per_operator: i32,
    pub prometheus_address: *const c_char,
    pub otlp_endpoint: *const c_char,
    pub otlp_headers: *const c_char,
    pub service_name: *const c_char,
    pub resource_attributes: *const c_char,
    pub interval_ns: u64,
    pub max_queue: i32,
    pub max_series: i32,
    pub max_bytes: u64,
    pub spans: i32,
    pub process_metrics: i32,
}
impl Default for opd_telemetry_options {
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
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opd_telemetry_value {
    pub struct_size: u32,
    pub kind: opd_telemetry_kind,
    pub name: *const c_char,
    pub help: *const c_char,
    pub label_names: *const *const c_char,
    pub label_values: *const *const c_char,
    pub num_label_names: i32,
    pub reserved: u32,
    pub value: f64,
    pub traceparent: *const c_char,
    pub parent_span: *const c_char,
    pub error: *const c_char,
    pub begin_ns: i64,
    pub end_ns: i64,
    pub span_kind: i32,
    pub reserved2: u32,
}
impl Default for opd_telemetry_value {
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
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct opd_telemetry_stats {
    pub struct_size: u32,
    pub reserved: u32,
    pub scrape_count: u64,
    pub metrics_sent_count: u64,
    pub spans_sent_count: u64,
    pub spans_dropped_count: u64,
    pub spans_waiting_count: u64,
    pub failed_count: u64,
    pub events_dropped_count: u64,
    pub is_sending_spans: i32,
    pub reserved2: u32,
}
#[repr(C)]
pub struct opd_object {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_error {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_buffer {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
pub type opd_log_fn = Option<unsafe extern "C" fn(*mut c_void, opd_log_level, *const c_char)>;
pub type opd_deleter = Option<unsafe extern "C" fn(*mut c_void)>;
#[repr(C)]
pub struct opd_shape {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_array {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_map {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_function {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
pub type opd_packed_fn =
    Option<unsafe extern "C" fn(*mut c_void, *const opd_value, i32, *mut opd_value) -> *mut opd_error>;
#[repr(C)]
pub struct opd_closure {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
pub type opd_activity_receiver = Option<unsafe extern "C" fn(*mut c_void, *const opd_device_activity)>;
#[repr(C)]
pub struct opd_tensor {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_params {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_module {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_executable {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_executable_builder {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
pub type opd_operand = i64;
#[repr(C)]
pub struct opd_report {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_report_builder {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_collector {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_metrics {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_trace {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_profiler {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_cancel_token {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_vm {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_kv_state {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_evaluator {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_benchmark {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_rpc_session {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct opd_telemetry {
    _opaque: [u8; 0],
    _pinned: PhantomData<(*mut u8, PhantomPinned)>,
}
pub const OPD_VERSION_MAJOR: c_int = 0;
pub const OPD_VERSION_MINOR: c_int = 2;
pub const OPD_VERSION_PATCH: c_int = 0;

unsafe extern "C" {
    pub fn opd_object_retain(object_handle: *const c_void) -> *mut c_void;
    pub fn opd_object_release(object_handle: *mut c_void);
    pub fn opd_object_type(object_handle: *const c_void) -> i32;
    pub fn opd_error_code(error: *const opd_error) -> opd_code;
    pub fn opd_code_name(code: opd_code) -> *const c_char;
    pub fn opd_error_kind(error: *const opd_error) -> *const c_char;
    pub fn opd_error_message(error: *const opd_error) -> *const c_char;
    pub fn opd_error_cause(error: *const opd_error) -> *const opd_error;
    pub fn opd_error_backtrace(error: *const opd_error) -> *const c_char;
    pub fn opd_error_create(code: opd_code, kind: *const c_char, message: *const c_char) -> *mut opd_error;
    pub fn opd_buffer_data(buffer: *const opd_buffer) -> *const c_char;
    pub fn opd_buffer_size(buffer: *const opd_buffer) -> usize;
    pub fn opd_file_write(path: *const c_char, data: *const c_void, size: usize) -> *mut opd_error;
    pub fn opd_log_set_callback(callback: opd_log_fn, user_data: *mut c_void, deleter: opd_deleter);
    pub fn opd_version() -> *const c_char;
    pub fn opd_build_info(out_json: *mut *mut opd_buffer) -> *mut opd_error;
    pub fn opd_value_of_object(object_handle: *const c_void) -> opd_value;
    pub fn opd_value_retain(value: *const opd_value, out_value: *mut opd_value) -> *mut opd_error;
    pub fn opd_value_release(value: *mut opd_value);
    pub fn opd_type_key(r#type: i32) -> *const c_char;
    pub fn opd_value_to_string(value: *const opd_value, out_text: *mut *mut opd_buffer) -> *mut opd_error;
    pub fn opd_string_create(data: *const c_char, size: usize, out_value: *mut opd_value) -> *mut opd_error;
    pub fn opd_bytes_create(data: *const c_void, size: usize, out_value: *mut opd_value) -> *mut opd_error;
    pub fn opd_string_get(
        value: *const opd_value,
        out_data: *mut *const c_char,
        out_size: *mut usize,
    ) -> *mut opd_error;
    pub fn opd_shape_create(dims: *const i64, ndim: i32, out_shape: *mut *mut opd_shape) -> *mut opd_error;
    pub fn opd_shape_dims(shape: *const opd_shape, out_ndim: *mut i32) -> *const i64;
    pub fn opd_array_create(items: *const opd_value, count: i32, out_array: *mut *mut opd_array) -> *mut opd_error;
    pub fn opd_array_count(array: *const opd_array) -> i32;
    pub fn opd_array_get(array: *const opd_array, index: i32, out_item: *mut opd_value) -> *mut opd_error;
    pub fn opd_map_create(pairs: *const opd_value, count: i32, out_map: *mut *mut opd_map) -> *mut opd_error;
    pub fn opd_map_count(map: *const opd_map) -> i32;
    pub fn opd_map_get(map: *const opd_map, key: *const opd_value, out_value: *mut opd_value) -> *mut opd_error;
    pub fn opd_map_entry(
        map: *const opd_map,
        index: i32,
        out_key: *mut opd_value,
        out_value: *mut opd_value,
    ) -> *mut opd_error;
    pub fn opd_dtype_from_string(text: *const c_char, out_dtype: *mut DLDataType) -> *mut opd_error;
    pub fn opd_function_create(
        callback: opd_packed_fn,
        user_data: *mut c_void,
        deleter: opd_deleter,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    pub fn opd_function_call(
        function: *mut opd_function,
        args: *const opd_value,
        num_args: i32,
        out_result: *mut opd_value,
    ) -> *mut opd_error;
    pub fn opd_function_register(
        name: *const c_char,
        function: *mut opd_function,
        override_existing: i32,
    ) -> *mut opd_error;
    pub fn opd_function_get_global(name: *const c_char, out_function: *mut *mut opd_function) -> *mut opd_error;
    pub fn opd_function_remove_global(name: *const c_char) -> *mut opd_error;
    pub fn opd_function_list_global(out_names: *mut *mut opd_array) -> *mut opd_error;
    pub fn opd_function_create_native(
        pointer: *mut c_void,
        signature: *const c_char,
        name: *const c_char,
        keep_alive: *mut c_void,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    pub fn opd_closure_create(
        function: *mut opd_function,
        signature: *const c_char,
        out_closure: *mut *mut opd_closure,
    ) -> *mut opd_error;
    pub fn opd_closure_pointer(closure: *const opd_closure) -> *mut c_void;
    pub fn opd_closure_take_error(closure: *mut opd_closure) -> *mut opd_error;
    pub fn opd_device_from_string(text: *const c_char, out_device: *mut DLDevice) -> *mut opd_error;
    pub fn opd_device_get_attr(device: DLDevice, attr: opd_device_attr, out_value: *mut opd_value) -> *mut opd_error;
    pub fn opd_device_sync(device: DLDevice) -> *mut opd_error;
    pub fn opd_stream_create(device: DLDevice, out_stream: *mut *mut c_void) -> *mut opd_error;
    pub fn opd_stream_free(device: DLDevice, stream: *mut c_void) -> *mut opd_error;
    pub fn opd_stream_set(device: DLDevice, stream: *mut c_void, out_before: *mut *mut c_void) -> *mut opd_error;
    pub fn opd_stream_sync(device: DLDevice, stream: *mut c_void) -> *mut opd_error;
    pub fn opd_memory_get_stats(device: DLDevice, out_stats: *mut opd_memory_stats) -> *mut opd_error;
    pub fn opd_memory_reset_peak(device: DLDevice) -> *mut opd_error;
    pub fn opd_memory_trim(device: DLDevice) -> *mut opd_error;
    pub fn opd_memory_set_hooks(hooks: *const opd_memory_hooks) -> *mut opd_error;
    pub fn opd_threads_count() -> i32;
    pub fn opd_threads_set_count(count: i32) -> *mut opd_error;
    pub fn opd_device_register(
        kind: *const c_char,
        table: *const opd_device_table,
        out_type: *mut i32,
    ) -> *mut opd_error;
    pub fn opd_tensor_create(
        dims: *const i64,
        ndim: i32,
        dtype: DLDataType,
        device: DLDevice,
        out_tensor: *mut *mut opd_tensor,
    ) -> *mut opd_error;
    pub fn opd_tensor_view(tensor: *const opd_tensor) -> *mut DLTensor;
    pub fn opd_tensor_bytes(tensor: *const opd_tensor) -> u64;
    pub fn opd_tensor_is_contiguous(tensor: *const opd_tensor) -> i32;
    pub fn opd_tensor_is_read_only(tensor: *const opd_tensor) -> i32;
    pub fn opd_tensor_copy(from: *const DLTensor, to: *mut opd_tensor) -> *mut opd_error;
    pub fn opd_tensor_copy_from_bytes(to: *mut opd_tensor, data: *const c_void, size: usize) -> *mut opd_error;
    pub fn opd_tensor_copy_to_bytes(from: *const opd_tensor, data: *mut c_void, size: usize) -> *mut opd_error;
    pub fn opd_tensor_reshape(
        tensor: *mut opd_tensor,
        dims: *const i64,
        ndim: i32,
        out_tensor: *mut *mut opd_tensor,
    ) -> *mut opd_error;
    pub fn opd_tensor_borrow(from: *const DLTensor, out_tensor: *mut *mut opd_tensor) -> *mut opd_error;
    pub fn opd_tensor_end_borrow(tensor: *mut opd_tensor);
    pub fn opd_tensor_is_borrowed(tensor: *const opd_tensor) -> i32;
    pub fn opd_tensor_has_ended(tensor: *const opd_tensor) -> i32;
    pub fn opd_tensor_is_unique(tensor: *const opd_tensor) -> i32;
    pub fn opd_tensor_from_dlpack(managed: *mut DLManagedTensor, out_tensor: *mut *mut opd_tensor) -> *mut opd_error;
    pub fn opd_tensor_from_dlpack_versioned(
        managed: *mut DLManagedTensorVersioned,
        out_tensor: *mut *mut opd_tensor,
    ) -> *mut opd_error;
    pub fn opd_tensor_to_dlpack(tensor: *mut opd_tensor, out_managed: *mut *mut DLManagedTensor) -> *mut opd_error;
    pub fn opd_tensor_to_dlpack_versioned(
        tensor: *mut opd_tensor,
        out_managed: *mut *mut DLManagedTensorVersioned,
    ) -> *mut opd_error;
    pub fn opd_params_create(out_params: *mut *mut opd_params) -> *mut opd_error;
    pub fn opd_params_open(
        path: *const c_char,
        options: *const opd_params_options,
        out_params: *mut *mut opd_params,
    ) -> *mut opd_error;
    pub fn opd_params_open_bytes(
        data: *mut c_void,
        size: usize,
        options: *const opd_params_options,
        user_data: *mut c_void,
        deleter: opd_deleter,
        out_params: *mut *mut opd_params,
    ) -> *mut opd_error;
    pub fn opd_params_save(params: *const opd_params, path: *const c_char) -> *mut opd_error;
    pub fn opd_params_save_bytes(params: *const opd_params, out_bytes: *mut *mut opd_buffer) -> *mut opd_error;
    pub fn opd_params_count(params: *const opd_params) -> i32;
    pub fn opd_params_get_info(params: *const opd_params, index: i32, out_info: *mut opd_tensor_info)
    -> *mut opd_error;
    pub fn opd_params_get_stats(params: *const opd_params, out_stats: *mut opd_params_stats) -> *mut opd_error;
    pub fn opd_params_get(
        params: *const opd_params,
        name: *const c_char,
        out_tensor: *mut *mut opd_tensor,
    ) -> *mut opd_error;
    pub fn opd_params_set(params: *mut opd_params, name: *const c_char, tensor: *mut opd_tensor) -> *mut opd_error;
    pub fn opd_module_load(
        path: *const c_char,
        options: *const opd_module_options,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    pub fn opd_module_load_bytes(
        data: *const c_void,
        size: usize,
        name: *const c_char,
        options: *const opd_module_options,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    pub fn opd_module_load_static_library(
        path: *const c_char,
        func_names: *const *const c_char,
        num_func_names: i32,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    pub fn opd_module_load_native(
        path: *const c_char,
        names: *const *const c_char,
        signatures: *const *const c_char,
        num_functions: i32,
        options: *const opd_module_options,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    pub fn opd_module_system_lib(prefix: *const c_char, out_module: *mut *mut opd_module) -> *mut opd_error;
    pub fn opd_module_enabled(target: *const c_char) -> i32;
    pub fn opd_module_get_function(
        module: *mut opd_module,
        name: *const c_char,
        query_imports: i32,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    pub fn opd_module_native_function(
        module: *mut opd_module,
        symbol: *const c_char,
        signature: *const c_char,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    pub fn opd_module_has_function(module: *mut opd_module, name: *const c_char, flags: i32) -> i32;
    pub fn opd_module_list_functions(module: *mut opd_module, out_names: *mut *mut opd_array) -> *mut opd_error;
    pub fn opd_module_kind(module: *const opd_module) -> *const c_char;
    pub fn opd_module_format(module: *const opd_module) -> *const c_char;
    pub fn opd_module_properties(module: *const opd_module) -> i32;
    pub fn opd_module_get_source(
        module: *mut opd_module,
        format: *const c_char,
        out_text: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    pub fn opd_module_to_json(module: *mut opd_module, out_json: *mut *mut opd_buffer) -> *mut opd_error;
    pub fn opd_module_list_imports(module: *mut opd_module, out_modules: *mut *mut opd_array) -> *mut opd_error;
    pub fn opd_module_add_import(module: *mut opd_module, imported: *mut opd_module) -> *mut opd_error;
    pub fn opd_module_list_formats(module: *mut opd_module, out_formats: *mut *mut opd_array) -> *mut opd_error;
    pub fn opd_module_save(module: *mut opd_module, path: *const c_char, format: *const c_char) -> *mut opd_error;
    pub fn opd_module_export(
        module: *mut opd_module,
        path: *const c_char,
        options: *const opd_export_options,
    ) -> *mut opd_error;
    pub fn opd_executable_load_bytes(
        data: *const c_void,
        size: usize,
        out_executable: *mut *mut opd_executable,
    ) -> *mut opd_error;
    pub fn opd_executable_save_bytes(
        executable: *const opd_executable,
        out_bytes: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    pub fn opd_executable_assemble(
        text: *const c_char,
        size: usize,
        out_executable: *mut *mut opd_executable,
    ) -> *mut opd_error;
    pub fn opd_executable_write(
        executable: *const opd_executable,
        format: opd_executable_format,
        out_text: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    pub fn opd_executable_from_module(
        module: *mut opd_module,
        out_executable: *mut *mut opd_executable,
    ) -> *mut opd_error;
    pub fn opd_executable_to_module(
        executable: *mut opd_executable,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    pub fn opd_executable_builder_create(out_builder: *mut *mut opd_executable_builder) -> *mut opd_error;
    pub fn opd_executable_builder_begin_function(
        builder: *mut opd_executable_builder,
        name: *const c_char,
        num_params: i32,
        param_names: *const *const c_char,
    ) -> *mut opd_error;
    pub fn opd_executable_builder_end_function(builder: *mut opd_executable_builder) -> *mut opd_error;
    pub fn opd_executable_builder_add_constant(
        builder: *mut opd_executable_builder,
        value: *const opd_value,
        out_operand: *mut opd_operand,
    ) -> *mut opd_error;
    pub fn opd_executable_builder_add_function(
        builder: *mut opd_executable_builder,
        name: *const c_char,
        out_operand: *mut opd_operand,
    ) -> *mut opd_error;
    pub fn opd_executable_builder_emit(
        builder: *mut opd_executable_builder,
        instruction: *const opd_instruction,
    ) -> *mut opd_error;
    pub fn opd_executable_builder_get(
        builder: *mut opd_executable_builder,
        out_executable: *mut *mut opd_executable,
    ) -> *mut opd_error;
    pub fn opd_report_builder_create(out_builder: *mut *mut opd_report_builder) -> *mut opd_error;
    pub fn opd_report_builder_add_call(builder: *mut opd_report_builder) -> *mut opd_error;
    pub fn opd_report_builder_set(
        builder: *mut opd_report_builder,
        section: opd_report_section,
        device: *const c_char,
        name: *const c_char,
        kind: opd_metric_kind,
        value: *const opd_value,
    ) -> *mut opd_error;
    pub fn opd_report_builder_finish(
        builder: *mut opd_report_builder,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    pub fn opd_report_from_json(json: *const c_char, size: usize, out_report: *mut *mut opd_report) -> *mut opd_error;
    pub fn opd_report_merge(
        reports: *const *const opd_report,
        num: i32,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    pub fn opd_report_write(
        report: *const opd_report,
        format: opd_report_format,
        options: *const opd_report_write_options,
        out_text: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    pub fn opd_report_to_arrow(report: *const opd_report, out_stream: *mut c_void) -> *mut opd_error;
    pub fn opd_report_count(report: *const opd_report, section: opd_report_section) -> i32;
    pub fn opd_report_list(
        report: *const opd_report,
        section: opd_report_section,
        out_names: *mut *mut opd_array,
    ) -> *mut opd_error;
    pub fn opd_report_get(
        report: *const opd_report,
        section: opd_report_section,
        row: i32,
        name: *const c_char,
        out_value: *mut opd_value,
        out_kind: *mut opd_metric_kind,
    ) -> *mut opd_error;
    pub fn opd_report_get_column(
        report: *const opd_report,
        section: opd_report_section,
        name: *const c_char,
        out_values: *mut *mut opd_array,
        out_kinds: *mut *mut opd_array,
    ) -> *mut opd_error;
    pub fn opd_metrics_set(
        metrics: *mut opd_metrics,
        name: *const c_char,
        kind: opd_metric_kind,
        value: *const opd_value,
    ) -> *mut opd_error;
    pub fn opd_collector_create(
        name: *const c_char,
        table: *const opd_collector_table,
        out_collector: *mut *mut opd_collector,
    ) -> *mut opd_error;
    pub fn opd_collector_create_builtin(
        kind: opd_collector_kind,
        options: *const opd_counter_options,
        out_collector: *mut *mut opd_collector,
    ) -> *mut opd_error;
    pub fn opd_collector_list_events(kind: opd_collector_kind, out_names: *mut *mut opd_array) -> *mut opd_error;
    pub fn opd_function_profile(
        function: *mut opd_function,
        device: DLDevice,
        collectors: *const *mut opd_collector,
        num_collectors: i32,
        warmup_iters: i32,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    pub fn opd_trace_load(path: *const c_char, out_trace: *mut *mut opd_trace) -> *mut opd_error;
    pub fn opd_trace_call_count(trace: *const opd_trace) -> u64;
    pub fn opd_trace_dropped_count(trace: *const opd_trace) -> u64;
    pub fn opd_trace_write(
        trace: *const opd_trace,
        format: opd_trace_format,
        options: *const opd_trace_write_options,
        out_bytes: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    pub fn opd_trace_save(
        trace: *const opd_trace,
        path: *const c_char,
        format: opd_trace_format,
        options: *const opd_trace_write_options,
    ) -> *mut opd_error;
    pub fn opd_trace_to_report(
        trace: *const opd_trace,
        view: opd_trace_view,
        options: *const opd_trace_write_options,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    pub fn opd_trace_merge(
        traces: *const *const opd_trace,
        num_traces: i32,
        options: *const opd_trace_merge_options,
        out_trace: *mut *mut opd_trace,
    ) -> *mut opd_error;
    pub fn opd_profiler_create(
        options: *const opd_profiler_options,
        out_profiler: *mut *mut opd_profiler,
    ) -> *mut opd_error;
    pub fn opd_profiler_start(profiler: *mut opd_profiler) -> *mut opd_error;
    pub fn opd_profiler_set_action(profiler: *mut opd_profiler, action: opd_profiler_action) -> *mut opd_error;
    pub fn opd_profiler_step(profiler: *mut opd_profiler, out_trace: *mut *mut opd_trace) -> *mut opd_error;
    pub fn opd_profiler_stop(profiler: *mut opd_profiler, out_trace: *mut *mut opd_trace) -> *mut opd_error;
    pub fn opd_profiler_snapshot(profiler: *mut opd_profiler, out_trace: *mut *mut opd_trace) -> *mut opd_error;
    pub fn opd_profiler_set_dumps(
        profiler: *mut opd_profiler,
        options: *const opd_profiler_dump_options,
    ) -> *mut opd_error;
    pub fn opd_profiler_dump(profiler: *mut opd_profiler, reason: *const c_char) -> *mut opd_error;
    pub fn opd_profiler_dump_count(profiler: *const opd_profiler) -> u64;
    pub fn opd_range_name(name: *const c_char) -> u32;
    pub fn opd_range_is_recorded() -> i32;
    pub fn opd_range_begin(name: u32) -> u64;
    pub fn opd_range_end(range: u64);
    pub fn opd_range_push(name: *const c_char) -> i32;
    pub fn opd_range_pop() -> i32;
    pub fn opd_range_mark(name: u32);
    pub fn opd_itt_is_available() -> i32;
    pub fn opd_stack_is_recorded() -> i32;
    pub fn opd_stack_push(frames: *const opd_stack_frame, num_frames: i32);
    pub fn opd_stack_pop();
    pub fn opd_cancel_token_create(out_token: *mut *mut opd_cancel_token) -> *mut opd_error;
    pub fn opd_cancel_token_cancel(token: *mut opd_cancel_token);
    pub fn opd_cancel_token_reset(token: *mut opd_cancel_token);
    pub fn opd_cancel_token_set_default(token: *mut opd_cancel_token) -> *mut opd_error;
    pub fn opd_cancel_token_current_operator(token: *const opd_cancel_token) -> *const c_char;
    pub fn opd_vm_create(
        module: *mut opd_module,
        options: *const opd_vm_options,
        out_vm: *mut *mut opd_vm,
    ) -> *mut opd_error;
    pub fn opd_vm_call(
        vm: *mut opd_vm,
        name: *const c_char,
        args: *const opd_value,
        num_args: i32,
        options: *const opd_call_options,
        out_value: *mut opd_value,
    ) -> *mut opd_error;
    pub fn opd_vm_get_function(
        vm: *mut opd_vm,
        name: *const c_char,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    pub fn opd_vm_invoke_closure(
        vm: *mut opd_vm,
        closure: *mut opd_function,
        args: *const opd_value,
        num_args: i32,
        options: *const opd_call_options,
        out_value: *mut opd_value,
    ) -> *mut opd_error;
    pub fn opd_vm_save_function(
        vm: *mut opd_vm,
        name: *const c_char,
        saved_name: *const c_char,
        args: *const opd_value,
        num_args: i32,
        options: *const opd_call_options,
        include_return: i32,
    ) -> *mut opd_error;
    pub fn opd_vm_set_input(
        vm: *mut opd_vm,
        name: *const c_char,
        args: *const opd_value,
        num_args: i32,
        options: *const opd_call_options,
    ) -> *mut opd_error;
    pub fn opd_vm_invoke_stateful(
        vm: *mut opd_vm,
        name: *const c_char,
        options: *const opd_call_options,
    ) -> *mut opd_error;
    pub fn opd_vm_get_outputs(
        vm: *mut opd_vm,
        name: *const c_char,
        path: *const i64,
        path_size: i32,
        out_value: *mut opd_value,
    ) -> *mut opd_error;
    pub fn opd_vm_set_instrument(vm: *mut opd_vm, instrument: *mut opd_function) -> *mut opd_error;
    pub fn opd_vm_has_function(vm: *mut opd_vm, name: *const c_char) -> i32;
    pub fn opd_vm_list_functions(vm: *mut opd_vm, out_names: *mut *mut opd_array) -> *mut opd_error;
    pub fn opd_vm_list_params(vm: *mut opd_vm, name: *const c_char, out_names: *mut *mut opd_array) -> *mut opd_error;
    pub fn opd_vm_trim(vm: *mut opd_vm) -> *mut opd_error;
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
    pub fn opd_vm_profile_start(vm: *mut opd_vm, options: *const opd_profile_options) -> *mut opd_error;
    pub fn opd_vm_profile_stop(
        vm: *mut opd_vm,
        out_report: *mut *mut opd_report,
        out_trace: *mut *mut opd_trace,
    ) -> *mut opd_error;
    pub fn opd_kv_state_from_value(value: *const opd_value, out_state: *mut *mut opd_kv_state) -> *mut opd_error;
    pub fn opd_kv_state_add(state: *mut opd_kv_state, id: i64) -> *mut opd_error;
    pub fn opd_kv_state_remove(state: *mut opd_kv_state, id: i64) -> *mut opd_error;
    pub fn opd_kv_state_clear(state: *mut opd_kv_state) -> *mut opd_error;
    pub fn opd_kv_state_fork(state: *mut opd_kv_state, parent: i64, child: i64, num_tokens: i64) -> *mut opd_error;
    pub fn opd_kv_state_pop(state: *mut opd_kv_state, id: i64, num_tokens: i64) -> *mut opd_error;
    pub fn opd_kv_state_begin(
        state: *mut opd_kv_state,
        ids: *const i64,
        num_ids: i32,
        counts: *const i64,
        num_counts: i32,
        parents: *const i64,
        num_parents: i32,
    ) -> *mut opd_error;
    pub fn opd_kv_state_end(state: *mut opd_kv_state, keep: i32) -> *mut opd_error;
    pub fn opd_kv_state_lengths(state: *mut opd_kv_state, out_lengths: *mut *mut opd_map) -> *mut opd_error;
    pub fn opd_kv_state_get_stats(state: *mut opd_kv_state, out_stats: *mut opd_kv_stats) -> *mut opd_error;
    pub fn opd_evaluator_create(
        function: *mut opd_function,
        options: *const opd_evaluator_options,
        out_evaluator: *mut *mut opd_evaluator,
    ) -> *mut opd_error;
    pub fn opd_evaluator_call(
        evaluator: *mut opd_evaluator,
        args: *const opd_value,
        num_args: i32,
        out_benchmark: *mut *mut opd_benchmark,
    ) -> *mut opd_error;
    pub fn opd_benchmark_create(
        seconds: *const f64,
        num: i32,
        out_benchmark: *mut *mut opd_benchmark,
    ) -> *mut opd_error;
    pub fn opd_benchmark_seconds(benchmark: *const opd_benchmark, out_count: *mut i32) -> *const f64;
    pub fn opd_benchmark_percentile(benchmark: *const opd_benchmark, percent: f64) -> f64;
    pub fn opd_benchmark_get_stats(
        benchmark: *const opd_benchmark,
        out_stats: *mut opd_benchmark_stats,
    ) -> *mut opd_error;
    pub fn opd_benchmark_to_text(benchmark: *const opd_benchmark, out_text: *mut *mut opd_buffer) -> *mut opd_error;
    pub fn opd_machine_measure_peak(out_peak: *mut opd_machine_peak) -> *mut opd_error;
    pub fn opd_report_add_roofline(
        report: *const opd_report,
        peak_gflops: f64,
        peak_bandwidth_gbps: f64,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    pub fn opd_rpc_connect(
        address: *const c_char,
        options: *const opd_rpc_connect_options,
        out_session: *mut *mut opd_rpc_session,
    ) -> *mut opd_error;
    pub fn opd_rpc_request(
        tracker: *const c_char,
        options: *const opd_rpc_connect_options,
        out_session: *mut *mut opd_rpc_session,
    ) -> *mut opd_error;
    pub fn opd_rpc_tracker_summary(
        tracker: *const c_char,
        options: *const opd_rpc_connect_options,
        out_json: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    pub fn opd_rpc_session_device(
        session: *mut opd_rpc_session,
        device: DLDevice,
        out_device: *mut DLDevice,
    ) -> *mut opd_error;
    pub fn opd_rpc_session_get_function(
        session: *mut opd_rpc_session,
        name: *const c_char,
        out_function: *mut *mut opd_function,
    ) -> *mut opd_error;
    pub fn opd_rpc_session_upload(
        session: *mut opd_rpc_session,
        name: *const c_char,
        data: *const c_void,
        size: usize,
    ) -> *mut opd_error;
    pub fn opd_rpc_session_download(
        session: *mut opd_rpc_session,
        name: *const c_char,
        out_bytes: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    pub fn opd_rpc_session_load_module(
        session: *mut opd_rpc_session,
        name: *const c_char,
        out_module: *mut *mut opd_module,
    ) -> *mut opd_error;
    pub fn opd_rpc_session_describe(session: *mut opd_rpc_session, out_json: *mut *mut opd_buffer) -> *mut opd_error;
    pub fn opd_rpc_session_close(session: *mut opd_rpc_session);
    pub fn opd_rpc_serve(socket: i32, options: *const opd_rpc_serve_options) -> *mut opd_error;
    pub fn opd_rpc_tell_end(socket: i32, progress: *const opd_rpc_progress) -> *mut opd_error;
    pub fn opd_rpc_serve_describe(
        options: *const opd_rpc_serve_options,
        out_json: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    pub fn opd_report_diff(
        before: *const *const opd_report,
        num_before: i32,
        after: *const *const opd_report,
        num_after: i32,
        options: *const opd_diff_options,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
    pub fn opd_benchmark_diff(
        before: *const opd_benchmark,
        after: *const opd_benchmark,
        options: *const opd_diff_options,
        out_report: *mut *mut opd_report,
    ) -> *mut opd_error;
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
    pub fn opd_vm_record_next_call(
        vm: *mut opd_vm,
        path: *const c_char,
        options: *const opd_record_options,
    ) -> *mut opd_error;
    pub fn opd_replay(
        path: *const c_char,
        options: *const opd_replay_options,
        out_module: *mut *mut opd_module,
        out_report: *mut *mut opd_report,
        out_profile: *mut *mut opd_report,
    ) -> *mut opd_error;
    pub fn opd_telemetry_start(
        options: *const opd_telemetry_options,
        out_telemetry: *mut *mut opd_telemetry,
    ) -> *mut opd_error;
    pub fn opd_telemetry_address(telemetry: *const opd_telemetry) -> *const c_char;
    pub fn opd_telemetry_to_text(
        telemetry: *mut opd_telemetry,
        format: opd_telemetry_format,
        out_text: *mut *mut opd_buffer,
    ) -> *mut opd_error;
    pub fn opd_telemetry_set_value(telemetry: *mut opd_telemetry, value: *const opd_telemetry_value) -> *mut opd_error;
    pub fn opd_telemetry_flush(telemetry: *mut opd_telemetry, timeout_ns: u64) -> *mut opd_error;
    pub fn opd_telemetry_get_stats(
        telemetry: *mut opd_telemetry,
        out_stats: *mut opd_telemetry_stats,
    ) -> *mut opd_error;
    pub fn opd_telemetry_set_parent(traceparent: *const c_char) -> *mut opd_error;
}
