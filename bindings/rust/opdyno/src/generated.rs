// Made by bindings/rust/generator from bindings/swig and the headers; in one file, since nobody edits it.
use crate::options::{Kept, check_count, count_of};
use crate::text::{borrowed, slice_of};
use crate::{Array, CancelToken, Collector, DType, Device, Error, Function, Module, Result, Trace, ffi};
use core::time::Duration;
use std::path::Path;

/// The kind of an error, for programs. Append-only: treat an unknown code as `OPD_INTERNAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum Code {
    /// No error; only ever returned by `opd_error_code`(NULL).
    Ok = ffi::OPD_OK,
    /// An argument's count, type, dtype, shape or value does not fit.
    InvalidArgument = ffi::OPD_INVALID_ARGUMENT,
    /// No function, file, symbol or name of that kind.
    NotFound = ffi::OPD_NOT_FOUND,
    /// The name is taken and no permission to override was given.
    AlreadyExists = ffi::OPD_ALREADY_EXISTS,
    /// An index or a number lies outside the allowed range.
    OutOfRange = ffi::OPD_OUT_OF_RANGE,
    /// The bytes are not what they claim to be; the message gives the offset.
    BadFormat = ffi::OPD_BAD_FORMAT,
    /// Understood, but not offered by this build, machine or version.
    Unsupported = ffi::OPD_UNSUPPORTED,
    /// Memory, or a limit set on it, does not suffice.
    OutOfMemory = ffi::OPD_OUT_OF_MEMORY,
    /// A cancel token ended the call.
    Cancelled = ffi::OPD_CANCELLED,
    /// The call's deadline passed.
    DeadlineExceeded = ffi::OPD_DEADLINE_EXCEEDED,
    /// The handle is not in a state that allows this.
    FailedPrecondition = ffi::OPD_FAILED_PRECONDITION,
    /// Reading or writing a file failed; the message has the system's reason.
    Io = ffi::OPD_IO,
    /// A called function raised an error, with its own kind and message.
    CallFailed = ffi::OPD_CALL_FAILED,
    /// A defect in opdyno.
    Internal = ffi::OPD_INTERNAL,
}
impl Code {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_code) -> Option<Self> {
        Some(match raw {
            ffi::OPD_OK => Self::Ok,
            ffi::OPD_INVALID_ARGUMENT => Self::InvalidArgument,
            ffi::OPD_NOT_FOUND => Self::NotFound,
            ffi::OPD_ALREADY_EXISTS => Self::AlreadyExists,
            ffi::OPD_OUT_OF_RANGE => Self::OutOfRange,
            ffi::OPD_BAD_FORMAT => Self::BadFormat,
            ffi::OPD_UNSUPPORTED => Self::Unsupported,
            ffi::OPD_OUT_OF_MEMORY => Self::OutOfMemory,
            ffi::OPD_CANCELLED => Self::Cancelled,
            ffi::OPD_DEADLINE_EXCEEDED => Self::DeadlineExceeded,
            ffi::OPD_FAILED_PRECONDITION => Self::FailedPrecondition,
            ffi::OPD_IO => Self::Io,
            ffi::OPD_CALL_FAILED => Self::CallFailed,
            ffi::OPD_INTERNAL => Self::Internal,
            _ => return None,
        })
    }
}
/// The severity of a log message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum LogLevel {
    /// `OPD_LOG_DEBUG`.
    Debug = ffi::OPD_LOG_DEBUG,
    /// `OPD_LOG_INFO`.
    Info = ffi::OPD_LOG_INFO,
    /// `OPD_LOG_WARNING`.
    Warning = ffi::OPD_LOG_WARNING,
    /// `OPD_LOG_ERROR`.
    Error = ffi::OPD_LOG_ERROR,
}
impl LogLevel {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_log_level) -> Option<Self> {
        Some(match raw {
            ffi::OPD_LOG_DEBUG => Self::Debug,
            ffi::OPD_LOG_INFO => Self::Info,
            ffi::OPD_LOG_WARNING => Self::Warning,
            ffi::OPD_LOG_ERROR => Self::Error,
            _ => return None,
        })
    }
}
/// Properties of a device; numbers are TVM's DeviceAttrKind. Append-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum DeviceAttr {
    /// bool
    Exist = ffi::OPD_ATTR_EXIST,
    /// int
    MaxThreadsPerBlock = ffi::OPD_ATTR_MAX_THREADS_PER_BLOCK,
    /// int
    WarpSize = ffi::OPD_ATTR_WARP_SIZE,
    /// int, bytes
    MaxSharedMemoryPerBlock = ffi::OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK,
    /// string
    ComputeVersion = ffi::OPD_ATTR_COMPUTE_VERSION,
    /// string
    DeviceName = ffi::OPD_ATTR_DEVICE_NAME,
    /// int, kHz
    MaxClockRate = ffi::OPD_ATTR_MAX_CLOCK_RATE,
    /// int
    MultiProcessorCount = ffi::OPD_ATTR_MULTI_PROCESSOR_COUNT,
    /// shape of 3
    MaxThreadDimensions = ffi::OPD_ATTR_MAX_THREAD_DIMENSIONS,
    /// int
    ApiVersion = ffi::OPD_ATTR_API_VERSION,
    /// string
    DriverVersion = ffi::OPD_ATTR_DRIVER_VERSION,
    /// int, bytes
    L2CacheSizeBytes = ffi::OPD_ATTR_L2_CACHE_SIZE_BYTES,
    /// int, bytes
    TotalGlobalMemory = ffi::OPD_ATTR_TOTAL_GLOBAL_MEMORY,
    /// int, bytes
    AvailableGlobalMemory = ffi::OPD_ATTR_AVAILABLE_GLOBAL_MEMORY,
    /// int, elements along an axis of an image; TVM has no number for it
    TextureSpatialLimit = ffi::OPD_ATTR_TEXTURE_SPATIAL_LIMIT,
    /// string: why there is no such device; `OPD_NONE` if it exists
    Absence = ffi::OPD_ATTR_ABSENCE,
}
impl DeviceAttr {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_device_attr) -> Option<Self> {
        Some(match raw {
            ffi::OPD_ATTR_EXIST => Self::Exist,
            ffi::OPD_ATTR_MAX_THREADS_PER_BLOCK => Self::MaxThreadsPerBlock,
            ffi::OPD_ATTR_WARP_SIZE => Self::WarpSize,
            ffi::OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK => Self::MaxSharedMemoryPerBlock,
            ffi::OPD_ATTR_COMPUTE_VERSION => Self::ComputeVersion,
            ffi::OPD_ATTR_DEVICE_NAME => Self::DeviceName,
            ffi::OPD_ATTR_MAX_CLOCK_RATE => Self::MaxClockRate,
            ffi::OPD_ATTR_MULTI_PROCESSOR_COUNT => Self::MultiProcessorCount,
            ffi::OPD_ATTR_MAX_THREAD_DIMENSIONS => Self::MaxThreadDimensions,
            ffi::OPD_ATTR_API_VERSION => Self::ApiVersion,
            ffi::OPD_ATTR_DRIVER_VERSION => Self::DriverVersion,
            ffi::OPD_ATTR_L2_CACHE_SIZE_BYTES => Self::L2CacheSizeBytes,
            ffi::OPD_ATTR_TOTAL_GLOBAL_MEMORY => Self::TotalGlobalMemory,
            ffi::OPD_ATTR_AVAILABLE_GLOBAL_MEMORY => Self::AvailableGlobalMemory,
            ffi::OPD_ATTR_TEXTURE_SPATIAL_LIMIT => Self::TextureSpatialLimit,
            ffi::OPD_ATTR_ABSENCE => Self::Absence,
            _ => return None,
        })
    }
}
/// How freed memory is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum AllocatorKind {
    /// Every block is returned to the system at once.
    Naive = ffi::OPD_ALLOCATOR_NAIVE,
    /// Blocks are kept for the next request of the same size. Memory that
    /// is not in use takes at most twice the greatest use, 8 MiB, and 2 MiB
    /// for each call of a VM that ran at the same time.
    Pooled = ffi::OPD_ALLOCATOR_POOLED,
}
impl AllocatorKind {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_allocator_kind) -> Option<Self> {
        Some(match raw {
            ffi::OPD_ALLOCATOR_NAIVE => Self::Naive,
            ffi::OPD_ALLOCATOR_POOLED => Self::Pooled,
            _ => return None,
        })
    }
}
/// Whether a shared library is loaded from a private copy. Loading patches TVM function pointers inside the mapped
/// library. If another runtime has the same file mapped (real TVM, or another load of it), one of the two would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum CopyPolicy {
    /// Always correct. It costs the file's size in memory, and perf and gdb see a file in memory. A
    /// library that needs nothing of TVM is opened in place.
    Always = ffi::OPD_COPY_ALWAYS,
    /// A copy is made only if the file is mapped already. It breaks if real TVM opens the file
    /// later.
    WhenShared = ffi::OPD_COPY_WHEN_SHARED,
    /// No copy is made: for perf and gdb. If the file is mapped already, loading fails.
    Never = ffi::OPD_COPY_NEVER,
}
impl CopyPolicy {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_copy_policy) -> Option<Self> {
        Some(match raw {
            ffi::OPD_COPY_ALWAYS => Self::Always,
            ffi::OPD_COPY_WHEN_SHARED => Self::WhenShared,
            ffi::OPD_COPY_NEVER => Self::Never,
            _ => return None,
        })
    }
}
/// A text form of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum ExecutableFormat {
    /// Text that assembles to the same program. Source: TVM VMExecutable.as_text.
    Assembly = ffi::OPD_EXECUTABLE_ASSEMBLY,
    /// Python script that builds the same program with TVM's relax.ExecBuilder, constants
    /// included. Compiled functions are named in comments. Source: TVM as_python.
    Python = ffi::OPD_EXECUTABLE_PYTHON,
    /// JSON for programs. Each function has its name, kind, parameters, result, registers, instructions and bytes of
    /// code. A parameter has the dtype and shape that the program checks. If the instructions tell the items of a tuple,
    /// the result has them. Instructions that may read a register which no path has written are listed. The program has
    /// the packed functions that it needs, its constants, and the bytes of each section.
    Json = ffi::OPD_EXECUTABLE_JSON,
    /// Text for people: functions, the functions that they need, instructions by kind,
    /// constants, and their bytes. Source: TVM VMExecutable.stats.
    Stats = ffi::OPD_EXECUTABLE_STATS,
}
impl ExecutableFormat {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_executable_format) -> Option<Self> {
        Some(match raw {
            ffi::OPD_EXECUTABLE_ASSEMBLY => Self::Assembly,
            ffi::OPD_EXECUTABLE_PYTHON => Self::Python,
            ffi::OPD_EXECUTABLE_JSON => Self::Json,
            ffi::OPD_EXECUTABLE_STATS => Self::Stats,
            _ => return None,
        })
    }
}
/// The type of a metric. Append-only. TVM knows the first five. In TVM's forms, bytes are counts whose names end in
/// " (bytes)", and hertz are ratios whose names end in " (Hz)"; they are read back as bytes and hertz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum MetricKind {
    /// The row has no such metric.
    None = ffi::OPD_METRIC_NONE,
    /// An int.
    Count = ffi::OPD_METRIC_COUNT,
    /// A float, in microseconds.
    Duration = ffi::OPD_METRIC_DURATION,
    /// A float; 100 is the whole.
    Percent = ffi::OPD_METRIC_PERCENT,
    /// A float.
    Ratio = ffi::OPD_METRIC_RATIO,
    /// A string.
    String = ffi::OPD_METRIC_STRING,
    /// An int.
    Bytes = ffi::OPD_METRIC_BYTES,
    /// A float.
    Hertz = ffi::OPD_METRIC_HERTZ,
    /// A string: the JSON of a metric from a newer writer, kept unchanged.
    Json = ffi::OPD_METRIC_JSON,
}
impl MetricKind {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_metric_kind) -> Option<Self> {
        Some(match raw {
            ffi::OPD_METRIC_NONE => Self::None,
            ffi::OPD_METRIC_COUNT => Self::Count,
            ffi::OPD_METRIC_DURATION => Self::Duration,
            ffi::OPD_METRIC_PERCENT => Self::Percent,
            ffi::OPD_METRIC_RATIO => Self::Ratio,
            ffi::OPD_METRIC_STRING => Self::String,
            ffi::OPD_METRIC_BYTES => Self::Bytes,
            ffi::OPD_METRIC_HERTZ => Self::Hertz,
            ffi::OPD_METRIC_JSON => Self::Json,
            _ => return None,
        })
    }
}
/// A part of a report. Each is a table: rows of named metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum ReportSection {
    /// One row for each call, in program order.
    Calls = ffi::OPD_REPORT_CALLS,
    /// One row for each device. Its name, such as "cpu0", is the metric "Device".
    Devices = ffi::OPD_REPORT_DEVICES,
    /// One row.
    Configuration = ffi::OPD_REPORT_CONFIGURATION,
}
impl ReportSection {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_report_section) -> Option<Self> {
        Some(match raw {
            ffi::OPD_REPORT_CALLS => Self::Calls,
            ffi::OPD_REPORT_DEVICES => Self::Devices,
            ffi::OPD_REPORT_CONFIGURATION => Self::Configuration,
            _ => return None,
        })
    }
}
/// A form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum ReportFormat {
    /// One line of JSON with calls, device_metrics and configuration, as TVM writes it.
    Json = ffi::OPD_REPORT_JSON,
    /// The calls as comma-separated values.
    Csv = ffi::OPD_REPORT_CSV,
    /// A text table of the calls and devices, and the configuration.
    Table = ffi::OPD_REPORT_TABLE,
    /// The same rows as a Markdown table, and the configuration as a list.
    Markdown = ffi::OPD_REPORT_MARKDOWN,
    /// The same rows as an HTML page that needs no other file: a sortable table, the time of each
    /// operator as bars, and a roofline if the calls have "GFLOP/s" and "Arithmetic Intensity
    /// (FLOP/byte)" and the configuration has "Peak GFLOP/s" and "Peak Bandwidth (GB/s)".
    Html = ffi::OPD_REPORT_HTML,
}
impl ReportFormat {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_report_format) -> Option<Self> {
        Some(match raw {
            ffi::OPD_REPORT_JSON => Self::Json,
            ffi::OPD_REPORT_CSV => Self::Csv,
            ffi::OPD_REPORT_TABLE => Self::Table,
            ffi::OPD_REPORT_MARKDOWN => Self::Markdown,
            ffi::OPD_REPORT_HTML => Self::Html,
            _ => return None,
        })
    }
}
/// A built-in collector. Counters of threads cover the calling thread and each pool worker while it runs tasks of this
/// call, nested ones included. Concurrent calls do not see each other's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum CollectorKind {
    /// Columns "Wall time (us)", from CLOCK_MONOTONIC, and "CPU time (us)", the sum over all threads of the call. Takes
    /// no events.
    Time = ffi::OPD_COLLECTOR_TIME,
    /// The device's tensor memory: "Allocated (bytes)" and "Freed (bytes)" during the call, by any thread of the process,
    /// and "Peak (bytes)": the highest use during the call minus the use before it. A program keeps its memory between
    /// calls, so later calls do not allocate it again. Takes no options.
    Memory = ffi::OPD_COLLECTOR_MEMORY,
    /// The kernel's counters. All counters of a thread are in one group, so they count during the same time. If no events
    /// are named: cycles, instructions, cache-references, cache-misses, branch-misses. There are also task-clock (ns),
    /// page-faults, minor-faults, major-faults, context-switches, cpu-migrations. If the hardware counted an event only
    /// part of the time, it is scaled, and the configuration says so. Source: perf_event_open(2).
    Perf = ffi::OPD_COLLECTOR_PERF,
    /// PAPI's events, each in a column of its name. If no events are named, they are TVM's five: perf::CYCLES,
    /// perf::STALLED-CYCLES-FRONTEND, perf::STALLED-CYCLES-BACKEND, perf::INSTRUCTIONS, perf::CACHE-MISSES. The PAPI
    /// library is loaded at the first use. Events of components other than perf_event count the whole process. Source: TVM
    /// 0.23 PAPIMetricCollector; PAPI 7.
    Papi = ffi::OPD_COLLECTOR_PAPI,
    /// The energy that the whole processor used: "Energy of PACKAGE (uJ)" for each domain that the kernel offers. Takes
    /// no options. Source: Linux powercap, intel-rapl.
    Energy = ffi::OPD_COLLECTOR_ENERGY,
    /// Values of NVIDIA GPUs, read from NVML when the call ends. The columns have NVML's index of the GPU:
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
    Nvml = ffi::OPD_COLLECTOR_NVML,
    /// The device's own counters for the kernels in a call. On Vulkan, the counter is "Compute shader invocations": the
    /// number of threads of the kernels that the calling thread launched. On CUDA, the events are metrics of CUPTI's range
    /// profiler that end with ".sum", such as sm__inst_executed.sum. CUPTI limits their number to those that it can count
    /// in one run of a kernel. They count the whole device. The start and the end of a call wait for the device. Devices
    /// without counters have no columns, and the configuration says why. Since: 0.2. Source: Vulkan 1.3 - A Specification,
    /// VK_QUERY_TYPE_PIPELINE_STATISTICS; NVIDIA, CUPTI 12.6, Range Profiling API.
    Device = ffi::OPD_COLLECTOR_DEVICE,
}
impl CollectorKind {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_collector_kind) -> Option<Self> {
        Some(match raw {
            ffi::OPD_COLLECTOR_TIME => Self::Time,
            ffi::OPD_COLLECTOR_MEMORY => Self::Memory,
            ffi::OPD_COLLECTOR_PERF => Self::Perf,
            ffi::OPD_COLLECTOR_PAPI => Self::Papi,
            ffi::OPD_COLLECTOR_ENERGY => Self::Energy,
            ffi::OPD_COLLECTOR_NVML => Self::Nvml,
            ffi::OPD_COLLECTOR_DEVICE => Self::Device,
            _ => return None,
        })
    }
}
/// A format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum TraceFormat {
    /// Chrome trace events, as torch.profiler writes them.
    Chrome = ffi::OPD_TRACE_CHROME,
    /// A text table like torch.profiler's key_averages().table().
    Table = ffi::OPD_TRACE_TABLE,
    /// Stacks for flame graphs. A line has the names of spans, outermost first, joined by ';', and
    /// the self time of the innermost span in whole µs. See `per_event`.
    Stacks = ffi::OPD_TRACE_STACKS,
    /// JSON for speedscope.
    Speedscope = ffi::OPD_TRACE_SPEEDSCOPE,
    /// Perfetto's protocol buffers: a .pftrace file.
    Perfetto = ffi::OPD_TRACE_PERFETTO,
    /// A profile for pprof: protocol buffers, compressed by gzip.
    Pprof = ffi::OPD_TRACE_PPROF,
    /// A page for a browser, which needs no network: time line, flame graph, table of operators.
    /// Since: 0.2
    Html = ffi::OPD_TRACE_HTML,
    /// A flame graph: SVG without a script. The title of a box has its total time and self
    /// time. Since: 0.2
    FlameSvg = ffi::OPD_TRACE_FLAME_SVG,
    /// JSON: \[times, sizes\], of a trace with memory. Times are µs of Unix time. sizes\[i\] has 9 numbers of bytes. The
    /// first is 0. The others are the bytes in use from times\[i\] on, by category: parameter, optimizer state, input,
    /// temporary, activation, gradient, autograd detail, unknown. The first row is the memory that was in use before the
    /// recording.
    MemoryTimeline = ffi::OPD_TRACE_MEMORY_TIMELINE,
    /// JSON: a list of \[ns of Unix time, action, bytes, category\]. Actions: 1: existed before the recording, with the
    /// time -1; 2: allocated; 3: new contents, in two rows: negative bytes of the old category, then bytes of the new one;
    /// 4: freed, with negative bytes. Categories: 0 to 7, in the order above.
    MemoryTimelineRaw = ffi::OPD_TRACE_MEMORY_TIMELINE_RAW,
    /// A page that shows the memory timeline: one file that needs no network.
    MemoryTimelineHtml = ffi::OPD_TRACE_MEMORY_TIMELINE_HTML,
}
impl TraceFormat {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_trace_format) -> Option<Self> {
        Some(match raw {
            ffi::OPD_TRACE_CHROME => Self::Chrome,
            ffi::OPD_TRACE_TABLE => Self::Table,
            ffi::OPD_TRACE_STACKS => Self::Stacks,
            ffi::OPD_TRACE_SPEEDSCOPE => Self::Speedscope,
            ffi::OPD_TRACE_PERFETTO => Self::Perfetto,
            ffi::OPD_TRACE_PPROF => Self::Pprof,
            ffi::OPD_TRACE_HTML => Self::Html,
            ffi::OPD_TRACE_FLAME_SVG => Self::FlameSvg,
            ffi::OPD_TRACE_MEMORY_TIMELINE => Self::MemoryTimeline,
            ffi::OPD_TRACE_MEMORY_TIMELINE_RAW => Self::MemoryTimelineRaw,
            ffi::OPD_TRACE_MEMORY_TIMELINE_HTML => Self::MemoryTimelineHtml,
            _ => return None,
        })
    }
}
/// The rows of a report of a trace.
///
/// Views by part divide a trace into parts, so that `opd_report_diff()` can tell changes from noise. They have a row for
/// each name, or path, in a part, and a column "Run" with the number of the part, from 0. The parts are the steps of a
/// profiler's schedule, with the spans of all threads of the process during the step. If the trace has no steps, the
/// parts are the outermost runs of programs. If it has no runs, they are the outermost ranges, else the whole trace.
/// Spans outside of all parts are left out, and so are parts that had not ended when the recording did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum TraceView {
    /// One row for each span, in the order of their start times.
    Events = ffi::OPD_TRACE_EVENTS,
    /// One row for all spans of one name.
    KeyAverages = ffi::OPD_TRACE_KEY_AVERAGES,
    /// One row for all spans of one name and shapes.
    KeyAveragesByShape = ffi::OPD_TRACE_KEY_AVERAGES_BY_SHAPE,
    /// One row for each task of a parallel loop, in the order of the tasks' starts.
    Tasks = ffi::OPD_TRACE_TASKS,
    /// One row for all spans of one stack of names.
    Paths = ffi::OPD_TRACE_PATHS,
    /// One row for all spans of one name in a part of the trace.
    KeyAveragesByPart = ffi::OPD_TRACE_KEY_AVERAGES_BY_PART,
    /// One row for all spans of one stack of names in a part of the trace.
    PathsByPart = ffi::OPD_TRACE_PATHS_BY_PART,
}
impl TraceView {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_trace_view) -> Option<Self> {
        Some(match raw {
            ffi::OPD_TRACE_EVENTS => Self::Events,
            ffi::OPD_TRACE_KEY_AVERAGES => Self::KeyAverages,
            ffi::OPD_TRACE_KEY_AVERAGES_BY_SHAPE => Self::KeyAveragesByShape,
            ffi::OPD_TRACE_TASKS => Self::Tasks,
            ffi::OPD_TRACE_PATHS => Self::Paths,
            ffi::OPD_TRACE_KEY_AVERAGES_BY_PART => Self::KeyAveragesByPart,
            ffi::OPD_TRACE_PATHS_BY_PART => Self::PathsByPart,
            _ => return None,
        })
    }
}
/// Which events are dropped if the buffer is full. Append-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum ProfilerBuffer {
    /// The newest events.
    First = ffi::OPD_PROFILER_KEEP_FIRST,
    /// The oldest events of all threads: the buffer is a ring buffer.
    Last = ffi::OPD_PROFILER_KEEP_LAST,
}
impl ProfilerBuffer {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_profiler_buffer) -> Option<Self> {
        Some(match raw {
            ffi::OPD_PROFILER_KEEP_FIRST => Self::First,
            ffi::OPD_PROFILER_KEEP_LAST => Self::Last,
            _ => return None,
        })
    }
}
/// Actions of a profiler in a step. Append-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum ProfilerAction {
    /// Records nothing.
    None = ffi::OPD_PROFILER_NONE,
    /// Records nothing, but will record soon.
    Warmup = ffi::OPD_PROFILER_WARMUP,
    /// Records.
    Record = ffi::OPD_PROFILER_RECORD,
    /// Records, and ends the cycle with the step.
    RecordAndSave = ffi::OPD_PROFILER_RECORD_AND_SAVE,
}
impl ProfilerAction {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_profiler_action) -> Option<Self> {
        Some(match raw {
            ffi::OPD_PROFILER_NONE => Self::None,
            ffi::OPD_PROFILER_WARMUP => Self::Warmup,
            ffi::OPD_PROFILER_RECORD => Self::Record,
            ffi::OPD_PROFILER_RECORD_AND_SAVE => Self::RecordAndSave,
            _ => return None,
        })
    }
}
/// Return values of an instrument before a call. Source: TVM VMInstrumentReturnKind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum InstrumentAction {
    /// The call runs. It also runs after any other result.
    NoOp = ffi::OPD_INSTRUMENT_NO_OP,
    /// The call is skipped, its result is `OPD_NONE`, and the instrument is not called after
    /// it.
    SkipRun = ffi::OPD_INSTRUMENT_SKIP_RUN,
}
impl InstrumentAction {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_instrument_action) -> Option<Self> {
        Some(match raw {
            ffi::OPD_INSTRUMENT_NO_OP => Self::NoOp,
            ffi::OPD_INSTRUMENT_SKIP_RUN => Self::SkipRun,
            _ => return None,
        })
    }
}
/// Which calls a profile shows in addition to calls of kernels and of the program's own functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum ProfileBuiltins {
    /// Calls with a tensor among their arguments, as in TVM's profiler.
    WithTensors = ffi::OPD_BUILTINS_WITH_TENSORS,
    /// Every call.
    All = ffi::OPD_BUILTINS_ALL,
    /// Every call. Outermost calls of vm.builtin.* share one row, "(builtins)". Others count in
    /// the row of the function that made them.
    Folded = ffi::OPD_BUILTINS_FOLDED,
}
impl ProfileBuiltins {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_profile_builtins) -> Option<Self> {
        Some(match raw {
            ffi::OPD_BUILTINS_WITH_TENSORS => Self::WithTensors,
            ffi::OPD_BUILTINS_ALL => Self::All,
            ffi::OPD_BUILTINS_FOLDED => Self::Folded,
            _ => return None,
        })
    }
}
/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum TelemetryFormat {
    /// "text/plain; version=0.0.4; charset=utf-8".
    Prometheus = ffi::OPD_TELEMETRY_PROMETHEUS,
    /// "application/openmetrics-text; version=1.0.0; charset=utf-8".
    OpenMetrics = ffi::OPD_TELEMETRY_OPEN_METRICS,
}
impl TelemetryFormat {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_telemetry_format) -> Option<Self> {
        Some(match raw {
            ffi::OPD_TELEMETRY_PROMETHEUS => Self::Prometheus,
            ffi::OPD_TELEMETRY_OPEN_METRICS => Self::OpenMetrics,
            _ => return None,
        })
    }
}
/// Kinds of values that a program sets: kinds of metrics, and spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum TelemetryKind {
    /// A sum that only rises. In texts, its name ends in "_total".
    Counter = ffi::OPD_TELEMETRY_COUNTER,
    /// Any value.
    Gauge = ffi::OPD_TELEMETRY_GAUGE,
    /// Not a metric, but a span that has ended, for the collector.
    Span = ffi::OPD_TELEMETRY_SPAN,
}
impl TelemetryKind {
    /// None for a number that this version does not know.
    #[allow(dead_code)] // not all come back from C
    pub(crate) fn of(raw: ffi::opd_telemetry_kind) -> Option<Self> {
        Some(match raw {
            ffi::OPD_TELEMETRY_COUNTER => Self::Counter,
            ffi::OPD_TELEMETRY_GAUGE => Self::Gauge,
            ffi::OPD_TELEMETRY_SPAN => Self::Span,
            _ => return None,
        })
    }
}
/// Options of `opd_module_load()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModuleOptions<'a> {
    copy: Option<CopyPolicy>,
    format: Option<&'a str>,
    compiler: Option<&'a str>,
    c_flags: Option<&'a str>,
    cache_dir: Option<&'a Path>,
    inspect_only: Option<bool>,
    build_timeout: Option<Duration>,
}
impl<'a> ModuleOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// When a shared library is loaded from a private copy.
    /// Default: [`CopyPolicy::Always`].
    pub fn copy(self, copy: CopyPolicy) -> Self {
        Self { copy: Some(copy), ..self }
    }
    /// Format of the file: "so", "vmexec", "c", "o", "a" or "tar".
    /// Default: detected by content, then by suffix.
    pub fn format(self, format: &'a str) -> Self {
        Self { format: Some(format), ..self }
    }
    /// Compiler for C sources, which also links objects.
    /// Default: $CC, then cc.
    pub fn compiler(self, compiler: &'a str) -> Self {
        Self { compiler: Some(compiler), ..self }
    }
    /// Flags of the compiler, split at spaces.
    /// Default: "-O2".
    pub fn c_flags(self, c_flags: &'a str) -> Self {
        Self { c_flags: Some(c_flags), ..self }
    }
    /// Directory for compiled and linked files.
    /// Default: $OPDYNO_CACHE_DIR, $XDG_CACHE_HOME/opdyno, ~/.cache/opdyno.
    pub fn cache_dir(self, cache_dir: &'a (impl AsRef<Path> + ?Sized)) -> Self {
        Self { cache_dir: Some(cache_dir.as_ref()), ..self }
    }
    /// True: the file is read, but nothing of it runs (see `opd_module_load()`).
    /// Default: false.
    pub fn inspect_only(self, inspect_only: bool) -> Self {
        Self { inspect_only: Some(inspect_only), ..self }
    }
    /// Limit of the time that the compiler and linker take together. Then they are ended, and
    /// loading fails with `OPD_DEADLINE_EXCEEDED`.
    /// Default: zero (no limit).
    pub fn build_timeout(self, build_timeout: Duration) -> Self {
        Self { build_timeout: Some(build_timeout), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl ModuleOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_module_options> {
        let mut raw = ffi::opd_module_options::default();
        if let Some(copy) = self.copy {
            raw.copy = copy as _;
        }
        if let Some(format) = self.format {
            raw.format = kept.text(format)?;
        }
        if let Some(compiler) = self.compiler {
            raw.compiler = kept.text(compiler)?;
        }
        if let Some(c_flags) = self.c_flags {
            raw.c_flags = kept.text(c_flags)?;
        }
        if let Some(cache_dir) = self.cache_dir {
            raw.cache_dir = kept.path(cache_dir)?;
        }
        if let Some(inspect_only) = self.inspect_only {
            raw.inspect_only = inspect_only.into();
        }
        if let Some(build_timeout) = self.build_timeout {
            raw.build_timeout_ms = build_timeout.as_millis().max(1).try_into().unwrap_or(i32::MAX);
        }
        Ok(raw)
    }
}
/// Options of `opd_module_export()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions<'a> {
    addons: Option<&'a [&'a str]>,
    compiler: Option<&'a str>,
    c_flags: Option<&'a str>,
    workspace_dir: Option<&'a Path>,
}
impl<'a> ExportOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// Further object files, archives of object files and C sources, which are linked in. If
    /// no module of the tree has code, the root imports a module with their functions.
    /// Default: none.
    pub fn addons(self, addons: &'a [&'a str]) -> Self {
        Self { addons: Some(addons), ..self }
    }
    /// Compiler for C sources, which also links objects.
    /// Default: $CC, then cc.
    pub fn compiler(self, compiler: &'a str) -> Self {
        Self { compiler: Some(compiler), ..self }
    }
    /// Flags of the compiler, split at spaces.
    /// Default: "-O2".
    pub fn c_flags(self, c_flags: &'a str) -> Self {
        Self { c_flags: Some(c_flags), ..self }
    }
    /// Directory for intermediate files, which are kept.
    /// Default: a temporary directory that is removed.
    pub fn workspace_dir(self, workspace_dir: &'a (impl AsRef<Path> + ?Sized)) -> Self {
        Self { workspace_dir: Some(workspace_dir.as_ref()), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl ExportOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_export_options> {
        let mut raw = ffi::opd_export_options::default();
        if let Some(addons) = self.addons {
            raw.addons = kept.texts(addons.iter().copied())?;
            raw.num_addons = count_of(addons)?;
        }
        if let Some(compiler) = self.compiler {
            raw.compiler = kept.text(compiler)?;
        }
        if let Some(c_flags) = self.c_flags {
            raw.c_flags = kept.text(c_flags)?;
        }
        if let Some(workspace_dir) = self.workspace_dir {
            raw.workspace_dir = kept.path(workspace_dir)?;
        }
        Ok(raw)
    }
}
/// How a file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParamsOptions {
    copy: Option<bool>,
    prefetch: Option<bool>,
    verify_checksums: Option<bool>,
}
impl ParamsOptions {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// True: all tensors are copied at once, and the file is closed.
    /// Default: false.
    pub fn copy(self, copy: bool) -> Self {
        Self { copy: Some(copy), ..self }
    }
    /// True: asks the system to read the file ahead, without waiting for it.
    /// Default: false.
    pub fn prefetch(self, prefetch: bool) -> Self {
        Self { prefetch: Some(prefetch), ..self }
    }
    /// True: compares the checksums in the file (zip entries, shards), which reads all of it.
    /// Default: false.
    pub fn verify_checksums(self, verify_checksums: bool) -> Self {
        Self { verify_checksums: Some(verify_checksums), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl ParamsOptions {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_params_options> {
        let mut raw = ffi::opd_params_options::default();
        if let Some(copy) = self.copy {
            raw.copy = copy.into();
        }
        if let Some(prefetch) = self.prefetch {
            raw.prefetch = prefetch.into();
        }
        if let Some(verify_checksums) = self.verify_checksums {
            raw.verify_checksums = verify_checksums.into();
        }
        Ok(raw)
    }
}
/// Options of `opd_vm_create()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct VmOptions<'a> {
    devices: Option<&'a [Device]>,
    allocators: Option<&'a [AllocatorKind]>,
    memory_limit_bytes: Option<u64>,
    max_depth: Option<i32>,
}
impl<'a> VmOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// Programs name devices by their index in this list. Constants lie
    /// on the first device. If the last device is not a CPU, the host is added at the end.
    /// Default: cpu:0.
    pub fn devices(self, devices: &'a [Device]) -> Self {
        Self { devices: Some(devices), ..self }
    }
    /// Kind of allocator for each of `devices`.
    /// Default: pooled.
    pub fn allocators(self, allocators: &'a [AllocatorKind]) -> Self {
        Self { allocators: Some(allocators), ..self }
    }
    /// Limit of the live storages of one VM together.
    /// Default: 0 (the memory of the cgroup or machine).
    pub fn memory_limit_bytes(self, memory_limit_bytes: u64) -> Self {
        Self { memory_limit_bytes: Some(memory_limit_bytes), ..self }
    }
    /// Limit of nested program calls.
    /// Default: 1000.
    pub fn max_depth(self, max_depth: i32) -> Self {
        Self { max_depth: Some(max_depth), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl VmOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_vm_options> {
        let mut raw = ffi::opd_vm_options::default();
        if let Some(devices) = self.devices {
            raw.devices = devices.as_ptr().cast();
            raw.num_devices = count_of(devices)?;
        }
        if let Some(allocators) = self.allocators {
            raw.allocators = allocators.as_ptr().cast();
            check_count("allocators", allocators.len(), self.devices.map_or(0, <[_]>::len).max(1))?;
        }
        if let Some(memory_limit_bytes) = self.memory_limit_bytes {
            raw.memory_limit_bytes = memory_limit_bytes;
        }
        if let Some(max_depth) = self.max_depth {
            raw.max_depth = max_depth;
        }
        Ok(raw)
    }
}
/// Options of one call.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions<'a> {
    names: Option<&'a [Option<&'a str>]>,
    timeout: Option<Duration>,
    cancel: Option<&'a CancelToken>,
    param_module: Option<&'a Module>,
}
impl<'a> CallOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// A parameter name for each of `args`, with `None` for positional ones.
    /// Default: all are positional.
    pub fn names(self, names: &'a [Option<&'a str>]) -> Self {
        Self { names: Some(names), ..self }
    }
    /// Limit of time from the beginning of the call. It is checked at calls, at backward jumps, and
    /// where a kernel starts parallel tasks. A running task is not interrupted.
    /// Default: zero (no limit).
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }
    /// Token that cancels the call. The thread's default token cancels it, too.
    /// Default: only the default token.
    pub fn cancel(self, cancel: &'a CancelToken) -> Self {
        Self { cancel: Some(cancel), ..self }
    }
    /// For `opd_vm_set_input()` only: the result of its function `get_params` is the
    /// last argument.
    /// Default: none.
    pub fn param_module(self, param_module: &'a Module) -> Self {
        Self { param_module: Some(param_module), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl CallOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_call_options> {
        let mut raw = ffi::opd_call_options::default();
        if let Some(names) = self.names {
            raw.names = kept.texts(names.iter().copied())?;
            check_count("names", names.len(), num_args)?;
        }
        if let Some(timeout) = self.timeout {
            raw.timeout_ns = timeout.as_nanos().max(1).try_into().unwrap_or(i64::MAX);
        }
        if let Some(cancel) = self.cancel {
            raw.cancel = cancel.as_ptr();
        }
        if let Some(param_module) = self.param_module {
            raw.param_module = param_module.as_ptr();
        }
        Ok(raw)
    }
}
/// Options of `opd_vm_profile()` and `opd_vm_profile_start()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProfileOptions<'a> {
    warmup: Option<i32>,
    repeat: Option<i32>,
    max_records: Option<u64>,
    builtins: Option<ProfileBuiltins>,
    details: Option<bool>,
    sample_interval: Option<u64>,
    collectors: Option<&'a [&'a Collector]>,
    turn: Option<i32>,
    budget_s: Option<f64>,
}
impl<'a> ProfileOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// Number of calls before the measured calls, as in TVM.
    /// Default: 1.
    pub fn warmup(self, warmup: i32) -> Self {
        Self { warmup: Some(warmup), ..self }
    }
    /// Number of measured calls.
    /// Default: 1.
    pub fn repeat(self, repeat: i32) -> Self {
        Self { repeat: Some(repeat), ..self }
    }
    /// Limit of calls that are kept for each thread. Later calls are counted and dropped.
    /// Default: 2^20.
    pub fn max_records(self, max_records: u64) -> Self {
        Self { max_records: Some(max_records), ..self }
    }
    /// Which calls have rows, in addition to kernels and functions.
    /// Default: [`ProfileBuiltins::WithTensors`].
    pub fn builtins(self, builtins: ProfileBuiltins) -> Self {
        Self { builtins: Some(builtins), ..self }
    }
    /// True: adds columns Start (us), Self (us), Run, Thread, Tensors (bytes), Call Path.
    /// Default: false.
    pub fn details(self, details: bool) -> Self {
        Self { details: Some(details), ..self }
    }
    /// For `opd_vm_profile_start()`: one call in this number of calls is recorded.
    /// Default: 1.
    pub fn sample_interval(self, sample_interval: u64) -> Self {
        Self { sample_interval: Some(sample_interval), ..self }
    }
    /// Collectors, which run around every call, see
    /// collector.h.
    /// Default: none.
    pub fn collectors(self, collectors: &'a [&'a Collector]) -> Self {
        Self { collectors: Some(collectors), ..self }
    }
    /// Turn of this run, from 1. `opd_report_diff()` compares it with the run of the same turn on the other
    /// side.
    /// Default: 0 (no turn).
    pub fn turn(self, turn: i32) -> Self {
        Self { turn: Some(turn), ..self }
    }
    /// Above 0: after `repeat` calls, further calls are made until the slowest operator and its share
    /// are stable. Time limit of the measured calls, in seconds. The warm-up is repeated for 50 ms, or
    /// a quarter of this limit.
    /// Default: 0 (exactly `repeat` calls).
    pub fn budget_s(self, budget_s: f64) -> Self {
        Self { budget_s: Some(budget_s), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl ProfileOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_profile_options> {
        let mut raw = ffi::opd_profile_options::default();
        if let Some(warmup) = self.warmup {
            raw.warmup = warmup;
        }
        if let Some(repeat) = self.repeat {
            raw.repeat = repeat;
        }
        if let Some(max_records) = self.max_records {
            raw.max_records = max_records;
        }
        if let Some(builtins) = self.builtins {
            raw.builtins = builtins as _;
        }
        if let Some(details) = self.details {
            raw.details = details.into();
        }
        if let Some(sample_interval) = self.sample_interval {
            raw.sample_interval = sample_interval;
        }
        if let Some(collectors) = self.collectors {
            raw.collectors = kept.handles(collectors.iter().map(|each| each.as_ptr()));
            raw.num_collectors = count_of(collectors)?;
        }
        if let Some(turn) = self.turn {
            raw.turn = turn;
        }
        if let Some(budget_s) = self.budget_s {
            raw.budget_s = budget_s;
        }
        Ok(raw)
    }
}
/// Options of `opd_profiler_create()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProfilerOptions<'a> {
    all_calls: Option<bool>,
    max_events: Option<u64>,
    wait: Option<u64>,
    warmup: Option<u64>,
    active: Option<u64>,
    repeat: Option<u64>,
    skip_first: Option<u64>,
    skip_first_wait: Option<bool>,
    profile_memory: Option<bool>,
    with_stack: Option<bool>,
    parallel_tasks: Option<bool>,
    buffer: Option<ProfilerBuffer>,
    keep_in_file: Option<bool>,
    max_bytes: Option<u64>,
    file: Option<&'a Path>,
    last: Option<Duration>,
    flush_interval: Option<Duration>,
    device_work: Option<i32>,
}
impl<'a> ProfilerOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// True: also records calls without a tensor among their arguments.
    /// Default: false.
    pub fn all_calls(self, all_calls: bool) -> Self {
        Self { all_calls: Some(all_calls), ..self }
    }
    /// Limit of events of each thread, calls and ranges together. Further events are counted as
    /// dropped. The limit does not apply to a ring buffer or a file.
    /// Default: 2^20.
    pub fn max_events(self, max_events: u64) -> Self {
        Self { max_events: Some(max_events), ..self }
    }
    /// Steps at the start of a cycle that are not recorded. `opd_profiler_step()` ends a step. A schedule begins with
    /// `skip_first` steps that are not recorded. Then cycles follow: each has `wait` and `warmup` steps that are not
    /// recorded, then `active` steps that are.
    /// Default: 0.
    pub fn wait(self, wait: u64) -> Self {
        Self { wait: Some(wait), ..self }
    }
    /// Steps of a cycle after `wait`, which are not recorded.
    /// Default: 0.
    pub fn warmup(self, warmup: u64) -> Self {
        Self { warmup: Some(warmup), ..self }
    }
    /// Recorded steps of a cycle. 0: no schedule; everything is recorded.
    /// Default: 0.
    pub fn active(self, active: u64) -> Self {
        Self { active: Some(active), ..self }
    }
    /// Number of cycles.
    /// Default: 0 (no limit).
    pub fn repeat(self, repeat: u64) -> Self {
        Self { repeat: Some(repeat), ..self }
    }
    /// Steps before the first cycle.
    /// Default: 0.
    pub fn skip_first(self, skip_first: u64) -> Self {
        Self { skip_first: Some(skip_first), ..self }
    }
    /// True: the first cycle does not wait.
    /// Default: false.
    pub fn skip_first_wait(self, skip_first_wait: bool) -> Self {
        Self { skip_first_wait: Some(skip_first_wait), ..self }
    }
    /// True: also records memory, on all threads. An event is recorded when a block for tensors and
    /// kernels is allocated, when it is freed, and when the library gives it new contents.
    /// Default: false.
    pub fn profile_memory(self, profile_memory: bool) -> Self {
        Self { profile_memory: Some(profile_memory), ..self }
    }
    /// True: also records the host's call stack when a run of a program, a range or a mark begins.
    /// Default: false.
    pub fn with_stack(self, with_stack: bool) -> Self {
        Self { with_stack: Some(with_stack), ..self }
    }
    /// True: also records each task of a parallel loop, on the thread that runs it; false: records no
    /// tasks.
    /// Default: true.
    pub fn parallel_tasks(self, parallel_tasks: bool) -> Self {
        Self { parallel_tasks: Some(parallel_tasks), ..self }
    }
    /// Which events are dropped beyond `max_bytes`. They are counted.
    /// Default: [`ProfilerBuffer::First`].
    pub fn buffer(self, buffer: ProfilerBuffer) -> Self {
        Self { buffer: Some(buffer), ..self }
    }
    /// True: `opd_profiler_stop()` and `opd_profiler_step()` do not read the file, so they give no trace.
    /// Reading a file of some GiB takes as much memory.
    /// Default: false.
    pub fn keep_in_file(self, keep_in_file: bool) -> Self {
        Self { keep_in_file: Some(keep_in_file), ..self }
    }
    /// Limit for the events of all threads together: of their memory, or of the file's size. Events are kept in blocks of
    /// 64 KiB, at least one for each thread. FILE.live, which has one block for each thread, is not included, nor are
    /// names and counts. 0: no limit, but 64 MiB for a ring buffer.
    /// Default: 0.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes: Some(max_bytes), ..self }
    }
    /// Path of a file. Events are written to it, not to memory, while they are recorded. `opd_trace_load()` reads
    /// it. If the process is killed, the events that it published are in FILE and FILE.live. The next recording into FILE
    /// renames these to FILE.crashed and FILE.crashed.live. Each recording of a schedule rewrites the file.
    /// Default: events stay in memory.
    pub fn file(self, file: &'a (impl AsRef<Path> + ?Sized)) -> Self {
        Self { file: Some(file.as_ref()), ..self }
    }
    /// Age limit of events: a trace leaves out events that ended earlier than this before it is made.
    /// Default: zero (no limit).
    pub fn last(self, last: Duration) -> Self {
        Self { last: Some(last), ..self }
    }
    /// Interval at which a thread of the library syncs the file to the disk; at most a day. If the machine loses power,
    /// the files have all events from before the last sync but one; docs/tracing.md has the exception. 0: the system
    /// decides when, often after 30 s. A killed process loses nothing in either case.
    /// Default: zero.
    pub fn flush_interval(self, flush_interval: Duration) -> Self {
        Self { flush_interval: Some(flush_interval), ..self }
    }
    /// 1: also records kernels and copies on devices other than the CPU. Their times are the device's, converted to the
    /// trace's clock. They are listed under the host thread that submitted them. If a driver reports no times, its devices
    /// have no such events. 0: records no work of devices. 2: the devices' own libraries report the work: NVIDIA's CUPTI
    /// that of CUDA devices, and plug-ins with `set_activity` that of theirs. It includes work of other code in the process,
    /// memory fills, and the overhead of the driver and of CUPTI. Only one program can use CUPTI in a process at a time.
    /// Default: 1.
    pub fn device_work(self, device_work: i32) -> Self {
        Self { device_work: Some(device_work), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl ProfilerOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_profiler_options> {
        let mut raw = ffi::opd_profiler_options::default();
        if let Some(all_calls) = self.all_calls {
            raw.all_calls = all_calls.into();
        }
        if let Some(max_events) = self.max_events {
            raw.max_events = max_events;
        }
        if let Some(wait) = self.wait {
            raw.wait = wait;
        }
        if let Some(warmup) = self.warmup {
            raw.warmup = warmup;
        }
        if let Some(active) = self.active {
            raw.active = active;
        }
        if let Some(repeat) = self.repeat {
            raw.repeat = repeat;
        }
        if let Some(skip_first) = self.skip_first {
            raw.skip_first = skip_first;
        }
        if let Some(skip_first_wait) = self.skip_first_wait {
            raw.skip_first_wait = skip_first_wait.into();
        }
        if let Some(profile_memory) = self.profile_memory {
            raw.profile_memory = profile_memory.into();
        }
        if let Some(with_stack) = self.with_stack {
            raw.with_stack = with_stack.into();
        }
        if let Some(parallel_tasks) = self.parallel_tasks {
            raw.parallel_tasks = parallel_tasks.into();
        }
        if let Some(buffer) = self.buffer {
            raw.buffer = buffer as _;
        }
        if let Some(keep_in_file) = self.keep_in_file {
            raw.keep_in_file = keep_in_file.into();
        }
        if let Some(max_bytes) = self.max_bytes {
            raw.max_bytes = max_bytes;
        }
        if let Some(file) = self.file {
            raw.file = kept.path(file)?;
        }
        if let Some(last) = self.last {
            raw.last_ns = last.as_nanos().try_into().unwrap_or(u64::MAX);
        }
        if let Some(flush_interval) = self.flush_interval {
            raw.flush_interval_ns = flush_interval.as_nanos().try_into().unwrap_or(u64::MAX);
        }
        if let Some(device_work) = self.device_work {
            raw.device_work = device_work;
        }
        Ok(raw)
    }
}
/// When a profiler writes a dump of its events. With a ring buffer (`OPD_PROFILER_KEEP_LAST`) it can record all the time,
/// and a dump shows the events before a rare event.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProfilerDumpOptions<'a> {
    format: Option<TraceFormat>,
    path: Option<&'a Path>,
    signal: Option<i32>,
    on_error: Option<bool>,
    slow: Option<Duration>,
    min_interval: Option<Duration>,
    max_dumps: Option<u64>,
}
impl<'a> ProfilerDumpOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// Format of the dumps.
    /// Default: [`TraceFormat::Chrome`].
    pub fn format(self, format: TraceFormat) -> Self {
        Self { format: Some(format), ..self }
    }
    /// Path of each dump. "%p" is the number of the process, "%n" the number of the dump, from 1; "%%" is "%".
    /// An existing file is replaced. If the path ends in ".gz", files are compressed by gzip. Required.
    /// Default: none.
    pub fn path(self, path: &'a (impl AsRef<Path> + ?Sized)) -> Self {
        Self { path: Some(path.as_ref()), ..self }
    }
    /// Signal that triggers a dump, such as SIGUSR2.
    /// Default: 0 (none).
    pub fn signal(self, signal: i32) -> Self {
        Self { signal: Some(signal), ..self }
    }
    /// True: a run of a program that fails triggers a dump.
    /// Default: false.
    pub fn on_error(self, on_error: bool) -> Self {
        Self { on_error: Some(on_error), ..self }
    }
    /// A range or a run of a program that takes at least this time triggers a dump when it ends.
    /// Default: zero (none does).
    pub fn slow(self, slow: Duration) -> Self {
        Self { slow: Some(slow), ..self }
    }
    /// Least time from a dump for an error or a slow span to the next one.
    /// Default: 10^10.
    pub fn min_interval(self, min_interval: Duration) -> Self {
        Self { min_interval: Some(min_interval), ..self }
    }
    /// Limit of dumps for errors and slow spans in each recording.
    /// Default: 100.
    pub fn max_dumps(self, max_dumps: u64) -> Self {
        Self { max_dumps: Some(max_dumps), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl ProfilerDumpOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_profiler_dump_options> {
        let mut raw = ffi::opd_profiler_dump_options::default();
        if let Some(format) = self.format {
            raw.format = format as _;
        }
        if let Some(path) = self.path {
            raw.path = kept.path(path)?;
        }
        if let Some(signal) = self.signal {
            raw.signal = signal;
        }
        if let Some(on_error) = self.on_error {
            raw.on_error = on_error.into();
        }
        if let Some(slow) = self.slow {
            raw.slow_ns = slow.as_nanos().try_into().unwrap_or(u64::MAX);
        }
        if let Some(min_interval) = self.min_interval {
            raw.min_interval_ns = min_interval.as_nanos().try_into().unwrap_or(u64::MAX);
        }
        if let Some(max_dumps) = self.max_dumps {
            raw.max_dumps = max_dumps;
        }
        Ok(raw)
    }
}
/// Options of `opd_trace_write()`. The fields from `group_by_input_shape` to `time_unit` are for `OPD_TRACE_TABLE`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceWriteOptions<'a> {
    per_event: Option<bool>,
    metric: Option<&'a str>,
    metadata: Option<&'a str>,
    group_by_input_shape: Option<bool>,
    with_flops: Option<bool>,
    sort_by: Option<&'a str>,
    row_limit: Option<i32>,
    top_level_events_only: Option<bool>,
    max_name_column_width: Option<i32>,
    max_shapes_column_width: Option<i32>,
    header: Option<&'a str>,
    time_unit: Option<&'a str>,
    device: Option<&'a str>,
    group_by_stack_n: Option<i32>,
    max_src_column_width: Option<i32>,
    before: Option<&'a Trace>,
}
impl<'a> TraceWriteOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// For `OPD_TRACE_STACKS`: true: one line for each span, its µs rounded down; false: one line for each
    /// stack, its µs rounded up. In both, lines of 0 µs are left out. For `OPD_TRACE_TABLE`: true: one
    /// line for each span; false: one line for each name.
    /// Default: false.
    pub fn per_event(self, per_event: bool) -> Self {
        Self { per_event: Some(per_event), ..self }
    }
    /// For `OPD_TRACE_STACKS`: "self_cpu_time_total" is the self time on the host,
    /// "self_cuda_time_total" that on other devices.
    /// Default: "self_cpu_time_total".
    pub fn metric(self, metric: &'a str) -> Self {
        Self { metric: Some(metric), ..self }
    }
    /// For `OPD_TRACE_CHROME`: a JSON object whose members become members of the file.
    /// Default: none.
    pub fn metadata(self, metadata: &'a str) -> Self {
        Self { metadata: Some(metadata), ..self }
    }
    /// True: spans of different shapes have separate rows.
    /// Default: false.
    pub fn group_by_input_shape(self, group_by_input_shape: bool) -> Self {
        Self { group_by_input_shape: Some(group_by_input_shape), ..self }
    }
    /// True: adds a column of floating-point operations, where they are known.
    /// Default: false.
    pub fn with_flops(self, with_flops: bool) -> Self {
        Self { with_flops: Some(with_flops), ..self }
    }
    /// Column that sorts the rows, the largest first: "count", "flops", "key",
    /// "self_cpu_time_total", "cpu_time_total", "cpu_time", "cpu_memory_usage" or
    /// "self_cpu_memory_usage"; the last five also with "cuda" or "device" for "cpu".
    /// Default: rows are in the order of the first begins.
    pub fn sort_by(self, sort_by: &'a str) -> Self {
        Self { sort_by: Some(sort_by), ..self }
    }
    /// Limit of rows. -1: all rows.
    /// Default: 100.
    pub fn row_limit(self, row_limit: i32) -> Self {
        Self { row_limit: Some(row_limit), ..self }
    }
    /// True: only spans that no other span contains.
    /// Default: false.
    pub fn top_level_events_only(self, top_level_events_only: bool) -> Self {
        Self { top_level_events_only: Some(top_level_events_only), ..self }
    }
    /// Limit of the name column, in characters.
    /// Default: 55.
    pub fn max_name_column_width(self, max_name_column_width: i32) -> Self {
        Self { max_name_column_width: Some(max_name_column_width), ..self }
    }
    /// Limit of the shapes column, in characters.
    /// Default: 80.
    pub fn max_shapes_column_width(self, max_shapes_column_width: i32) -> Self {
        Self { max_shapes_column_width: Some(max_shapes_column_width), ..self }
    }
    /// Line above the table.
    /// Default: none.
    pub fn header(self, header: &'a str) -> Self {
        Self { header: Some(header), ..self }
    }
    /// Unit of times: "s", "ms" or "us".
    /// Default: each time has the unit that suits it.
    pub fn time_unit(self, time_unit: &'a str) -> Self {
        Self { time_unit: Some(time_unit), ..self }
    }
    /// Device of memory timelines, such as "cuda:0".
    /// Default: a device other than the host if the trace has memory of one, else the host.
    pub fn device(self, device: &'a str) -> Self {
        Self { device: Some(device), ..self }
    }
    /// For `OPD_TRACE_TABLE` and `opd_trace_to_report()`: spans share a row only if this number of
    /// the host's functions are equal, from the innermost on. Needs a trace with stacks.
    /// Default: 0.
    pub fn group_by_stack_n(self, group_by_stack_n: i32) -> Self {
        Self { group_by_stack_n: Some(group_by_stack_n), ..self }
    }
    /// For `OPD_TRACE_TABLE`: limit of the column of sources, in characters.
    /// Default: 75.
    pub fn max_src_column_width(self, max_src_column_width: i32) -> Self {
        Self { max_src_column_width: Some(max_src_column_width), ..self }
    }
    /// For `OPD_TRACE_FLAME_SVG`: an earlier trace. The picture then compares both. The width of a box is the
    /// mean of its times in a part of either trace; `opd_trace_view` says what the parts are. Its colour shows how much its
    /// self time changed. The host's functions are not shown.
    /// Default: none.
    pub fn before(self, before: &'a Trace) -> Self {
        Self { before: Some(before), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl TraceWriteOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_trace_write_options> {
        let mut raw = ffi::opd_trace_write_options::default();
        if let Some(per_event) = self.per_event {
            raw.per_event = per_event.into();
        }
        if let Some(metric) = self.metric {
            raw.metric = kept.text(metric)?;
        }
        if let Some(metadata) = self.metadata {
            raw.metadata = kept.text(metadata)?;
        }
        if let Some(group_by_input_shape) = self.group_by_input_shape {
            raw.group_by_input_shape = group_by_input_shape.into();
        }
        if let Some(with_flops) = self.with_flops {
            raw.with_flops = with_flops.into();
        }
        if let Some(sort_by) = self.sort_by {
            raw.sort_by = kept.text(sort_by)?;
        }
        if let Some(row_limit) = self.row_limit {
            raw.row_limit = row_limit;
        }
        if let Some(top_level_events_only) = self.top_level_events_only {
            raw.top_level_events_only = top_level_events_only.into();
        }
        if let Some(max_name_column_width) = self.max_name_column_width {
            raw.max_name_column_width = max_name_column_width;
        }
        if let Some(max_shapes_column_width) = self.max_shapes_column_width {
            raw.max_shapes_column_width = max_shapes_column_width;
        }
        if let Some(header) = self.header {
            raw.header = kept.text(header)?;
        }
        if let Some(time_unit) = self.time_unit {
            raw.time_unit = kept.text(time_unit)?;
        }
        if let Some(device) = self.device {
            raw.device = kept.text(device)?;
        }
        if let Some(group_by_stack_n) = self.group_by_stack_n {
            raw.group_by_stack_n = group_by_stack_n;
        }
        if let Some(max_src_column_width) = self.max_src_column_width {
            raw.max_src_column_width = max_src_column_width;
        }
        if let Some(before) = self.before {
            raw.before = before.as_ptr();
        }
        Ok(raw)
    }
}
/// How traces are joined. Each list is empty, or has one item for each trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceMergeOptions<'a> {
    labels: Option<&'a [&'a str]>,
    offsets_ns: Option<&'a [i64]>,
    clock_errors_ns: Option<&'a [i64]>,
}
impl<'a> TraceMergeOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// Distinct names for the processes, such as "rank 0". "": the process keeps its own name.
    /// Default: all keep their names.
    pub fn labels(self, labels: &'a [&'a str]) -> Self {
        Self { labels: Some(labels), ..self }
    }
    /// Offsets that are added to the times of each trace.
    /// Default: none.
    pub fn offsets_ns(self, offsets_ns: &'a [i64]) -> Self {
        Self { offsets_ns: Some(offsets_ns), ..self }
    }
    /// The error of each clock, to be shown. -1: the error that the system
    /// stated.
    /// Default: -1 for all.
    pub fn clock_errors_ns(self, clock_errors_ns: &'a [i64]) -> Self {
        Self { clock_errors_ns: Some(clock_errors_ns), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl TraceMergeOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_trace_merge_options> {
        let mut raw = ffi::opd_trace_merge_options::default();
        if let Some(labels) = self.labels {
            raw.labels = kept.texts(labels.iter().copied())?;
            raw.num_labels = count_of(labels)?;
        }
        if let Some(offsets_ns) = self.offsets_ns {
            raw.offsets_ns = offsets_ns.as_ptr().cast();
            raw.num_offsets_ns = count_of(offsets_ns)?;
        }
        if let Some(clock_errors_ns) = self.clock_errors_ns {
            raw.clock_errors_ns = clock_errors_ns.as_ptr().cast();
            raw.num_clock_errors_ns = count_of(clock_errors_ns)?;
        }
        Ok(raw)
    }
}
/// Options of `opd_report_write()`, for `OPD_REPORT_TABLE`, `OPD_REPORT_MARKDOWN` and `OPD_REPORT_HTML`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportWriteOptions {
    sort: Option<bool>,
    aggregate: Option<bool>,
    col_sums: Option<bool>,
    width: Option<i32>,
    max_rows: Option<i32>,
    colored: Option<bool>,
}
impl ReportWriteOptions {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// True: rows are sorted by descending duration; false: rows are in program order.
    /// Default: true.
    pub fn sort(self, sort: bool) -> Self {
        Self { sort: Some(sort), ..self }
    }
    /// True: calls of one operator with equal shapes on one device make one row.
    /// Default: true.
    pub fn aggregate(self, aggregate: bool) -> Self {
        Self { aggregate: Some(aggregate), ..self }
    }
    /// True: adds a row of sums.
    /// Default: true.
    pub fn col_sums(self, col_sums: bool) -> Self {
        Self { col_sums: Some(col_sums), ..self }
    }
    /// Width of `OPD_REPORT_TABLE`. 0: all columns, as wide as needed, as TVM writes them. At least 40: a summary in lines
    /// of at most this number of characters: the slowest operators, times with units, and a sentence on what would help. A
    /// summary is for people and cannot be read back.
    /// Default: 0.
    pub fn width(self, width: i32) -> Self {
        Self { width: Some(width), ..self }
    }
    /// Limit of rows of operators in a summary.
    /// Default: 0 (all).
    pub fn max_rows(self, max_rows: i32) -> Self {
        Self { max_rows: Some(max_rows), ..self }
    }
    /// True: a summary has bars and the colours of a terminal (ECMA-48).
    /// Default: false.
    pub fn colored(self, colored: bool) -> Self {
        Self { colored: Some(colored), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl ReportWriteOptions {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_report_write_options> {
        let mut raw = ffi::opd_report_write_options::default();
        if let Some(sort) = self.sort {
            raw.sort = sort.into();
        }
        if let Some(aggregate) = self.aggregate {
            raw.aggregate = aggregate.into();
        }
        if let Some(col_sums) = self.col_sums {
            raw.col_sums = col_sums.into();
        }
        if let Some(width) = self.width {
            raw.width = width;
        }
        if let Some(max_rows) = self.max_rows {
            raw.max_rows = max_rows;
        }
        if let Some(colored) = self.colored {
            raw.colored = colored.into();
        }
        Ok(raw)
    }
}
/// How to measure. The names and defaults are those of TVM's time_evaluator.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvaluatorOptions<'a> {
    device: Option<Device>,
    number: Option<i32>,
    repeat: Option<i32>,
    limit_zero_time_iterations: Option<i32>,
    repeats_to_cooldown: Option<i32>,
    warmup: Option<i32>,
    concurrency: Option<i32>,
    min_repeat: Option<Duration>,
    cooldown_interval: Option<Duration>,
    steady: Option<Duration>,
    cache_flush_bytes: Option<i64>,
    preprocess: Option<&'a Function>,
}
impl<'a> EvaluatorOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// Device that is synchronised before the clock is read. If the device has events or timestamps,
    /// its own clock measures, in the current stream of each thread.
    /// Default: cpu:0.
    pub fn device(self, device: Device) -> Self {
        Self { device: Some(device), ..self }
    }
    /// Calls in each repeat.
    /// Default: 10.
    pub fn number(self, number: i32) -> Self {
        Self { number: Some(number), ..self }
    }
    /// Number of repeats, each of which is one measurement.
    /// Default: 1.
    pub fn repeat(self, repeat: i32) -> Self {
        Self { repeat: Some(repeat), ..self }
    }
    /// Limit of attempts at a repeat whose time is 0.
    /// Default: 100.
    pub fn limit_zero_time_iterations(self, limit_zero_time_iterations: i32) -> Self {
        Self { limit_zero_time_iterations: Some(limit_zero_time_iterations), ..self }
    }
    /// Number of repeats between two pauses.
    /// Default: 1.
    pub fn repeats_to_cooldown(self, repeats_to_cooldown: i32) -> Self {
        Self { repeats_to_cooldown: Some(repeats_to_cooldown), ..self }
    }
    /// Calls of each thread before the measured calls.
    /// Default: 1.
    pub fn warmup(self, warmup: i32) -> Self {
        Self { warmup: Some(warmup), ..self }
    }
    /// Number of threads that call at the same time. They begin each repeat together. 1: only the
    /// calling thread. More threads exclude `cache_flush_bytes`.
    /// Default: 1.
    pub fn concurrency(self, concurrency: i32) -> Self {
        Self { concurrency: Some(concurrency), ..self }
    }
    /// Least duration of a repeat. A shorter repeat is made again with more calls.
    /// Default: zero.
    pub fn min_repeat(self, min_repeat: Duration) -> Self {
        Self { min_repeat: Some(min_repeat), ..self }
    }
    /// Duration of a pause between repeats.
    /// Default: zero (no pause).
    pub fn cooldown_interval(self, cooldown_interval: Duration) -> Self {
        Self { cooldown_interval: Some(cooldown_interval), ..self }
    }
    /// Limit of the time for further warm-up calls. They end once their times are steady. A running call is not
    /// interrupted. Times are compared in windows of ten batches. A batch is 1 ms of calls, or one longer call. Times are
    /// steady if two consecutive windows show no significant difference (Mann-Whitney test, 5 %), or a difference of at
    /// most 1 %. Source: Georges, Buytaert, Eeckhout: Statistically Rigorous Java Performance Evaluation (windows of calls
    /// that agree).
    /// Default: zero (no further calls).
    pub fn steady(self, steady: Duration) -> Self {
        Self { steady: Some(steady), ..self }
    }
    /// Bytes that are copied between two arrays before each measurement, to flush the caches.
    /// Default: 0 (none).
    pub fn cache_flush_bytes(self, cache_flush_bytes: i64) -> Self {
        Self { cache_flush_bytes: Some(cache_flush_bytes), ..self }
    }
    /// Function that is called with the arguments before each repeat.
    /// Default: none.
    pub fn preprocess(self, preprocess: &'a Function) -> Self {
        Self { preprocess: Some(preprocess), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl EvaluatorOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_evaluator_options> {
        let mut raw = ffi::opd_evaluator_options::default();
        if let Some(device) = self.device {
            raw.device = device.into();
        }
        if let Some(number) = self.number {
            raw.number = number;
        }
        if let Some(repeat) = self.repeat {
            raw.repeat = repeat;
        }
        if let Some(limit_zero_time_iterations) = self.limit_zero_time_iterations {
            raw.limit_zero_time_iterations = limit_zero_time_iterations;
        }
        if let Some(repeats_to_cooldown) = self.repeats_to_cooldown {
            raw.repeats_to_cooldown = repeats_to_cooldown;
        }
        if let Some(warmup) = self.warmup {
            raw.warmup = warmup;
        }
        if let Some(concurrency) = self.concurrency {
            raw.concurrency = concurrency;
        }
        if let Some(min_repeat) = self.min_repeat {
            raw.min_repeat_ms = min_repeat.as_millis().try_into().unwrap_or(i64::MAX);
        }
        if let Some(cooldown_interval) = self.cooldown_interval {
            raw.cooldown_interval_ms = cooldown_interval.as_millis().try_into().unwrap_or(i64::MAX);
        }
        if let Some(steady) = self.steady {
            raw.steady_ms = steady.as_millis().try_into().unwrap_or(i64::MAX);
        }
        if let Some(cache_flush_bytes) = self.cache_flush_bytes {
            raw.cache_flush_bytes = cache_flush_bytes;
        }
        if let Some(preprocess) = self.preprocess {
            raw.preprocess = preprocess.as_ptr();
        }
        Ok(raw)
    }
}
/// How two programs are compared. Two numbers agree if |a - b| \<= atol + rtol * |a|.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompareOptions<'a> {
    repeat: Option<i32>,
    rtol: Option<&'a str>,
    atol: Option<&'a str>,
    keep_bytes: Option<u64>,
    save_directory: Option<&'a str>,
    timeout: Option<Duration>,
    cancel: Option<&'a CancelToken>,
    equal_nan: Option<bool>,
    b_args: Option<&'a Array>,
}
impl<'a> CompareOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// Number of measured runs of each program, for `out_times`. 0: none.
    /// Default: 20.
    pub fn repeat(self, repeat: i32) -> Self {
        Self { repeat: Some(repeat), ..self }
    }
    /// Relative tolerance: "1e-4" for all real dtypes, or "float16=1e-2,float32=1e-5" for
    /// single dtypes. Other dtypes have the tolerance of PyTorch's assert_close(): float16 1e-3,
    /// bfloat16 1.6e-2, float32 1.3e-6, float64 1e-7, integers 0. If the dtypes of two tensors differ,
    /// the larger tolerance counts.
    /// Default: none.
    pub fn rtol(self, rtol: &'a str) -> Self {
        Self { rtol: Some(rtol), ..self }
    }
    /// Absolute tolerance, written like rtol. Other dtypes have 1e-5, float64 1e-7, integers
    /// 0.
    /// Default: none.
    pub fn atol(self, atol: &'a str) -> Self {
        Self { atol: Some(atol), ..self }
    }
    /// Limit of memory for copies of values. If a value does not fit, only its hash is kept, which
    /// shows only bitwise equality.
    /// Default: 2^31.
    pub fn keep_bytes(self, keep_bytes: u64) -> Self {
        Self { keep_bytes: Some(keep_bytes), ..self }
    }
    /// Directory for a.npz and b.npz, the tensors around the first difference.
    /// Default: they are not written.
    pub fn save_directory(self, save_directory: &'a str) -> Self {
        Self { save_directory: Some(save_directory), ..self }
    }
    /// Limit of time for the whole comparison.
    /// Default: zero (no limit).
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }
    /// Token that cancels the comparison. The thread's default token cancels it,
    /// too.
    /// Default: only the default token.
    pub fn cancel(self, cancel: &'a CancelToken) -> Self {
        Self { cancel: Some(cancel), ..self }
    }
    /// True: NaN agrees with NaN.
    /// Default: true.
    pub fn equal_nan(self, equal_nan: bool) -> Self {
        Self { equal_nan: Some(equal_nan), ..self }
    }
    /// Arguments of B, as many as B takes: for a KV cache that B made, or for quantised
    /// weights.
    /// Default: those of A.
    pub fn b_args(self, b_args: &'a Array) -> Self {
        Self { b_args: Some(b_args), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl CompareOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_compare_options> {
        let mut raw = ffi::opd_compare_options::default();
        if let Some(repeat) = self.repeat {
            raw.repeat = repeat;
        }
        if let Some(rtol) = self.rtol {
            raw.rtol = kept.text(rtol)?;
        }
        if let Some(atol) = self.atol {
            raw.atol = kept.text(atol)?;
        }
        if let Some(keep_bytes) = self.keep_bytes {
            raw.keep_bytes = keep_bytes;
        }
        if let Some(save_directory) = self.save_directory {
            raw.save_directory = kept.text(save_directory)?;
        }
        if let Some(timeout) = self.timeout {
            raw.timeout_ns = timeout.as_nanos().max(1).try_into().unwrap_or(i64::MAX);
        }
        if let Some(cancel) = self.cancel {
            raw.cancel = cancel.as_ptr();
        }
        if let Some(equal_nan) = self.equal_nan {
            raw.equal_nan = equal_nan.into();
        }
        if let Some(b_args) = self.b_args {
            raw.b_args = b_args.as_ptr();
        }
        Ok(raw)
    }
}
/// Parts of a call that a recording keeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordOptions {
    with_program: Option<bool>,
    with_outputs: Option<bool>,
    with_operators: Option<bool>,
    with_paths: Option<bool>,
}
impl RecordOptions {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// True: keeps the bytes of program and kernels; false: keeps only their SHA-256, so that a replay
    /// must be given the program.
    /// Default: true.
    pub fn with_program(self, with_program: bool) -> Self {
        Self { with_program: Some(with_program), ..self }
    }
    /// True: keeps the elements of the result; false: keeps a hash of each tensor.
    /// Default: false.
    pub fn with_outputs(self, with_outputs: bool) -> Self {
        Self { with_outputs: Some(with_outputs), ..self }
    }
    /// True: keeps a hash of the values after each operator, so that a replay names the first
    /// operator that differs.
    /// Default: false.
    pub fn with_operators(self, with_operators: bool) -> Self {
        Self { with_operators: Some(with_operators), ..self }
    }
    /// True: keeps the paths of program and libraries, and the machine's name; false: keeps none of them.
    /// Default: false.
    pub fn with_paths(self, with_paths: bool) -> Self {
        Self { with_paths: Some(with_paths), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl RecordOptions {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_record_options> {
        let mut raw = ffi::opd_record_options::default();
        if let Some(with_program) = self.with_program {
            raw.with_program = with_program.into();
        }
        if let Some(with_outputs) = self.with_outputs {
            raw.with_outputs = with_outputs.into();
        }
        if let Some(with_operators) = self.with_operators {
            raw.with_operators = with_operators.into();
        }
        if let Some(with_paths) = self.with_paths {
            raw.with_paths = with_paths.into();
        }
        Ok(raw)
    }
}
/// Options of `opd_replay()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayOptions<'a> {
    run: Option<bool>,
    module: Option<&'a Module>,
    instrument: Option<&'a Function>,
    minimise: Option<&'a str>,
    rtol: Option<&'a str>,
    atol: Option<&'a str>,
    timeout: Option<Duration>,
    cancel: Option<&'a CancelToken>,
    repeat: Option<i32>,
    device: Option<Device>,
}
impl<'a> ReplayOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// True: the call is made again; false: the file is only read.
    /// Default: true.
    pub fn run(self, run: bool) -> Self {
        Self { run: Some(run), ..self }
    }
    /// Module of kind "relax.VMExecutable" that runs instead of the recorded program.
    /// Default: the recorded program.
    pub fn module(self, module: &'a Module) -> Self {
        Self { module: Some(module), ..self }
    }
    /// Function that is shown the calls, as by `opd_vm_set_instrument()`.
    /// Default: none.
    pub fn instrument(self, instrument: &'a Function) -> Self {
        Self { instrument: Some(instrument), ..self }
    }
    /// Path for a recording of a single operator: the one that fails, ends the process,
    /// or is the first that differs.
    /// Default: none is written.
    pub fn minimise(self, minimise: &'a str) -> Self {
        Self { minimise: Some(minimise), ..self }
    }
    /// Relative tolerance for results whose elements were kept, as in `opd_compare_options`.
    /// Default: as there.
    pub fn rtol(self, rtol: &'a str) -> Self {
        Self { rtol: Some(rtol), ..self }
    }
    /// Absolute tolerance for these results, as in `opd_compare_options`.
    /// Default: as there.
    pub fn atol(self, atol: &'a str) -> Self {
        Self { atol: Some(atol), ..self }
    }
    /// Limit of time for the replayed call.
    /// Default: zero (no limit).
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }
    /// Token that cancels the call. The thread's default token cancels it, too.
    /// Default: only the default token.
    pub fn cancel(self, cancel: &'a CancelToken) -> Self {
        Self { cancel: Some(cancel), ..self }
    }
    /// Number of measured calls for `out_profile`, after an unmeasured one. 0: none.
    /// Default: 1.
    pub fn repeat(self, repeat: i32) -> Self {
        Self { repeat: Some(repeat), ..self }
    }
    /// Replaces the recorded VM's first device; its tensors move there. `device_type` 0: keep the
    /// recorded device.
    /// Default: none.
    pub fn device(self, device: Device) -> Self {
        Self { device: Some(device), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl ReplayOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_replay_options> {
        let mut raw = ffi::opd_replay_options::default();
        if let Some(run) = self.run {
            raw.run = run.into();
        }
        if let Some(module) = self.module {
            raw.module = module.as_ptr();
        }
        if let Some(instrument) = self.instrument {
            raw.instrument = instrument.as_ptr();
        }
        if let Some(minimise) = self.minimise {
            raw.minimise = kept.text(minimise)?;
        }
        if let Some(rtol) = self.rtol {
            raw.rtol = kept.text(rtol)?;
        }
        if let Some(atol) = self.atol {
            raw.atol = kept.text(atol)?;
        }
        if let Some(timeout) = self.timeout {
            raw.timeout_ns = timeout.as_nanos().max(1).try_into().unwrap_or(i64::MAX);
        }
        if let Some(cancel) = self.cancel {
            raw.cancel = cancel.as_ptr();
        }
        if let Some(repeat) = self.repeat {
            raw.repeat = repeat;
        }
        if let Some(device) = self.device {
            raw.device = device.into();
        }
        Ok(raw)
    }
}
/// How runs are compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiffOptions<'a> {
    is_paired: Option<bool>,
    min_effect: Option<f64>,
    level: Option<f64>,
    confidence: Option<f64>,
    metric: Option<&'a str>,
    min_share: Option<f64>,
    fail_above: Option<f64>,
}
impl<'a> DiffOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// True: run i before is paired with run i after; false: only runs whose turns are recorded are paired
    /// (docs/diff.md).
    /// Default: false.
    pub fn is_paired(self, is_paired: bool) -> Self {
        Self { is_paired: Some(is_paired), ..self }
    }
    /// Smallest relative change that matters.
    /// Default: 0.01.
    pub fn min_effect(self, min_effect: f64) -> Self {
        Self { min_effect: Some(min_effect), ..self }
    }
    /// Largest share of false verdicts among the verdicts of regression or improvement.
    /// Default: 0.05.
    pub fn level(self, level: f64) -> Self {
        Self { level: Some(level), ..self }
    }
    /// Confidence level of the intervals.
    /// Default: 0.95.
    pub fn confidence(self, confidence: f64) -> Self {
        Self { confidence: Some(confidence), ..self }
    }
    /// Name of the column that is compared: counts or durations.
    /// Default: "Duration (us)".
    pub fn metric(self, metric: &'a str) -> Self {
        Self { metric: Some(metric), ..self }
    }
    /// An operator decides if it takes at least this share of the total, before or after.
    /// Default: 0.01.
    pub fn min_share(self, min_share: f64) -> Self {
        Self { min_share: Some(min_share), ..self }
    }
    /// A row fails if it decides and is slower by more than this share. Negative: no row fails.
    /// Default: -1.
    pub fn fail_above(self, fail_above: f64) -> Self {
        Self { fail_above: Some(fail_above), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl DiffOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_diff_options> {
        let mut raw = ffi::opd_diff_options::default();
        if let Some(is_paired) = self.is_paired {
            raw.is_paired = is_paired.into();
        }
        if let Some(min_effect) = self.min_effect {
            raw.min_effect = min_effect;
        }
        if let Some(level) = self.level {
            raw.level = level;
        }
        if let Some(confidence) = self.confidence {
            raw.confidence = confidence;
        }
        if let Some(metric) = self.metric {
            raw.metric = kept.text(metric)?;
        }
        if let Some(min_share) = self.min_share {
            raw.min_share = min_share;
        }
        if let Some(fail_above) = self.fail_above {
            raw.fail_above = fail_above;
        }
        Ok(raw)
    }
}
/// Options of a built-in collector.
#[derive(Clone, Copy, Debug, Default)]
pub struct CounterOptions<'a> {
    per_thread: Option<bool>,
    best_effort: Option<bool>,
    events: Option<&'a [&'a str]>,
    devices: Option<&'a [Device]>,
    elsewhere: Option<bool>,
}
impl<'a> CounterOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// True: adds columns "NAME (least of threads)" and "NAME (most of threads)".
    /// Default: false.
    pub fn per_thread(self, per_thread: bool) -> Self {
        Self { per_thread: Some(per_thread), ..self }
    }
    /// True: events that cannot be counted here are left out, and the configuration says why.
    /// Default: false.
    pub fn best_effort(self, best_effort: bool) -> Self {
        Self { best_effort: Some(best_effort), ..self }
    }
    /// Names of events.
    /// Default: the collector's usual events.
    pub fn events(self, events: &'a [&'a str]) -> Self {
        Self { events: Some(events), ..self }
    }
    /// A device for each of `events`: the event is counted during calls on that
    /// device.
    /// Default: the CPU.
    pub fn devices(self, devices: &'a [Device]) -> Self {
        Self { devices: Some(devices), ..self }
    }
    /// True: for VMs of a session only, whose module comes from `opd_rpc_session_load_module()`. Events are checked on the
    /// server. On a local VM the collector fails, and the report says so.
    /// Default: false.
    pub fn elsewhere(self, elsewhere: bool) -> Self {
        Self { elsewhere: Some(elsewhere), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl CounterOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_counter_options> {
        let mut raw = ffi::opd_counter_options::default();
        if let Some(per_thread) = self.per_thread {
            raw.per_thread = per_thread.into();
        }
        if let Some(best_effort) = self.best_effort {
            raw.best_effort = best_effort.into();
        }
        if let Some(events) = self.events {
            raw.events = kept.texts(events.iter().copied())?;
            raw.num_events = count_of(events)?;
        }
        if let Some(devices) = self.devices {
            raw.devices = devices.as_ptr().cast();
            check_count("devices", devices.len(), self.events.map_or(0, <[_]>::len))?;
        }
        if let Some(elsewhere) = self.elsewhere {
            raw.elsewhere = elsewhere.into();
        }
        Ok(raw)
    }
}
/// Options of `opd_rpc_connect()` and `opd_rpc_request()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RpcConnectOptions<'a> {
    priority: Option<i32>,
    key: Option<&'a str>,
    connect_timeout: Option<Duration>,
    answer_timeout: Option<Duration>,
    session_timeout: Option<Duration>,
    secret: Option<&'a str>,
    tls_ca_file: Option<&'a str>,
    tls_fingerprint: Option<&'a str>,
    tls_name: Option<&'a str>,
}
impl<'a> RpcConnectOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// Priority of a request at a tracker. Of two requests, the one with the greater number is served
    /// first.
    /// Default: 1.
    pub fn priority(self, priority: i32) -> Self {
        Self { priority: Some(priority), ..self }
    }
    /// The server's key. A tracker chooses among servers with this key.
    /// Default: "".
    pub fn key(self, key: &'a str) -> Self {
        Self { key: Some(key), ..self }
    }
    /// Limit of time to connect and greet.
    /// Default: 10000000000.
    pub fn connect_timeout(self, connect_timeout: Duration) -> Self {
        Self { connect_timeout: Some(connect_timeout), ..self }
    }
    /// Limit of time for each request. At a tracker, it includes the wait for a free server.
    /// After it, the request fails with `OPD_DEADLINE_EXCEEDED`.
    /// Default: zero (no limit).
    pub fn answer_timeout(self, answer_timeout: Duration) -> Self {
        Self { answer_timeout: Some(answer_timeout), ..self }
    }
    /// Time after which the server ends the session, if it supports that.
    /// Default: zero (no limit).
    pub fn session_timeout(self, session_timeout: Duration) -> Self {
        Self { session_timeout: Some(session_timeout), ..self }
    }
    /// At least 16 bytes. Both sides must prove that they know them, without sending them.
    /// Default: none, as for TVM's servers.
    pub fn secret(self, secret: &'a str) -> Self {
        Self { secret: Some(secret), ..self }
    }
    /// PEM file of authorities. One of them must have signed the certificate that the
    /// server shows. With it or `tls_fingerprint`, the session uses TLS 1.3.
    /// Default: none.
    pub fn tls_ca_file(self, tls_ca_file: &'a str) -> Self {
        Self { tls_ca_file: Some(tls_ca_file), ..self }
    }
    /// SHA-256 of the server's certificate, hexadecimal. The certificate is then
    /// trusted whatever its signature, name and dates are, unless `tls_ca_file` is given,
    /// too.
    /// Default: none.
    pub fn tls_fingerprint(self, tls_fingerprint: &'a str) -> Self {
        Self { tls_fingerprint: Some(tls_fingerprint), ..self }
    }
    /// Name or IP address for which the certificate must be valid if `tls_ca_file` is
    /// given.
    /// Default: the host of the address, even if a tracker gave it.
    pub fn tls_name(self, tls_name: &'a str) -> Self {
        Self { tls_name: Some(tls_name), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl RpcConnectOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_rpc_connect_options> {
        let mut raw = ffi::opd_rpc_connect_options::default();
        if let Some(priority) = self.priority {
            raw.priority = priority;
        }
        if let Some(key) = self.key {
            raw.key = kept.text(key)?;
        }
        if let Some(connect_timeout) = self.connect_timeout {
            raw.connect_timeout_ns = connect_timeout.as_nanos().max(1).try_into().unwrap_or(i64::MAX);
        }
        if let Some(answer_timeout) = self.answer_timeout {
            raw.answer_timeout_ns = answer_timeout.as_nanos().max(1).try_into().unwrap_or(i64::MAX);
        }
        if let Some(session_timeout) = self.session_timeout {
            raw.session_timeout_ns = session_timeout.as_nanos().max(1).try_into().unwrap_or(i64::MAX);
        }
        if let Some(secret) = self.secret {
            raw.secret = kept.text(secret)?;
        }
        if let Some(tls_ca_file) = self.tls_ca_file {
            raw.tls_ca_file = kept.text(tls_ca_file)?;
        }
        if let Some(tls_fingerprint) = self.tls_fingerprint {
            raw.tls_fingerprint = kept.text(tls_fingerprint)?;
        }
        if let Some(tls_name) = self.tls_name {
            raw.tls_name = kept.text(tls_name)?;
        }
        Ok(raw)
    }
}
/// Options of `opd_telemetry_start()`: the measurements, and their destinations.
#[derive(Clone, Copy, Debug, Default)]
pub struct TelemetryOptions<'a> {
    per_operator: Option<bool>,
    prometheus_address: Option<&'a str>,
    otlp_endpoint: Option<&'a str>,
    otlp_headers: Option<&'a str>,
    service_name: Option<&'a str>,
    resource_attributes: Option<&'a str>,
    interval: Option<Duration>,
    max_queue: Option<i32>,
    max_series: Option<i32>,
    max_bytes: Option<u64>,
    spans: Option<bool>,
    process_metrics: Option<bool>,
}
impl<'a> TelemetryOptions<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// True: also measures operators: with metrics, and with spans within those of their calls. Each
    /// call of an operator then costs as much as in a profiler.
    /// Default: false.
    pub fn per_operator(self, per_operator: bool) -> Self {
        Self { per_operator: Some(per_operator), ..self }
    }
    /// "HOST:PORT" at which Prometheus finds the metrics, such as "127.0.0.1:9464". The host is an IP address
    /// or "localhost". If the port is 0, the system chooses one, and `opd_telemetry_address()` gives it. Anyone who reaches
    /// the address can read the metrics; nothing is encrypted.
    /// Default: none.
    pub fn prometheus_address(self, prometheus_address: &'a str) -> Self {
        Self { prometheus_address: Some(prometheus_address), ..self }
    }
    /// Address of an OpenTelemetry collector for OTLP/HTTP, such as "http://127.0.0.1:4318". https is refused.
    /// Default: the value of OTEL_EXPORTER_OTLP_ENDPOINT, unless OTEL_EXPORTER_OTLP_PROTOCOL is grpc.
    pub fn otlp_endpoint(self, otlp_endpoint: &'a str) -> Self {
        Self { otlp_endpoint: Some(otlp_endpoint), ..self }
    }
    /// Headers of each request to the collector: "KEY=VALUE,KEY=VALUE",
    /// percent-encoded.
    /// Default: OTEL_EXPORTER_OTLP_HEADERS.
    pub fn otlp_headers(self, otlp_headers: &'a str) -> Self {
        Self { otlp_headers: Some(otlp_headers), ..self }
    }
    /// Name of the service.
    /// Default: OTEL_SERVICE_NAME, or the name of the process.
    pub fn service_name(self, service_name: &'a str) -> Self {
        Self { service_name: Some(service_name), ..self }
    }
    /// Further attributes of OpenTelemetry's resource: "KEY=VALUE,KEY=VALUE", percent-encoded. The attributes
    /// of OTEL_RESOURCE_ATTRIBUTES are added.
    /// Default: none.
    pub fn resource_attributes(self, resource_attributes: &'a str) -> Self {
        Self { resource_attributes: Some(resource_attributes), ..self }
    }
    /// Interval at which metrics are sent to the collector, at least 1 ms.
    /// Default: 10000000000.
    pub fn interval(self, interval: Duration) -> Self {
        Self { interval: Some(interval), ..self }
    }
    /// Limit of spans that wait to be sent. Beyond it, the oldest are dropped and counted.
    /// Default: 2048.
    pub fn max_queue(self, max_queue: i32) -> Self {
        Self { max_queue: Some(max_queue), ..self }
    }
    /// Limit of label sets of a metric. Values beyond it have the labels "other".
    /// Default: 1000.
    pub fn max_series(self, max_series: i32) -> Self {
        Self { max_series: Some(max_series), ..self }
    }
    /// Limit in bytes of the events that wait to be read, of all threads. Beyond it, the oldest are
    /// dropped and counted.
    /// Default: 67108864.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes: Some(max_bytes), ..self }
    }
    /// True: the collector also gets spans.
    /// Default: true.
    pub fn spans(self, spans: bool) -> Self {
        Self { spans: Some(spans), ..self }
    }
    /// True: also measures CPU time, memory and descriptors of the process, as "process_…".
    /// Default: true.
    pub fn process_metrics(self, process_metrics: bool) -> Self {
        Self { process_metrics: Some(process_metrics), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl TelemetryOptions<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_telemetry_options> {
        let mut raw = ffi::opd_telemetry_options::default();
        if let Some(per_operator) = self.per_operator {
            raw.per_operator = per_operator.into();
        }
        if let Some(prometheus_address) = self.prometheus_address {
            raw.prometheus_address = kept.text(prometheus_address)?;
        }
        if let Some(otlp_endpoint) = self.otlp_endpoint {
            raw.otlp_endpoint = kept.text(otlp_endpoint)?;
        }
        if let Some(otlp_headers) = self.otlp_headers {
            raw.otlp_headers = kept.text(otlp_headers)?;
        }
        if let Some(service_name) = self.service_name {
            raw.service_name = kept.text(service_name)?;
        }
        if let Some(resource_attributes) = self.resource_attributes {
            raw.resource_attributes = kept.text(resource_attributes)?;
        }
        if let Some(interval) = self.interval {
            raw.interval_ns = interval.as_nanos().try_into().unwrap_or(u64::MAX);
        }
        if let Some(max_queue) = self.max_queue {
            raw.max_queue = max_queue;
        }
        if let Some(max_series) = self.max_series {
            raw.max_series = max_series;
        }
        if let Some(max_bytes) = self.max_bytes {
            raw.max_bytes = max_bytes;
        }
        if let Some(spans) = self.spans {
            raw.spans = spans.into();
        }
        if let Some(process_metrics) = self.process_metrics {
            raw.process_metrics = process_metrics.into();
        }
        Ok(raw)
    }
}
/// A metric of the program, with one set of labels; or a span of the program, which the fields from `traceparent` on
/// describe.
#[derive(Clone, Copy, Debug, Default)]
pub struct TelemetryValue<'a> {
    kind: Option<TelemetryKind>,
    name: Option<&'a str>,
    help: Option<&'a str>,
    label_names: Option<&'a [&'a str]>,
    label_values: Option<&'a [&'a str]>,
    value: Option<f64>,
    traceparent: Option<&'a str>,
    parent_span: Option<&'a str>,
    error: Option<&'a str>,
    begin: Option<Duration>,
    end: Option<Duration>,
    span_kind: Option<i32>,
}
impl<'a> TelemetryValue<'a> {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }
    /// Kind of the value.
    /// Default: [`TelemetryKind::Gauge`].
    pub fn kind(self, kind: TelemetryKind) -> Self {
        Self { kind: Some(kind), ..self }
    }
    /// Name of the metric: letters, digits and '_', without "_total". A span's name is any
    /// text. Required.
    /// Default: none.
    pub fn name(self, name: &'a str) -> Self {
        Self { name: Some(name), ..self }
    }
    /// Description of the metric.
    /// Default: "".
    pub fn help(self, help: &'a str) -> Self {
        Self { help: Some(help), ..self }
    }
    /// Names of labels: letters, digits and '_'. A span's
    /// names are any text.
    /// Default: none.
    pub fn label_names(self, label_names: &'a [&'a str]) -> Self {
        Self { label_names: Some(label_names), ..self }
    }
    /// A text for each of `label_names`.
    /// Default: none.
    pub fn label_values(self, label_values: &'a [&'a str]) -> Self {
        Self { label_values: Some(label_values), ..self }
    }
    /// Value of the metric.
    /// Default: 0.
    pub fn value(self, value: f64) -> Self {
        Self { value: Some(value), ..self }
    }
    /// Span only: its W3C traceparent (trace id, span id, sampled flag), the one
    /// passed on to callees.
    /// Default: none.
    pub fn traceparent(self, traceparent: &'a str) -> Self {
        Self { traceparent: Some(traceparent), ..self }
    }
    /// Span only: the span id of its parent, 16 hexadecimal digits.
    /// Default: none.
    pub fn parent_span(self, parent_span: &'a str) -> Self {
        Self { parent_span: Some(parent_span), ..self }
    }
    /// Span only: the message of its error.
    /// Default: it did not fail.
    pub fn error(self, error: &'a str) -> Self {
        Self { error: Some(error), ..self }
    }
    /// Span only: its start, in Unix time.
    /// Default: zero.
    pub fn begin(self, begin: Duration) -> Self {
        Self { begin: Some(begin), ..self }
    }
    /// Span only: its end, in Unix time.
    /// Default: zero.
    pub fn end(self, end: Duration) -> Self {
        Self { end: Some(end), ..self }
    }
    /// Span only: 1 internal, 2 server, 3 client, 4 producer, 5 consumer, as in OTLP.
    /// Default: 1.
    pub fn span_kind(self, span_kind: i32) -> Self {
        Self { span_kind: Some(span_kind), ..self }
    }
}
#[allow(unused_variables)] // not all options need both
impl TelemetryValue<'_> {
    pub(crate) fn raw(&self, kept: &mut Kept, num_args: usize) -> Result<ffi::opd_telemetry_value> {
        let mut raw = ffi::opd_telemetry_value::default();
        if let Some(kind) = self.kind {
            raw.kind = kind as _;
        }
        if let Some(name) = self.name {
            raw.name = kept.text(name)?;
        }
        if let Some(help) = self.help {
            raw.help = kept.text(help)?;
        }
        if let Some(label_names) = self.label_names {
            raw.label_names = kept.texts(label_names.iter().copied())?;
            raw.num_label_names = count_of(label_names)?;
        }
        if let Some(label_values) = self.label_values {
            raw.label_values = kept.texts(label_values.iter().copied())?;
            check_count("label_values", label_values.len(), self.label_names.map_or(0, <[_]>::len))?;
        }
        if let Some(value) = self.value {
            raw.value = value;
        }
        if let Some(traceparent) = self.traceparent {
            raw.traceparent = kept.text(traceparent)?;
        }
        if let Some(parent_span) = self.parent_span {
            raw.parent_span = kept.text(parent_span)?;
        }
        if let Some(error) = self.error {
            raw.error = kept.text(error)?;
        }
        if let Some(begin) = self.begin {
            raw.begin_ns = begin.as_nanos().try_into().unwrap_or(i64::MAX);
        }
        if let Some(end) = self.end {
            raw.end_ns = end.as_nanos().try_into().unwrap_or(i64::MAX);
        }
        if let Some(span_kind) = self.span_kind {
            raw.span_kind = span_kind;
        }
        Ok(raw)
    }
}
/// Memory in use on a device by the whole process. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Bytes held by tensors, storages and workspaces.
    pub live_bytes: u64,
    /// Greatest `live_bytes` since the start or the last [`Device::reset_peak`].
    pub peak_bytes: u64,
    /// Bytes taken from the system: live and pooled.
    pub reserved_bytes: u64,
    /// Number of requests.
    pub alloc_count: u64,
    /// Number of requests served from a pool.
    pub pool_hit_count: u64,
    /// The part of `live_bytes` that VMs keep for their next call and that is not in use now.
    /// [`VirtualMachine::trim`](crate::VirtualMachine::trim) frees it, and so does a VM that needs more memory than there is.
    pub idle_bytes: u64,
}
impl MemoryStats {
    /// As `fill` writes it: the fields that fit the size.
    pub(crate) fn of(fill: impl FnOnce(*mut ffi::opd_memory_stats) -> *mut ffi::opd_error) -> Result<Self> {
        let mut raw: ffi::opd_memory_stats = unsafe { core::mem::zeroed() };
        raw.struct_size = size_of::<ffi::opd_memory_stats>() as u32;
        Error::check(fill(&mut raw))?;
        Ok(Self {
            live_bytes: raw.live_bytes,
            peak_bytes: raw.peak_bytes,
            reserved_bytes: raw.reserved_bytes,
            alloc_count: raw.alloc_count,
            pool_hit_count: raw.pool_hit_count,
            idle_bytes: raw.idle_bytes,
        })
    }
}
/// Counts of a state: sequences, tokens, pages and bytes. A page of a paged cache holds `page_size` tokens. A page of
/// an RNN state holds one sequence of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KvStats {
    /// Number of sequences.
    pub num_sequences: i64,
    /// Number of tokens of all sequences. A shared token counts for each sequence that has it.
    pub num_tokens: i64,
    /// Largest number of sequences in a pass.
    pub max_batch: i64,
    /// Number of tokens in a page; 0: any number.
    pub page_size: i64,
    /// Number of pages.
    pub num_pages: i64,
    /// Number of pages that no sequence uses.
    pub free_pages: i64,
    /// Device memory, allocated when the state was made.
    pub bytes: u64,
}
impl KvStats {
    /// As `fill` writes it: the fields that fit the size.
    pub(crate) fn of(fill: impl FnOnce(*mut ffi::opd_kv_stats) -> *mut ffi::opd_error) -> Result<Self> {
        let mut raw: ffi::opd_kv_stats = unsafe { core::mem::zeroed() };
        raw.struct_size = size_of::<ffi::opd_kv_stats>() as u32;
        Error::check(fill(&mut raw))?;
        Ok(Self {
            num_sequences: raw.num_sequences,
            num_tokens: raw.num_tokens,
            max_batch: raw.max_batch,
            page_size: raw.page_size,
            num_pages: raw.num_pages,
            free_pages: raw.free_pages,
            bytes: raw.bytes,
        })
    }
}
/// How the tensors were made so far. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamsStats {
    /// Size of all tensors of the set.
    pub total_bytes: u64,
    /// Size of the tensors of a file that were given as views of it.
    pub viewed_bytes: u64,
    /// Size of the tensors of a file that were copied or decoded into their own memory.
    pub copied_bytes: u64,
}
impl ParamsStats {
    /// As `fill` writes it: the fields that fit the size.
    pub(crate) fn of(fill: impl FnOnce(*mut ffi::opd_params_stats) -> *mut ffi::opd_error) -> Result<Self> {
        let mut raw: ffi::opd_params_stats = unsafe { core::mem::zeroed() };
        raw.struct_size = size_of::<ffi::opd_params_stats>() as u32;
        Error::check(fill(&mut raw))?;
        Ok(Self { total_bytes: raw.total_bytes, viewed_bytes: raw.viewed_bytes, copied_bytes: raw.copied_bytes })
    }
}
/// The properties of a tensor in a set, known before the tensor is made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Name of the tensor, in UTF-8.
    pub name: String,
    /// The number of elements along each axis.
    pub shape: Vec<i64>,
    /// Size of the elements in compact form.
    pub size_in_bytes: u64,
    /// Type of the elements.
    pub dtype: DType,
    /// True: the tensor is a view of the file, or becomes one when it is requested.
    pub is_view: bool,
}
impl TensorInfo {
    /// As `fill` writes it: the fields that fit the size.
    pub(crate) fn of(fill: impl FnOnce(*mut ffi::opd_tensor_info) -> *mut ffi::opd_error) -> Result<Self> {
        let mut raw: ffi::opd_tensor_info = unsafe { core::mem::zeroed() };
        raw.struct_size = size_of::<ffi::opd_tensor_info>() as u32;
        Error::check(fill(&mut raw))?;
        Ok(Self {
            name: unsafe { borrowed(raw.name) }.to_owned(),
            shape: unsafe { slice_of(raw.shape, raw.ndim.max(0) as usize) }.to_vec(),
            size_in_bytes: raw.bytes,
            dtype: raw.dtype.into(),
            is_view: raw.is_view != 0,
        })
    }
}
/// The peak performance of this machine's processors, all together.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MachinePeak {
    /// Number of threads that measured.
    pub num_threads: i32,
    /// GFLOP/s of float32. A fused multiply-add counts as two operations.
    pub gflops: f64,
    /// GB/s of a\[i\] = b\[i\] + s * c\[i\] over arrays that no cache holds. Reads and writes count.
    pub bandwidth_gbps: f64,
    /// Noise of the measurements: the median time divided by the shortest, minus 1. From 0.1 on, the
    /// peaks may be too low.
    pub spread: f64,
}
impl MachinePeak {
    /// As `fill` writes it: the fields that fit the size.
    pub(crate) fn of(fill: impl FnOnce(*mut ffi::opd_machine_peak) -> *mut ffi::opd_error) -> Result<Self> {
        let mut raw: ffi::opd_machine_peak = unsafe { core::mem::zeroed() };
        raw.struct_size = size_of::<ffi::opd_machine_peak>() as u32;
        Error::check(fill(&mut raw))?;
        Ok(Self {
            num_threads: raw.num_threads,
            gflops: raw.gflops,
            bandwidth_gbps: raw.bandwidth_gbps,
            spread: raw.spread,
        })
    }
}
/// Statistics of a benchmark. Times are in seconds per call.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BenchmarkStats {
    /// True: the times are too noisy: the interval is wider than 5 % of the median, or there are too few
    /// repeats for an interval.
    pub is_noisy: bool,
    /// Lower end of the 95 % confidence interval of the median: an order statistic from the binomial
    /// distribution. If consecutive repeats or the threads of a repeat are correlated, the interval
    /// is wider. With too few repeats: 0.
    pub median_low: f64,
    /// Upper end of the interval. With fewer than 6 repeats: infinite.
    pub median_high: f64,
    /// Autocorrelation of the ranks of consecutive repeats, as the interval accounts for it: 0
    /// to 1.
    pub autocorrelation: f64,
    /// Number of repeats more than 1.5 interquartile ranges outside the quartiles. All statistics
    /// include them.
    pub outlier_count: i64,
    /// Calls of each thread in the last repeat. If the times were measured elsewhere, this field and the
    /// next three are 0.
    pub number: i64,
    /// Calls of all threads before the measured calls.
    pub warmup_count: i64,
    /// Calls per second of all threads together, while the repeats ran.
    pub calls_per_second: f64,
    /// True: the warm-up ended because the times were steady; false: the times were not steady within
    /// `steady_ms`, or `steady_ms` was 0.
    pub is_steady: bool,
    /// Mean; since 0.2, as the following fields.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Standard deviation of the population.
    pub std: f64,
    /// Shortest time.
    pub min: f64,
    /// Longest time.
    pub max: f64,
    /// True: the device's clock measured the times, from the end of its work before a repeat to the
    /// end of the repeat's calls; false: the host's clock measured them, with the device
    /// synchronised, or they were measured elsewhere.
    pub is_device_time: bool,
}
impl BenchmarkStats {
    /// As `fill` writes it: the fields that fit the size.
    pub(crate) fn of(fill: impl FnOnce(*mut ffi::opd_benchmark_stats) -> *mut ffi::opd_error) -> Result<Self> {
        let mut raw: ffi::opd_benchmark_stats = unsafe { core::mem::zeroed() };
        raw.struct_size = size_of::<ffi::opd_benchmark_stats>() as u32;
        Error::check(fill(&mut raw))?;
        Ok(Self {
            is_noisy: raw.is_noisy != 0,
            median_low: raw.median_low,
            median_high: raw.median_high,
            autocorrelation: raw.autocorrelation,
            outlier_count: raw.outlier_count,
            number: raw.number,
            warmup_count: raw.warmup_count,
            calls_per_second: raw.calls_per_second,
            is_steady: raw.is_steady != 0,
            mean: raw.mean,
            median: raw.median,
            std: raw.std,
            min: raw.min,
            max: raw.max,
            is_device_time: raw.is_device_time != 0,
        })
    }
}
/// Counts of sent and dropped data, and whether spans are sent at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TelemetryStats {
    /// Requests of Prometheus that were answered.
    pub scrape_count: u64,
    /// Requests with metrics that the collector accepted.
    pub metrics_sent_count: u64,
    /// Spans that the collector accepted.
    pub spans_sent_count: u64,
    /// Spans for which there was no room, or that the collector refused.
    pub spans_dropped_count: u64,
    /// Spans in the queue now.
    pub spans_waiting_count: u64,
    /// Requests that the collector did not accept.
    pub failed_count: u64,
    /// Events for which there was no room. No other metric counts them.
    pub events_dropped_count: u64,
    /// True: spans are sent to a collector.
    pub is_sending_spans: bool,
}
impl TelemetryStats {
    /// As `fill` writes it: the fields that fit the size.
    pub(crate) fn of(fill: impl FnOnce(*mut ffi::opd_telemetry_stats) -> *mut ffi::opd_error) -> Result<Self> {
        let mut raw: ffi::opd_telemetry_stats = unsafe { core::mem::zeroed() };
        raw.struct_size = size_of::<ffi::opd_telemetry_stats>() as u32;
        Error::check(fill(&mut raw))?;
        Ok(Self {
            scrape_count: raw.scrape_count,
            metrics_sent_count: raw.metrics_sent_count,
            spans_sent_count: raw.spans_sent_count,
            spans_dropped_count: raw.spans_dropped_count,
            spans_waiting_count: raw.spans_waiting_count,
            failed_count: raw.failed_count,
            events_dropped_count: raw.events_dropped_count,
            is_sending_spans: raw.is_sending_spans != 0,
        })
    }
}
