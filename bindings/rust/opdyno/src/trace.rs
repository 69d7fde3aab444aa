//! Traces, which are recorded calls on a time line; profilers, which record them; and ranges of the program.
use crate::object::{check, create, handle};
use crate::options::Kept;
use crate::text::{borrowed, bytes, c_path, until_nul, with_c_text, with_text};
use crate::{ProfilerAction, ProfilerDumpOptions, ProfilerOptions, Report, Result, TraceFormat, TraceMergeOptions};
use crate::{TraceView, TraceWriteOptions, ffi};
use core::marker::PhantomData;
use core::ptr::{null, null_mut};
use std::path::Path;

handle! {
    /// A recording of calls, each with begin, end, thread and name.
    Trace, opd_trace
}

impl Trace {
    /// Reads the file of a recording ([`ProfilerOptions::file`]). The recording process may have been killed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = c_path(path.as_ref())?;
        create!(Trace, opd_trace_load(path.as_ptr()))
    }
    /// The number of recorded calls.
    pub fn call_count(&self) -> usize {
        unsafe { ffi::opd_trace_call_count(self.as_ptr()) as usize }
    }
    /// The number of calls and ranges that were dropped because the buffers were full.
    pub fn dropped_count(&self) -> u64 {
        unsafe { ffi::opd_trace_dropped_count(self.as_ptr()) }
    }
    /// Writes the trace as Chrome trace events, which Perfetto opens.
    pub fn to_chrome(&self) -> Result<String> {
        let bytes = self.write(TraceFormat::Chrome, &TraceWriteOptions::new())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
    /// Writes the trace in a format, which may be text or binary.
    pub fn write(&self, format: TraceFormat, options: &TraceWriteOptions<'_>) -> Result<Vec<u8>> {
        let mut kept = Kept::default();
        bytes!(opd_trace_write(self.as_ptr(), format as _, &options.raw(&mut kept, 0)?))
    }
    /// Writes the trace to a file. If the path ends in ".gz", the file is compressed by gzip.
    pub fn save(&self, path: impl AsRef<Path>, format: TraceFormat, options: &TraceWriteOptions<'_>) -> Result<()> {
        let (path, mut kept) = (c_path(path.as_ref())?, Kept::default());
        check!(opd_trace_save(self.as_ptr(), path.as_ptr(), format as _, &options.raw(&mut kept, 0)?))
    }
    /// Makes a report of the spans: one row for each span, or for all spans of the same name, shapes or stack.
    pub fn to_report(&self, view: TraceView) -> Result<Report> {
        create!(Report, opd_trace_to_report(self.as_ptr(), view as _, null()))
    }
    /// Makes a report with a row for all spans of the same name. The options choose more fields that must be equal.
    pub fn to_averages(&self, options: &TraceWriteOptions<'_>) -> Result<Report> {
        let mut kept = Kept::default();
        create!(Report, opd_trace_to_report(self.as_ptr(), TraceView::KeyAverages as _, &options.raw(&mut kept, 0)?))
    }
    /// Joins traces of several processes and machines.
    pub fn merge(traces: &[&Trace], options: &TraceMergeOptions<'_>) -> Result<Self> {
        let pointers: Vec<_> = traces.iter().map(|trace| trace.as_ptr().cast_const()).collect();
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, 0)?;
        create!(Trace, opd_trace_merge(pointers.as_ptr(), crate::object::num_of(pointers.len()), &options))
    }
}

handle! {
    /// Records ranges and the calls of all VMs, on all threads of the process.
    /// ```
    /// # fn main() -> opdyno::Result<()> {
    /// use opdyno::{Profiler, TraceView, span};
    /// let profiler = Profiler::new()?;
    /// profiler.start()?;
    /// {
    ///     span!("prepare");
    /// }
    /// let trace = profiler.stop()?.expect("it was recording");
    /// println!("{}", trace.to_report(TraceView::KeyAverages)?);
    /// # Ok(()) }
    /// ```
    /// If a profiler is dropped while it records, it is stopped.
    Profiler, opd_profiler
}

