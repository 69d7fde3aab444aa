//! Text and bytes: as C wants them, and as it gives them.
use crate::value::view;
use crate::{Error, ffi};
use core::ffi::{CStr, c_char};
use core::ptr::null;
use std::ffi::CString;

pub(crate) fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text)
        .map_err(|_| Error::new(ffi::OPD_INVALID_ARGUMENT, "ValueError", "text with a NUL character inside"))
}

/// C strings, and pointers to them; null for none.
pub(crate) struct Texts {
    _texts: Vec<Option<CString>>,
    pointers: Vec<*const c_char>,
}

impl Texts {
    pub fn of<'a>(texts: impl IntoIterator<Item = impl Into<Option<&'a str>>>) -> Result<Self, Error> {
        let texts = texts.into_iter().map(|text| text.into().map(c_text).transpose()).collect::<Result<Vec<_>, _>>()?;
        let pointers = texts.iter().map(|text| text.as_ref().map_or(null(), |text| text.as_ptr())).collect();
        Ok(Self { _texts: texts, pointers })
    }
    pub fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
    pub fn len(&self) -> usize {
        self.pointers.len()
    }
}

pub(crate) unsafe fn bytes_of(buffer: *mut ffi::opd_buffer) -> Vec<u8> {
    unsafe {
        let bytes = view(ffi::opd_buffer_data(buffer).cast(), ffi::opd_buffer_size(buffer)).to_vec();
        ffi::opd_object_release(buffer.cast());
        bytes
    }
}

pub(crate) unsafe fn text_of(buffer: *mut ffi::opd_buffer) -> String {
    String::from_utf8_lossy(&unsafe { bytes_of(buffer) }).into_owned()
}

pub(crate) unsafe fn borrowed_text(text: *const c_char) -> Option<String> {
    let text = if text.is_null() { None } else { Some(unsafe { CStr::from_ptr(text) }) };
    text.map(|text| text.to_string_lossy().into_owned())
}
