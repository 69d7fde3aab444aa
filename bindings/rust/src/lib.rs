//! Loads what Apache TVM compiled, and runs it. The struct of each kind of handle and its functions are generated from
//! the C API: [`Module::load`], [`VirtualMachine::create`], [`VirtualMachine::call`] … `None` means all default options.
//!
//! Options borrow what they name:
//! ```no_run
//! # use opdyno::*;
//! # fn profile(vm: &VirtualMachine) -> Result<(), Error> {
//! let time = Collector::create_builtin(ffi::OPD_COLLECTOR_TIME, None)?;
//! let collectors = [&time];
//! let options = ProfileOptions::new().repeat(3).collectors(&collectors);
//! let (report, trace) = vm.profile("main", &[], None, &options)?;
//! # Ok(())
//! # }
//! ```
//! ```compile_fail,E0505
//! # use opdyno::*;
//! # fn profile(vm: &VirtualMachine) -> Result<(), Error> {
//! let time = Collector::create_builtin(ffi::OPD_COLLECTOR_TIME, None)?;
//! let collectors = [&time];
//! let options = ProfileOptions::new().repeat(3).collectors(&collectors);
//! drop(time);
//! let (report, trace) = vm.profile("main", &[], None, &options)?;
//! # Ok(())
//! # }
//! ```

/// The C API as it is.
#[allow(non_camel_case_types, non_upper_case_globals, dead_code)]
pub mod ffi {
    include!(concat!(env!("OPDYNO_RUST_GENERATED"), "/ffi.rs"));
    const _: () = assert!(size_of::<opd_value>() == 16 && size_of::<DLTensor>() == 48);
}

#[allow(clippy::too_many_arguments, clippy::missing_safety_doc)]
mod api {
    use crate::options::{Kept, check_count};
    use crate::text::{self, Texts};
    use crate::value::{self, Views};
    use crate::{Arg, Error, MetricCollector, Value, callback, collector, ffi};
    use core::ffi::{c_int, c_void};
    use core::mem::zeroed;
    use core::ptr::{NonNull, from_ref, null, null_mut};
    include!(concat!(env!("OPDYNO_RUST_GENERATED"), "/api.rs"));

    // What the headers call immutable or thread-safe.
    unsafe impl Sync for Module {}
    unsafe impl Sync for VirtualMachine {}
    unsafe impl Sync for Cancel {}
    unsafe impl Sync for Shape {}
    unsafe impl Sync for Report {}
    unsafe impl Sync for Trace {}
    unsafe impl Sync for Profiler {}
    unsafe impl Sync for Benchmark {}
}

mod callback;
mod collector;
mod error;
mod options;
mod tensor;
mod text;
mod value;

pub use api::*;
pub use collector::{Metric, MetricCollector, Metrics};
pub use error::Error;
pub use tensor::Element;
pub use value::{Arg, Object, Value};
