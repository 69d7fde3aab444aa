//! The machine: properties and memory of devices, the number of threads, the peaks; build information; writing files.
use crate::object::check;
use crate::text::{c_path, text};
use crate::value::{FromValue, NONE, Value};
use crate::{Device, DeviceAttr, MachinePeak, MemoryStats, Result, ffi};
use std::path::Path;

impl Device {
    /// A property of the device. Use an `Option` as `R` if the device may not report the property.
    pub fn attr<R: FromValue>(&self, attr: DeviceAttr) -> Result<R> {
        let mut value = NONE;
        check!(opd_device_get_attr((*self).into(), attr as _, &mut value))?;
        unsafe { Value::from_raw(value) }.to()
    }
    /// Whether the device is present and usable.
    pub fn exists(&self) -> bool {
        self.attr(DeviceAttr::Exist).unwrap_or(false)
    }
    /// Waits until all work of the device has ended.
    pub fn sync(&self) -> Result<()> {
        check!(opd_device_sync((*self).into()))
    }
    /// Counts of the device's memory, such as the bytes in use.
    pub fn memory_stats(&self) -> Result<MemoryStats> {
        MemoryStats::of(|raw| unsafe { ffi::opd_memory_get_stats((*self).into(), raw) })
    }
    /// Sets `peak_bytes` to the present `live_bytes`.
    pub fn reset_peak(&self) -> Result<()> {
        check!(opd_memory_reset_peak((*self).into()))
    }
    /// Returns pooled blocks to the system.
    pub fn trim(&self) -> Result<()> {
        check!(opd_memory_trim((*self).into()))
    }
}

/// The number of threads that a parallel kernel may use.
pub fn threads_count() -> usize {
    unsafe { ffi::opd_threads_count() }.max(0) as usize
}
/// Sets the number of threads that a parallel kernel may use; 0 restores the default.
pub fn set_threads_count(count: usize) -> Result<()> {
    check!(opd_threads_set_count(count.try_into().unwrap_or(i32::MAX)))
}

impl MachinePeak {
    /// Measures the peaks, which takes about half a second.
    pub fn measure() -> Result<Self> {
        Self::of(|raw| unsafe { ffi::opd_machine_measure_peak(raw) })
    }
}

/// How the library was built, as a JSON object.
pub fn build_info() -> Result<String> {
    text!(opd_build_info())
}
/// Writes a file like the library's own files: a regular file is replaced as a whole.
pub fn write_file(path: impl AsRef<Path>, data: &[u8]) -> Result<()> {
    let path = c_path(path.as_ref())?;
    check!(opd_file_write(path.as_ptr(), data.as_ptr().cast(), data.len()))
}
