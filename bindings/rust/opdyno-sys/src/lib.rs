//! The C API of opdyno as it is. The crate `opdyno` is the safe one. The headers `opdyno/*.h` describe each item.
//!
//! What the headers define inline is not here, but for the defaults of options, which are `Default`.
#![no_std]
#![allow(non_camel_case_types, non_upper_case_globals)]

mod ffi;
pub use ffi::*;

const _: () = assert!(size_of::<opd_value>() == 16 && size_of::<DLTensor>() == 48);
