//! Conversion of text and bytes to C and from C.
use crate::{Error, Result, ffi};
use core::ffi::{CStr, c_char};
use core::mem::MaybeUninit;
use core::ptr::null;
use std::ffi::CString;
use std::path::Path;

const SHORT: usize = 128;

fn has_nul() -> Error {
    Error::invalid("text with a NUL character inside")
}

/// The part of a text before its first NUL character, which is the part that C sees.
pub(crate) fn until_nul(text: &str) -> &str {
    text.split('\0').next().unwrap_or("")
}

/// Calls `run` with the text as a C string. The text must have no NUL character. A short text needs no allocation.
pub(crate) fn with_c_text<R>(text: &str, run: impl FnOnce(*const c_char) -> R) -> R {
    if text.len() < SHORT {
        let mut short = [MaybeUninit::<u8>::uninit(); SHORT];
        let place: *mut u8 = short.as_mut_ptr().cast();
        unsafe {
            core::ptr::copy_nonoverlapping(text.as_ptr(), place, text.len());
            place.add(text.len()).write(0);
        }
        return run(place.cast_const().cast());
    }
    let long = [text.as_bytes(), &[0]].concat();
    run(long.as_ptr().cast())
}

/// Like [`with_c_text`], but a NUL character in the text is an error.
pub(crate) fn with_text<R>(text: &str, run: impl FnOnce(*const c_char) -> Result<R>) -> Result<R> {
    if text.as_bytes().contains(&0) { Err(has_nul()) } else { with_c_text(text, run) }
}

/// Like [`with_text`], but `run` gets null for `None`.
pub(crate) fn with_optional<R>(text: Option<&str>, run: impl FnOnce(*const c_char) -> Result<R>) -> Result<R> {
    match text {
        Some(text) => with_text(text, run),
        None => run(null()),
    }
}

/// Converts a path to a C string. The path need not be UTF-8.
pub(crate) fn c_path(path: &Path) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::invalid("a path with a NUL character inside"))
}

/// C strings and an array of pointers to them. The pointer is null where there is no text.
pub(crate) struct Texts {
    _texts: Vec<Option<CString>>,
    pointers: Vec<*const c_char>,
}

impl Texts {
    #[inline]
    pub fn of<'a>(texts: impl IntoIterator<Item = impl Into<Option<&'a str>>>) -> Result<Self> {
        let text_of = |text: &str| CString::new(text).map_err(|_| has_nul());
        let texts = texts.into_iter().map(|text| text.into().map(text_of).transpose()).collect::<Result<Vec<_>>>()?;
        let pointers = texts.iter().map(|text| text.as_ref().map_or(null(), |text| text.as_ptr())).collect();
        Ok(Self { _texts: texts, pointers })
    }
    #[inline]
    pub fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
    pub fn len(&self) -> usize {
        self.pointers.len()
    }
}

pub(crate) unsafe fn bytes_of(buffer: *mut ffi::opd_buffer) -> Vec<u8> {
    unsafe {
        let bytes = slice_of(ffi::opd_buffer_data(buffer).cast(), ffi::opd_buffer_size(buffer)).to_vec();
        ffi::opd_object_release(buffer.cast());
        bytes
    }
}

pub(crate) unsafe fn text_of(buffer: *mut ffi::opd_buffer) -> String {
    match String::from_utf8(unsafe { bytes_of(buffer) }) {
        Ok(text) => text,
        Err(other) => String::from_utf8_lossy(other.as_bytes()).into_owned(),
    }
}

/// Calls a C function whose last parameter is a buffer for text.
macro_rules! text {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let mut out = core::ptr::null_mut();
        $crate::Error::check(unsafe { $crate::ffi::$function($($argument,)* &mut out) })
            .map(|()| unsafe { $crate::text::text_of(out) })
    }};
}
pub(crate) use text;

/// Calls a C function whose last parameter is a buffer for bytes.
macro_rules! bytes {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let mut out = core::ptr::null_mut();
        $crate::Error::check(unsafe { $crate::ffi::$function($($argument,)* &mut out) })
            .map(|()| unsafe { $crate::text::bytes_of(out) })
    }};
}
pub(crate) use bytes;

/// Borrows a C string that its owner keeps for `'a`; "" for null.
pub(crate) unsafe fn borrowed<'a>(text: *const c_char) -> &'a str {
    if text.is_null() { "" } else { unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("(text that is not UTF-8)") }
}

/// A slice of `count` elements. The pointer may be null if `count` is 0.
#[inline]
pub(crate) unsafe fn slice_of<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(data, count) } }
}
