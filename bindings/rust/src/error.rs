//! Errors of the library, and of the functions that it called.
use crate::ffi;
use core::ffi::{CStr, c_char};
use core::fmt;
use core::ptr::NonNull;
use std::ffi::CString;

/// An error. Through callbacks it travels as it is.
pub struct Error(NonNull<ffi::opd_error>);
unsafe impl Send for Error {} // immutable and counted atomically
unsafe impl Sync for Error {}

impl Error {
    /// `kind` is a name as "ValueError"; "" means the usual one of the code. Text ends at a NUL character.
    pub fn new(code: ffi::opd_code, kind: &str, message: &str) -> Self {
        let text = |t: &str| CString::new(t.split('\0').next().unwrap_or("")).unwrap_or_default();
        let (kind, message) = (text(kind), text(message));
        let kind = if kind.is_empty() { core::ptr::null() } else { kind.as_ptr() };
        let made = unsafe { ffi::opd_error_create(code, kind, message.as_ptr()) };
        Self(NonNull::new(made).expect("opd_error_create gives an error"))
    }

    /// Takes over what a function returned.
    pub(crate) fn check(result: *mut ffi::opd_error) -> Result<(), Self> {
        NonNull::new(result).map_or(Ok(()), |error| Err(Self(error)))
    }

    pub(crate) fn into_raw(self) -> *mut ffi::opd_error {
        let raw = self.0.as_ptr();
        core::mem::forget(self);
        raw
    }

    /// An `OPD_…` of [`ffi`].
    pub fn code(&self) -> ffi::opd_code {
        unsafe { ffi::opd_error_code(self.0.as_ptr()) }
    }
    pub fn kind(&self) -> &str {
        self.text(ffi::opd_error_kind)
    }
    pub fn message(&self) -> &str {
        self.text(ffi::opd_error_message)
    }
    /// Native frames, where the library was asked to keep them.
    pub fn backtrace(&self) -> &str {
        self.text(ffi::opd_error_backtrace)
    }

    fn text(&self, of: unsafe extern "C" fn(*const ffi::opd_error) -> *const c_char) -> &str {
        let text = unsafe { CStr::from_ptr(of(self.0.as_ptr())) }; // lives as long as the error
        text.to_str().unwrap_or("(text that is not UTF-8)")
    }
}

impl Drop for Error {
    fn drop(&mut self) {
        unsafe { ffi::opd_object_release(self.0.as_ptr().cast()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind(), self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({}, {self})", self.code())
    }
}

impl std::error::Error for Error {}
