//! Errors of the library and of the functions that it calls.
use crate::text::{until_nul, with_c_text};
use crate::{Code, ffi};
use core::ffi::{CStr, c_char, c_void};
use core::fmt;
use core::ptr::{NonNull, null};
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// The results of this crate's functions.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// The most sources of an error that are kept. A chain of sources may be infinite.
const MOST_SOURCES: usize = 64;

/// The beginning of an error object in tvm-ffi's layout, which libraries share to exchange errors with causes. It is
/// needed because the C API has no function that sets a cause.
#[repr(C)]
struct Cell {
    references: AtomicU64, // the high half counts weak references
    type_index: i32,
    reserved: u32,
    deleter: *mut c_void,
    texts: [[usize; 2]; 3],
    update_backtrace: *mut c_void,
    cause: *mut ffi::opd_error,
}

impl Cell {
    const SOLE_OWNER: u64 = 1 << 32 | 1;

    /// Sets the cause of an error that was just made. If memory was short, the error is the library's preallocated one,
    /// which is shared and so stays unchanged.
    fn set_cause(&mut self, cause: Error) {
        if self.references.load(Ordering::Acquire) == Self::SOLE_OWNER {
            self.cause = cause.into_raw();
        }
    }
}

/// An error. It passes through the library unchanged: if C code calls a Rust closure, the caller gets the closure's
/// error.
pub struct Error {
    raw: NonNull<ffi::opd_error>,
    cause: OnceLock<Option<Box<Error>>>, // made by the first call of source()
}
unsafe impl Send for Error {} // immutable and counted atomically
unsafe impl Sync for Error {}

impl Error {
    /// Makes an error. `kind` is a name such as "ValueError"; "": the usual kind of the code. A NUL character ends a
    /// text.
    pub fn new(code: Code, kind: &str, message: &str) -> Self {
        Self::made(code, kind, message, None)
    }
    /// Makes an error with a cause: its `source()` is `cause`, with the sources of `cause`. If `cause` is not an
    /// [`Error`], it becomes one with its text and the code [`Code::CallFailed`].
    /// ```
    /// use std::error::Error as _;
    /// let reason = "x".parse::<i64>().unwrap_err();
    /// let error = opdyno::Error::with_cause(opdyno::Code::InvalidArgument, "", "no size", &reason);
    /// assert_eq!(error.source().unwrap().to_string(), "RuntimeError: invalid digit found in string");
    /// ```
    pub fn with_cause(code: Code, kind: &str, message: &str, cause: &(dyn std::error::Error + 'static)) -> Self {
        Self::made(code, kind, message, Some(Self::of_any(cause)))
    }
    /// Converts any error to an error of the library, with its chain of sources.
    pub(crate) fn of_any(error: &(dyn std::error::Error + 'static)) -> Self {
        type Any = dyn std::error::Error + 'static;
        fn next<'a>(each: &&'a Any) -> Option<&'a Any> {
            if each.is::<Error>() { None } else { each.source() }
        }
        let chain: Vec<_> = core::iter::successors(Some(error), next).take(MOST_SOURCES).collect();
        let joined = chain.into_iter().rev().fold(None, |cause, each| match each.downcast_ref::<Self>() {
            Some(own) => Some(own.clone()), // the end of the chain, because it has its own causes
            None => Some(Self::made(Code::CallFailed, "", &each.to_string(), cause)),
        });
        joined.expect("a chain has at least the error itself")
    }
    pub(crate) fn made(code: Code, kind: &str, message: &str, cause: Option<Self>) -> Self {
        let made = with_c_text(until_nul(kind), |kind_text| {
            let kind = if kind.is_empty() { null() } else { kind_text };
            with_c_text(until_nul(message), |message| unsafe { ffi::opd_error_create(code as _, kind, message) })
        });
        let made = Self::of(NonNull::new(made).expect("opd_error_create gives an error"));
        if let Some(cause) = cause {
            unsafe { (*made.raw.as_ptr().cast::<Cell>()).set_cause(cause) }
        }
        made
    }
    /// Makes an error with the code [`Code::InvalidArgument`] and its usual kind.
    pub fn invalid(message: &str) -> Self {
        Self::new(Code::InvalidArgument, "", message)
    }

    #[inline]
    fn of(raw: NonNull<ffi::opd_error>) -> Self {
        Self { raw, cause: OnceLock::new() }
    }

    /// Takes ownership of the error that a function returned.
    #[inline]
    pub(crate) fn check(result: *mut ffi::opd_error) -> Result<()> {
        NonNull::new(result).map_or(Ok(()), |error| Err(Self::of(error)))
    }

    #[inline]
    pub(crate) fn into_raw(self) -> *mut ffi::opd_error {
        let raw = self.raw.as_ptr();
        unsafe { ffi::opd_object_retain(raw.cast()) };
        raw
    }

    /// The code, by which programs tell errors apart.
    pub fn code(&self) -> Code {
        Code::of(unsafe { ffi::opd_error_code(self.raw.as_ptr()) }).unwrap_or(Code::Internal)
    }
    /// The name of the error's kind, as in Python: "TypeError", "ValueError" …
    pub fn kind(&self) -> &str {
        self.text(ffi::opd_error_kind)
    }
    /// The message, for people.
    pub fn message(&self) -> &str {
        self.text(ffi::opd_error_message)
    }
    /// The native frames if OPDYNO_BACKTRACE is set, else "".
    pub fn backtrace(&self) -> &str {
        self.text(ffi::opd_error_backtrace)
    }
    /// The error that caused this one.
    pub fn cause(&self) -> Option<&Error> {
        let cause = self.cause.get_or_init(|| {
            let raw = unsafe { ffi::opd_error_cause(self.raw.as_ptr()) }.cast_mut();
            unsafe { ffi::opd_object_retain(raw.cast()) };
            NonNull::new(raw).map(|raw| Box::new(Self::of(raw)))
        });
        cause.as_deref()
    }

    fn text(&self, of: unsafe extern "C" fn(*const ffi::opd_error) -> *const c_char) -> &str {
        let text = unsafe { CStr::from_ptr(of(self.raw.as_ptr())) }; // lives as long as the error
        text.to_str().unwrap_or("(text that is not UTF-8)")
    }
}

impl Clone for Error {
    #[inline]
    fn clone(&self) -> Self {
        unsafe { ffi::opd_object_retain(self.raw.as_ptr().cast()) };
        Self::of(self.raw)
    }
}

impl Drop for Error {
    #[inline]
    fn drop(&mut self) {
        unsafe { ffi::opd_object_release(self.raw.as_ptr().cast()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind(), self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self})", self.code())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause().map(|cause| cause as _)
    }
}
