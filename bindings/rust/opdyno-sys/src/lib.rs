//! The raw C API of opdyno. The crate `opdyno` is the safe interface. The headers `opdyno/*.h` describe each item.
//!
//! Inline functions of the headers are not included. Their defaults of options are implementations of `Default`.
#![no_std]
#![allow(non_camel_case_types, non_upper_case_globals)]

mod ffi;
pub use ffi::*;

const _: () = assert!(size_of::<opd_value>() == 16 && size_of::<DLTensor>() == 48);
