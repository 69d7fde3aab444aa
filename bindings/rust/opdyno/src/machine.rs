//! The machine: devices' memory, threads, peaks; and files.
use crate::object::{check, sized};
use crate::text::{c_path, text};
use crate::value::{FromValue, NONE, Value};
use crate::{Device, DeviceAttr, Result, ffi};
use std::path::Path;

/// Memory in use on a device by the whole process. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Held by tensors, storages and workspaces.
    pub live_bytes: u64,
    /// The greatest `live_bytes` since the start or the last [`Device::reset_peak`].
    pub peak_bytes: u64,
    /// Taken from the system: live and pooled.
    pub reserved_bytes: u64,
    /// Requests.
    pub alloc_count: u64,
    /// Requests served from a pool.
    pub pool_hit_count: u64,
    /// The part of `live_bytes` that VMs keep for their next call and nobody uses now.
    pub idle_bytes: u64,
}

impl Device {
    /// A property; `Option` for one that the device may not tell.
    pub fn attr<R: FromValue>(&self, attr: DeviceAttr) -> Result<R> {
        let mut value = NONE;
        check!(opd_device_get_attr((*self).into(), attr as _, &mut value))?;
        unsafe { Value::from_raw(value) }.to()
    }
    /// Waits until all work given to it has ended.
    pub fn sync(&self) -> Result<()> {
        check!(opd_device_sync((*self).into()))
    }
    /// Its memory in use.
    pub fn memory_stats(&self) -> Result<MemoryStats> {
        let mut raw = sized!(opd_memory_stats);
        check!(opd_memory_get_stats((*self).into(), &mut raw))?;
        let ffi::opd_memory_stats {
            live_bytes,
            peak_bytes,
            reserved_bytes,
            alloc_count,
            pool_hit_count,
            idle_bytes,
            ..
        } = raw;
        Ok(MemoryStats { live_bytes, peak_bytes, reserved_bytes, alloc_count, pool_hit_count, idle_bytes })
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
/// Sets that number; 0 restores the default.
pub fn set_threads_count(count: usize) -> Result<()> {
    check!(opd_threads_set_count(count.try_into().unwrap_or(i32::MAX)))
}

/// What this machine's processors reach at most, all together.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MachinePeak {
    /// Threads that were at work.
    pub num_threads: i32,
    /// GFLOP/s of fused multiply-adds of float32, each two operations.
    pub gflops: f64,
    /// GB/s over arrays that no cache holds; reads and writes counted.
    pub bandwidth_gbps: f64,
    /// How noisy the tries were. From 0.1 on the peaks may be too low.
    pub spread: f64,
}

impl MachinePeak {
    /// Measures it, for about half a second.
    pub fn measure() -> Result<Self> {
        let mut raw = sized!(opd_machine_peak);
        check!(opd_machine_measure_peak(&mut raw))?;
        let ffi::opd_machine_peak { num_threads, gflops, bandwidth_gbps, spread, .. } = raw;
        Ok(Self { num_threads, gflops, bandwidth_gbps, spread })
    }
}

/// How the library was built, as a JSON object.
pub fn build_info() -> Result<String> {
    text!(opd_build_info())
}
/// Writes a file as the library writes its own: a regular file is replaced as a whole.
pub fn write_file(path: impl AsRef<Path>, data: &[u8]) -> Result<()> {
    let path = c_path(path.as_ref())?;
    check!(opd_file_write(path.as_ptr(), data.as_ptr().cast(), data.len()))
}