impl Profiler {
    /// Makes a profiler with all defaults.
    pub fn new() -> Result<Self> {
        Self::with(&ProfilerOptions::new())
    }
    /// Makes a profiler with options: a schedule of steps, memory, stacks, buffers, a file.
    pub fn with(options: &ProfilerOptions<'_>) -> Result<Self> {
        let mut kept = Kept::default();
        create!(Profiler, opd_profiler_create(&options.raw(&mut kept, 0)?))
    }
    /// Starts the recording at once, or the schedule if there is one.
    pub fn start(&self) -> Result<()> {
        check!(opd_profiler_start(self.as_ptr()))
    }
    /// Sets the action of the next step, which replaces the schedule's action.
    pub fn set_action(&self, action: ProfilerAction) -> Result<()> {
        check!(opd_profiler_set_action(self.as_ptr(), action as _))
    }
    /// Ends a step of the program. If a cycle of the schedule ends with this step, returns the trace of the cycle.
    pub fn step(&self) -> Result<Option<Trace>> {
        let mut trace = null_mut();
        check!(opd_profiler_step(self.as_ptr(), &mut trace))?;
        Ok(unsafe { Trace::from_raw(trace) })
    }
    /// Ends the recording at once. Returns its trace, or `None` if the schedule was not recording.
    pub fn stop(&self) -> Result<Option<Trace>> {
        let mut trace = null_mut();
        check!(opd_profiler_stop(self.as_ptr(), &mut trace))?;
        Ok(unsafe { Trace::from_raw(trace) })
    }
    /// Returns the events recorded so far. The recording continues.
    pub fn snapshot(&self) -> Result<Option<Trace>> {
        let mut trace = null_mut();
        check!(opd_profiler_snapshot(self.as_ptr(), &mut trace))?;
        Ok(unsafe { Trace::from_raw(trace) })
    }
    /// Makes the profiler a flight recorder, which writes its events to a file when a dump is requested; `None`: no
    /// dumps.
    pub fn set_dumps(&self, options: Option<&ProfilerDumpOptions<'_>>) -> Result<()> {
        let mut kept = Kept::default();
        let options = options.map(|options| options.raw(&mut kept, 0)).transpose()?;
        check!(opd_profiler_set_dumps(self.as_ptr(), options.as_ref().map_or(core::ptr::null(), core::ptr::from_ref)))
    }
    /// Requests a dump without waiting for it.
    pub fn dump(&self, reason: &str) -> Result<()> {
        with_text(reason, |reason| check!(opd_profiler_dump(self.as_ptr(), reason)))
    }
    /// The number of dumps written so far.
    pub fn dump_count(&self) -> u64 {
        unsafe { ffi::opd_profiler_dump_count(self.as_ptr()) }
    }
}

/// A number for the name of ranges. For frequent ranges keep it, because making it looks the name up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RangeName(pub(crate) u32);

impl RangeName {
    /// Looks up or assigns the number of a name. Equal names have equal numbers. A NUL character ends the name.
    pub fn new(name: &str) -> Self {
        Self(with_c_text(until_nul(name), |name| unsafe { ffi::opd_range_name(name) }))
    }
}
impl From<&str> for RangeName {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// A range on the calling thread. It lasts from its construction to its drop. See [`span!`](crate::span).
#[derive(Debug)]
#[must_use = "a range ends when it is dropped"]
pub struct Range {
    number: u64,
    of_its_thread: PhantomData<*const ()>, // not Send, because only the thread that began the range may end it
}

impl Range {
    /// Begins a range. If no profiler records, this costs about 2 ns.
    pub fn new(name: RangeName) -> Self {
        Self { number: unsafe { ffi::opd_range_begin(name.0) }, of_its_thread: PhantomData }
    }
}
impl Drop for Range {
    fn drop(&mut self) {
        unsafe { ffi::opd_range_end(self.number) }
    }
}

/// Whether a profiler records ranges now.
pub fn is_recording() -> bool {
    unsafe { ffi::opd_range_is_recorded() != 0 }
}
/// Marks a moment on the calling thread.
pub fn mark(name: impl Into<RangeName>) {
    if is_recording() {
        unsafe { ffi::opd_range_mark(name.into().0) }
    }
}
/// Begins a range that [`range_pop`] ends. Returns how many pushed ranges enclose it on this thread.
pub fn range_push(name: &str) -> i32 {
    with_c_text(until_nul(name), |name| unsafe { ffi::opd_range_push(name) })
}
/// Ends the range that was pushed last on this thread. Returns the number that its push returned, or -1 if there is no
/// range.
pub fn range_pop() -> i32 {
    unsafe { ffi::opd_range_pop() }
}
/// Whether a tool receives ranges and marks through Intel's ITT API.
pub fn itt_is_available() -> bool {
    unsafe { ffi::opd_itt_is_available() != 0 }
}
/// Whether a profiler records stacks now.
pub fn stack_is_recorded() -> bool {
    unsafe { ffi::opd_stack_is_recorded() != 0 }
}
/// The version of the library, such as "0.2.0".
pub fn version() -> &'static str {
    unsafe { borrowed(ffi::opd_version()) }
}

/// Begins a range that lasts until the end of the enclosing block: `span!("prepare")`. The name is looked up only once.
#[macro_export]
macro_rules! span {
    ($name:expr) => {
        let _span = {
            static NAME: ::std::sync::OnceLock<$crate::RangeName> = ::std::sync::OnceLock::new();
            $crate::Range::new(*NAME.get_or_init(|| $crate::RangeName::new($name)))
        };
    };
}
