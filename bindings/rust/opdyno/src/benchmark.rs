//! Evaluators, which call a function repeatedly, and the benchmarks that they return.
use crate::arg::IntoArgs;
use crate::object::{create, handle, unique_handle};
use crate::options::Kept;
use crate::text::{slice_of, text};
use crate::{BenchmarkStats, DiffOptions, EvaluatorOptions, Function, Report, Result, ffi};

unique_handle! { EvaluatorHandle, opd_evaluator }

/// Calls a function repeatedly, and measures it.
/// ```
/// # fn main() -> opdyno::Result<()> {
/// let square = opdyno::Function::from_fn(|x: f64| x * x)?;
/// let options = opdyno::EvaluatorOptions::new().number(10).repeat(5);
/// let benchmark = opdyno::Evaluator::new(&square, &options)?.call((2.0,))?;
/// println!("{:?} a call", benchmark.stats()?.median);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Evaluator {
    handle: EvaluatorHandle,
    is_concurrent: bool,
}

impl Evaluator {
    /// Makes an evaluator of a packed function, which may be a function of a module or a VM, or a closure.
    pub fn new(function: &Function, options: &EvaluatorOptions<'_>) -> Result<Self> {
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, 0)?;
        let handle = create!(EvaluatorHandle, opd_evaluator_create(function.as_ptr(), &options))?;
        Ok(Self { handle, is_concurrent: options.concurrency != 1 })
    }
    /// Takes ownership of the reference; `None` for null.
    ///
    /// # Safety
    /// `raw` is null, or a reference to an object of this kind that the caller owns.
    pub unsafe fn from_raw(raw: *mut ffi::opd_evaluator) -> Option<Self> {
        let handle = unsafe { EvaluatorHandle::from_raw(raw) };
        handle.map(|handle| Self { handle, is_concurrent: true }) // assumed, because the handle does not tell
    }
    /// The C handle, borrowed.
    pub fn as_ptr(&self) -> *mut ffi::opd_evaluator {
        self.handle.as_ptr()
    }
    /// The C handle. The caller owns its reference.
    pub fn into_raw(self) -> *mut ffi::opd_evaluator {
        self.handle.into_raw()
    }
    /// Calls the function warmup + number × repeat times. If several threads call it at once, none of its arguments can be a
    /// `&mut Tensor`, because all threads would write it.
    pub fn call<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Benchmark> {
        let args = args.into_args();
        let args = if self.is_concurrent { args.raw_to_share()? } else { args.raw()? };
        create!(Benchmark, opd_evaluator_call(self.handle.as_ptr(), args.as_ptr(), crate::object::num_of(args.len())))
    }
}

handle! {
    /// The measured times of calls. It prints as TVM's BenchmarkResult does.
    Benchmark, opd_benchmark
}

impl Benchmark {
    /// Makes a benchmark from times that were measured elsewhere, in seconds per call, one for each repeat.
    pub fn from_seconds(seconds: &[f64]) -> Result<Self> {
        create!(Benchmark, opd_benchmark_create(seconds.as_ptr(), crate::object::num_of(seconds.len())))
    }
    /// Seconds per call, one for each repeat, in the order of measurement.
    pub fn seconds(&self) -> &[f64] {
        let mut count = 0;
        unsafe { slice_of(ffi::opd_benchmark_seconds(self.as_ptr(), &mut count), count as usize) }
    }
    /// A percentile of the seconds per call, from 0 to 100.
    pub fn percentile(&self, percent: f64) -> f64 {
        unsafe { ffi::opd_benchmark_percentile(self.as_ptr(), percent) }
    }
    /// The statistics.
    pub fn stats(&self) -> Result<BenchmarkStats> {
        BenchmarkStats::of(|raw| unsafe { ffi::opd_benchmark_get_stats(self.as_ptr(), raw) })
    }
    /// Compares two benchmarks. Returns a report with one operator, "call".
    pub fn diff(&self, after: &Benchmark, options: &DiffOptions<'_>) -> Result<Report> {
        let mut kept = Kept::default();
        create!(Report, opd_benchmark_diff(self.as_ptr(), after.as_ptr(), &options.raw(&mut kept, 0)?))
    }
}

impl core::fmt::Display for Benchmark {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&text!(opd_benchmark_to_text(self.as_ptr())).map_err(|_| core::fmt::Error)?)
    }
}
