//! Loads what Apache TVM compiled, and runs it. The struct of each kind of handle and its functions are generated from
//! the C API: [`Module::load`], [`VirtualMachine::create`], [`VirtualMachine::call`] …

/// The C API as it is.
#[allow(non_camel_case_types, non_upper_case_globals, dead_code)]
pub mod ffi {
    include!(concat!(env!("OPDYNO_RUST_GENERATED"), "/ffi.rs"));
    const _: () = assert!(size_of::<opd_value>() == 16 && size_of::<DLTensor>() == 48);
}

#[allow(clippy::too_many_arguments, clippy::missing_safety_doc)]
mod api {
    use crate::text::{self, Texts};
    use crate::value::{self, Views};
    use crate::{Arg, Error, Value, callback, ffi};
    use core::ffi::{c_int, c_void};
    use core::mem::zeroed;
    use core::ptr::{NonNull, null, null_mut};
    include!(concat!(env!("OPDYNO_RUST_GENERATED"), "/api.rs"));

    // What the headers call immutable or thread-safe.
    unsafe impl Sync for Module {}
    unsafe impl Sync for VirtualMachine {}
    unsafe impl Sync for Cancel {}
    unsafe impl Sync for Shape {}
    unsafe impl Sync for Report {}
    unsafe impl Sync for Trace {}
    unsafe impl Sync for Benchmark {}
}

mod callback;
mod error;
mod tensor;
mod text;
mod value;

pub use api::*;
pub use error::Error;
pub use tensor::Element;
pub use value::{Arg, Object, Value};
