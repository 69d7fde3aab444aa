//! Streams of devices.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::object::check;
use crate::{Device, Result};

/// A queue of work of one device, done in order. Each thread has a current stream for each device, at first the default
/// one; kernels and copies that it starts go there. The CPU has no other than that.
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
// The library's functions of streams are safe on any thread.
unsafe impl Send for Stream {}
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes one. The error of an absent device has the reason of its absence.
    pub fn new(device: Device) -> Result<Self> {
        let mut raw = null_mut();
        check!(opd_stream_create(device.into(), &mut raw))?;
        Ok(Self { device, raw })
    }
    /// Whose it is.
    pub fn device(&self) -> Device {
        self.device
    }
    /// Waits until its work has ended.
    pub fn sync(&self) -> Result<()> {
        check!(opd_stream_sync(self.device.into(), self.raw))
    }
    /// Does `work` with it as the calling thread's current stream.
    pub fn scope<R>(&self, work: impl FnOnce() -> R) -> Result<R> {
        let mut before = null_mut();
        check!(opd_stream_set(self.device.into(), self.raw, &mut before))?;
        let _former = Former { device: self.device, raw: before };
        Ok(work())
    }
}
impl Drop for Stream {
    fn drop(&mut self) {
        let _ = check!(opd_stream_free(self.device.into(), self.raw)); // an error would have no receiver
    }
}

/// Sets the stream that was current before, also if a panic passes.
struct Former {
    device: Device,
    raw: *mut c_void,
}
impl Drop for Former {
    fn drop(&mut self) {
        let _ = check!(opd_stream_set(self.device.into(), self.raw, &mut null_mut()));
    }
}
