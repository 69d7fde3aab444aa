//! Streams: queues of work of a device.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::object::check;
use crate::{Device, Result};

/// A queue of one device's work, which is done in order. Each thread has a current stream for each device, at first the
/// device's default stream. Kernels and copies that the thread starts go to its current stream. The CPU has only the
/// default stream.
///
/// ```no_run
/// # fn main() -> opdyno::Result<()> {
/// let stream = opdyno::Stream::new("opencl:0".parse()?)?;
/// stream.scope(|| { /* calls that the stream does in order */ })?;
/// stream.sync()
/// # }
/// ```
#[derive(Debug)]
pub struct Stream {
    device: Device,
    raw: *mut c_void,
}
// The library's functions for streams may be called on any thread.
unsafe impl Send for Stream {}
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes a stream. If the device is absent, the error says why.
    pub fn new(device: Device) -> Result<Self> {
        let mut raw = null_mut();
        check!(opd_stream_create(device.into(), &mut raw))?;
        Ok(Self { device, raw })
    }
    /// The device of the stream.
    pub fn device(&self) -> Device {
        self.device
    }
    /// Waits until the stream's work has ended.
    pub fn sync(&self) -> Result<()> {
        check!(opd_stream_sync(self.device.into(), self.raw))
    }
    /// Runs `work` while this stream is the calling thread's current stream.
    pub fn scope<R>(&self, work: impl FnOnce() -> R) -> Result<R> {
        let mut before = null_mut();
        check!(opd_stream_set(self.device.into(), self.raw, &mut before))?;
        let _former = Former { device: self.device, raw: before };
        Ok(work())
    }
}
impl Drop for Stream {
    fn drop(&mut self) {
        let _ = check!(opd_stream_free(self.device.into(), self.raw)); // drop() cannot report an error
    }
}

/// Restores the previous current stream when it is dropped, even after a panic.
struct Former {
    device: Device,
    raw: *mut c_void,
}
impl Drop for Former {
    fn drop(&mut self) {
        let _ = check!(opd_stream_set(self.device.into(), self.raw, &mut null_mut()));
    }
}
