//! Telemetry: metrics for Prometheus, metrics and spans for OpenTelemetry.
use crate::object::{check, create, handle};
use crate::options::Kept;
use crate::text::{text, with_text};
use crate::{Result, TelemetryFormat, TelemetryOptions, TelemetryStats, TelemetryValue, ffi};

handle! {
    /// Telemetry of this process. It runs until its last reference is dropped. The drop sends pending data, which takes
    /// at most a second.
    /// ```no_run
    /// # fn main() -> opdyno::Result<()> {
    /// use opdyno::{Telemetry, TelemetryOptions};
    /// let telemetry = Telemetry::start(&TelemetryOptions::new().prometheus_address("127.0.0.1:9464"))?;
    /// # Ok(()) }
    /// ```
    Telemetry, opd_telemetry
}

impl Telemetry {
    /// Starts telemetry.
    pub fn start(options: &TelemetryOptions<'_>) -> Result<Self> {
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, 0)?;
        create!(Telemetry, opd_telemetry_start(&options))
    }
    /// The address at which Prometheus finds the metrics, such as "127.0.0.1:9464"; "" if there is none.
    pub fn address(&self) -> String {
        let address = unsafe { std::ffi::CStr::from_ptr(ffi::opd_telemetry_address(self.as_ptr())) };
        address.to_string_lossy().into_owned()
    }
    /// The metrics as text, for programs with a server of their own.
    pub fn to_text(&self, format: TelemetryFormat) -> Result<String> {
        text!(opd_telemetry_to_text(self.as_ptr(), format as _))
    }
    /// Sets one of the program's own metrics. It keeps its value until it is set again.
    pub fn set_value(&self, value: &TelemetryValue<'_>) -> Result<()> {
        let mut kept = Kept::default();
        check!(opd_telemetry_set_value(self.as_ptr(), &value.raw(&mut kept, 0)?))
    }
    /// Sends all pending data to the collector and waits until the collector has accepted it, but at most `timeout_ns`.
    pub fn flush(&self, timeout_ns: u64) -> Result<()> {
        check!(opd_telemetry_flush(self.as_ptr(), timeout_ns))
    }
    /// Counts of sent and dropped data.
    pub fn stats(&self) -> Result<TelemetryStats> {
        TelemetryStats::of(|raw| unsafe { ffi::opd_telemetry_get_stats(self.as_ptr(), raw) })
    }
    /// Sets the request for which the calling thread works, by the request's header `traceparent`; `None`: no request.
    pub fn set_parent(traceparent: Option<&str>) -> Result<()> {
        match traceparent {
            Some(value) => with_text(value, |value| check!(opd_telemetry_set_parent(value))),
            None => check!(opd_telemetry_set_parent(std::ptr::null())),
        }
    }
}
