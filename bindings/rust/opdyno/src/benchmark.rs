//! Evaluators, which call a function again and again, and the benchmarks that they give.
use crate::arg::IntoArgs;
use crate::object::{check, create, handle, sized, unique_handle};
use crate::options::Kept;
use crate::text::{slice_of, text};
use crate::{DiffOptions, EvaluatorOptions, Function, Report, Result, ffi};

unique_handle! { EvaluatorHandle, opd_evaluator }

/// Calls a function again and again, and measures it.
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
    /// Of any packed function: of a module, of a VM, a closure.
    pub fn new(function: &Function, options: &EvaluatorOptions<'_>) -> Result<Self> {
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, 0)?;
        let handle = create!(EvaluatorHandle, opd_evaluator_create(function.as_ptr(), &options))?;
        Ok(Self { handle, is_concurrent: options.concurrency != 1 })
    }
    /// Takes the reference over; `None` of null.
    ///
    /// # Safety
    /// `raw` is null or a reference to an object of this kind that is the caller's to give away.
    pub unsafe fn from_raw(raw: *mut ffi::opd_evaluator) -> Option<Self> {
        let handle = unsafe { EvaluatorHandle::from_raw(raw) };
        handle.map(|handle| Self { handle, is_concurrent: true }) // as far as one can know
    }
    /// The handle of C, borrowed.
    pub fn as_ptr(&self) -> *mut ffi::opd_evaluator {
        self.handle.as_ptr()
    }
    /// The handle of C, whose reference is the caller's.
    pub fn into_raw(self) -> *mut ffi::opd_evaluator {
        self.handle.into_raw()
    }
    /// Calls the function warmup + number × repeat times. If several threads call it at once, none of its arguments can be a
    /// `&mut Tensor`: they would all write it.
    pub fn call<'a>(&mut self, args: impl IntoArgs<'a>) -> Result<Benchmark> {
        let args = args.into_args();
        let args = if self.is_concurrent { args.raw_to_share()? } else { args.raw()? };
        create!(Benchmark, opd_evaluator_call(self.handle.as_ptr(), args.as_ptr(), args.len() as i32))
    }
}

handle! {
    /// Times of calls. It prints as TVM's BenchmarkResult does.
    Benchmark, opd_benchmark
}

/// The figures of a benchmark. Times are in seconds per call.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // as the C struct has them
pub struct BenchmarkStats {
    /// Too noisy to say: too few repeats for the interval, or it is wider than 5 % of the median.
    pub is_noisy: bool,
    /// The lower end of the 95 % confidence interval of the median; 0 with too few repeats.
    pub median_low: f64,
    /// The upper end; infinite with fewer than 6 repeats.
    pub median_high: f64,
    /// Of the ranks of consecutive repeats, as far as it is taken into account; 0 to 1.
    pub autocorrelation: f64,
    /// Repeats further from the quartiles than 1.5 times the distance between them.
    pub outlier_count: i64,
    /// Calls of a thread in the last repeat.
    pub number: i64,
    /// Calls of all threads before the measured ones.
    pub warmup_count: i64,
    /// Of all threads together.
    pub calls_per_second: f64,
    /// Whether the warm-up ended because the times were steady.
    pub is_steady: bool,
    pub mean: f64,
    pub median: f64,
    pub std: f64,
    pub min: f64,
    pub max: f64,
}

impl Benchmark {
    /// Of times that were measured elsewhere, in seconds per call, one for each repeat.
    pub fn from_seconds(seconds: &[f64]) -> Result<Self> {
        create!(Benchmark, opd_benchmark_create(seconds.as_ptr(), seconds.len()))
    }
    /// Seconds per call, one for each repeat, in the order of measurement.
    pub fn seconds(&self) -> &[f64] {
        let mut count = 0;
        unsafe { slice_of(ffi::opd_benchmark_seconds(self.as_ptr(), &mut count), count) }
    }
    /// A percentile of the seconds per call, from 0 to 100.
    pub fn percentile(&self, percent: f64) -> f64 {
        unsafe { ffi::opd_benchmark_percentile(self.as_ptr(), percent) }
    }
    /// The figures.
    pub fn stats(&self) -> Result<BenchmarkStats> {
        let mut raw = sized!(opd_benchmark_stats);
        check!(opd_benchmark_get_stats(self.as_ptr(), &mut raw))?;
        Ok(BenchmarkStats {
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
        })
    }
    /// Compares two benchmarks: a report of the one operator "call".
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
