//! A collector that counts what it is asked, and can fail.
use opdyno::{Error, Metric, MetricCollector, Metrics, ffi};
use std::sync::{Arc, Mutex, MutexGuard};

#[derive(Clone, Default)]
pub struct Log {
    pub devices: Vec<ffi::DLDevice>,
    pub inits: usize,
    pub starts: usize,
    pub stops: usize,
    pub open: i64,
}

#[derive(Default)]
pub struct Seen(Mutex<Log>);

impl Seen {
    pub fn log(&self) -> Log {
        self.lock().clone()
    }
    fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().expect("nobody panics with the lock")
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fails {
    Init,
    Start,
    Stop,
}

pub struct Counting {
    seen: Arc<Seen>,
    fails: Option<(Fails, bool)>, // where; true: it panics
    supports: bool,
}

impl Counting {
    pub fn new(seen: &Arc<Seen>) -> Self {
        Self { seen: seen.clone(), fails: None, supports: true }
    }
    pub fn unsupported(seen: &Arc<Seen>) -> Self {
        Self { supports: false, ..Self::new(seen) }
    }
    pub fn failing(seen: &Arc<Seen>, place: Fails, panics: bool) -> Self {
        Self { fails: Some((place, panics)), ..Self::new(seen) }
    }

    fn fail_in(&self, place: Fails) -> Result<(), Error> {
        match self.fails {
            Some((at, true)) if at == place => panic!("fails in {place:?}"),
            Some((at, false)) if at == place => {
                Err(Error::new(ffi::OPD_CALL_FAILED, "Refused", &format!("fails in {place:?}")))
            }
            _ => Ok(()),
        }
    }
}

/// Open from start to stop.
pub struct Open {
    seen: Arc<Seen>,
    ordinal: usize,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.seen.lock().open -= 1;
    }
}

impl MetricCollector for Counting {
    type State = Open;

    fn init(&self, devices: &[ffi::DLDevice]) -> Result<(), Error> {
        let mut log = self.seen.lock();
        log.inits += 1;
        log.devices = devices.to_vec();
        drop(log);
        self.fail_in(Fails::Init)
    }

    fn start(&self, _device: ffi::DLDevice) -> Result<Option<Open>, Error> {
        if !self.supports {
            return Ok(None);
        }
        let mut log = self.seen.lock();
        let ordinal = log.starts;
        log.starts += 1;
        log.open += 1;
        drop(log);
        let state = Open { seen: self.seen.clone(), ordinal };
        self.fail_in(Fails::Start)?; // which drops the state
        Ok(Some(state))
    }

    fn stop(&self, state: Open, metrics: &mut Metrics) -> Result<(), Error> {
        self.seen.lock().stops += 1;
        self.fail_in(Fails::Stop)?;
        metrics.set("ordinal", Metric::Count(-1))?; // the later value counts
        metrics.set("ordinal", Metric::Count(state.ordinal as i64))?;
        metrics.set("moved", Metric::Bytes(16))?;
        metrics.set("took", Metric::Duration(1.5))?;
        metrics.set("share", Metric::Percent(25.0))?;
        metrics.set("half", Metric::Ratio(0.5))?;
        metrics.set("rate", Metric::Hertz(2e9))?;
        assert!(metrics.set("", Metric::Count(0)).is_err() && metrics.set("a\0b", Metric::Count(0)).is_err());
        metrics.set("wörld", Metric::Text("größer"))
    }
}
