//! Collectors, which take measurements around calls.
use crate::arg::as_raw;
use crate::callback::{self, caught};
use crate::ffi::{DLDevice, opd_collector_table, opd_error, opd_metrics};
use crate::object::{check, create, handle};
use crate::options::Kept;
use crate::text::{slice_of, with_text};
use crate::{Arg, Array, CollectorKind, CounterOptions, Device, Error, MetricKind, Result};
use core::ffi::c_void;
use core::ptr::null_mut;

handle! {
    /// Takes measurements around each call of a profile. A collector serves one profile at a time.
    Collector, opd_collector
}

impl Collector {
    /// Makes a collector from your own code; `name` is its name in reports.
    pub fn new<C: MetricCollector>(name: &str, collector: C) -> Result<Self> {
        let table = table(collector);
        with_text(name, |name| create!(Collector, opd_collector_create(name, &table)))
            .inspect_err(|_| unsafe { callback::end::<C>(table.user_data) }) // C owns the data only on success
    }
    /// Makes a built-in collector: time, memory, the kernel's counters, PAPI's counters or energy.
    pub fn builtin(kind: CollectorKind, options: &CounterOptions<'_>) -> Result<Self> {
        let mut kept = Kept::default();
        create!(Collector, opd_collector_create_builtin(kind as _, &options.raw(&mut kept, 0)?))
    }
    /// The events that a built-in collector can count here.
    pub fn list_events(kind: CollectorKind) -> Result<Vec<String>> {
        create!(Array, opd_collector_list_events(kind as _))?.into_texts()
    }
}

/// Takes measurements around calls. A profile calls these functions from the thread that profiles: `init` once, after
/// the warm-up calls; `start` before and `stop` after each whole run and each call that has a row in the report. Calls
/// nest: the call that started last stops first. If a function returns an error or panics, the collector is not started
/// again, but the run continues. The error is in the report's configuration, under "Collector error: NAME".
pub trait MetricCollector: Send + Sync + 'static {
    /// The value that `start` returns and `stop` gets.
    type State: Send + 'static;

    /// Makes expensive preparations for the devices of the run.
    fn init(&self, _devices: &[Device]) -> Result<()> {
        Ok(())
    }
    /// Begins to measure a call on a device; `None`: the device is not supported, and `stop` is not called.
    fn start(&self, device: Device) -> Result<Option<Self::State>>;
    /// Ends the measurement that `start` began, even if the call failed.
    fn stop(&self, state: Self::State, metrics: &mut Metrics) -> Result<()>;
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub enum Metric<'a> {
    Count(i64),
    Bytes(i64),
    /// A duration in microseconds.
    Duration(f64),
    /// A share; 100 is the whole.
    Percent(f64),
    Ratio(f64),
    Hertz(f64),
    Text(&'a str),
}

impl<'a> Metric<'a> {
    pub(crate) fn parts(self) -> (MetricKind, [Arg<'a>; 1]) {
        let (kind, value) = match self {
            Self::Count(x) => (MetricKind::Count, x.into()),
            Self::Bytes(x) => (MetricKind::Bytes, x.into()),
            Self::Duration(x) => (MetricKind::Duration, x.into()),
            Self::Percent(x) => (MetricKind::Percent, x.into()),
            Self::Ratio(x) => (MetricKind::Ratio, x.into()),
            Self::Hertz(x) => (MetricKind::Hertz, x.into()),
            Self::Text(x) => (MetricKind::String, x.into()),
        };
        (kind, [value])
    }
}

/// Receives the metrics of the call that ended, from a collector's `stop`.
#[derive(Debug)]
pub struct Metrics(*mut opd_metrics);

impl Metrics {
    /// Sets the metric in the report's column `name`. If a metric is set twice, the later value counts.
    pub fn set(&mut self, name: &str, metric: Metric<'_>) -> Result<()> {
        let (kind, value) = metric.parts();
        let value = as_raw(&value)?.as_ptr();
        with_text(name, |name| check!(opd_metrics_set(self.0, name, kind as _, value)))
    }
}

/// The C table of functions for a collector. Its data is the boxed collector, which the table's deleter drops.
fn table<C: MetricCollector>(collector: C) -> opd_collector_table {
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
    result_of(|| {
        let devices = unsafe { slice_of(devices, num_devices.max(0) as usize) };
        let devices: Vec<Device> = devices.iter().map(|device| (*device).into()).collect();
        unsafe { &*collector.cast::<C>() }.init(&devices)
    })
}

unsafe extern "C" fn start<C: MetricCollector>(
    collector: *mut c_void,
    device: DLDevice,
    out_state: *mut *mut c_void,
) -> *mut opd_error {
    result_of(|| {
        let state = unsafe { &*collector.cast::<C>() }.start(device.into())?;
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

fn result_of(run: impl FnOnce() -> Result<()>) -> *mut opd_error {
    caught(run).map_or_else(Error::into_raw, |()| null_mut())
}
