//! Collectors: a trait, and the table of functions that C calls.
use crate::callback::{self, caught};
use crate::ffi::{self, DLDevice, opd_collector_table, opd_error, opd_metrics};
use crate::value::{Views, view};
use crate::{Arg, Error, text};
use core::ffi::c_void;
use core::ptr::null_mut;

/// Measures something around calls. A profile calls it like this, all from the thread that profiles: `init` once, after
/// the warm-up calls; `start` before and `stop` after each whole run and each call that the report has a row for. Calls
/// nest: what started last stops first. One that gives an error or panics is not started any more, while the run goes
/// on; the report's configuration says so under "Collector error: NAME".
pub trait MetricCollector: Send + Sync + 'static {
    /// What `start` hands to `stop`; it is dropped there.
    type State: Send + 'static;

    /// Prepares what is expensive, for the devices of the run.
    fn init(&self, _devices: &[DLDevice]) -> Result<(), Error> {
        Ok(())
    }
    /// Begins to measure a call on a device; `None`: the device is not supported, and `stop` is not called.
    fn start(&self, device: DLDevice) -> Result<Option<Self::State>, Error>;
    /// Ends what `start` began, also when the call failed.
    fn stop(&self, state: Self::State, metrics: &mut Metrics) -> Result<(), Error>;
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric<'a> {
    Count(i64),
    Bytes(i64),
    /// In microseconds.
    Duration(f64),
    /// 100 for all.
    Percent(f64),
    Ratio(f64),
    Hertz(f64),
    Text(&'a str),
}

/// Where a collector's `stop` writes the metrics of the call that ended.
#[derive(Debug)]
pub struct Metrics(*mut opd_metrics);

impl Metrics {
    /// `name` becomes that of the report's column. A name that is set twice keeps the later value.
    pub fn set(&mut self, name: &str, metric: Metric<'_>) -> Result<(), Error> {
        let (kind, value) = match metric {
            Metric::Count(x) => (ffi::OPD_METRIC_COUNT, Arg::Int(x)),
            Metric::Bytes(x) => (ffi::OPD_METRIC_BYTES, Arg::Int(x)),
            Metric::Duration(x) => (ffi::OPD_METRIC_DURATION, Arg::Float(x)),
            Metric::Percent(x) => (ffi::OPD_METRIC_PERCENT, Arg::Float(x)),
            Metric::Ratio(x) => (ffi::OPD_METRIC_RATIO, Arg::Float(x)),
            Metric::Hertz(x) => (ffi::OPD_METRIC_HERTZ, Arg::Float(x)),
            Metric::Text(x) => (ffi::OPD_METRIC_STRING, Arg::Text(x)),
        };
        let (name, value) = (text::c_text(name)?, Views::of(&[value])?);
        Error::check(unsafe { ffi::opd_metrics_set(self.0, name.as_ptr(), kind, value.as_ptr()) })
    }
}

/// A table whose data is the collector, until its deleter is called.
pub(crate) fn table<C: MetricCollector>(collector: C) -> opd_collector_table {
    opd_collector_table {
        struct_size: size_of::<opd_collector_table>() as u32,
        reserved: 0,
        init: Some(init::<C>),
        start: Some(start::<C>),
        stop: Some(stop::<C>),
        user_data: callback::begin(collector),
        deleter: Some(callback::end::<C>),
    }
}

unsafe extern "C" fn init<C: MetricCollector>(
    collector: *mut c_void,
    devices: *const DLDevice,
    num_devices: i32,
) -> *mut opd_error {
    result_of(|| unsafe { &*collector.cast::<C>() }.init(unsafe { view(devices, num_devices as usize) }))
}

unsafe extern "C" fn start<C: MetricCollector>(
    collector: *mut c_void,
    device: DLDevice,
    out_state: *mut *mut c_void,
) -> *mut opd_error {
    result_of(|| {
        let state = unsafe { &*collector.cast::<C>() }.start(device)?;
        unsafe { out_state.write(state.map_or(null_mut(), |state| Box::into_raw(Box::new(state)).cast())) };
        Ok(())
    })
}

unsafe extern "C" fn stop<C: MetricCollector>(
    collector: *mut c_void,
    state: *mut c_void,
    metrics: *mut opd_metrics,
) -> *mut opd_error {
    result_of(|| {
        let state = unsafe { Box::from_raw(state.cast::<C::State>()) };
        unsafe { &*collector.cast::<C>() }.stop(*state, &mut Metrics(metrics))
    })
}

fn result_of(run: impl FnOnce() -> Result<(), Error>) -> *mut opd_error {
    caught(run).map_or_else(Error::into_raw, |()| null_mut())
}
