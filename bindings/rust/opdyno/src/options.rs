//! Owns the data to which the raw structs of options point during a call, and checks lengths of lists.
use crate::text::{Texts, c_path};
use crate::{Error, Result};
use core::ffi::{c_char, c_void};
use std::ffi::CString;
use std::path::Path;

#[derive(Default)]
pub(crate) struct Kept {
    paths: Vec<CString>,
    texts: Vec<Texts>,
    handles: Vec<Vec<*mut c_void>>,
}

impl Kept {
    pub fn path(&mut self, path: &Path) -> Result<*const c_char> {
        self.paths.push(c_path(path)?); // first, because moving a CString invalidates pointers to its bytes
        Ok(self.paths.last().map_or(core::ptr::null(), |path| path.as_ptr()))
    }

    pub fn text(&mut self, text: &str) -> Result<*const c_char> {
        let pointers = self.texts([text])?;
        Ok(unsafe { *pointers })
    }

    pub fn texts<'a>(
        &mut self,
        texts: impl IntoIterator<Item = impl Into<Option<&'a str>>>,
    ) -> Result<*const *const c_char> {
        let texts = Texts::of(texts)?;
        let pointers = texts.as_ptr();
        self.texts.push(texts);
        Ok(pointers)
    }

    pub fn handles<T>(&mut self, handles: impl Iterator<Item = *mut T>) -> *const *mut T {
        self.handles.push(handles.map(|handle| handle.cast()).collect());
        self.handles.last().map_or(core::ptr::null(), |kept| kept.as_ptr().cast())
    }
}

/// Checks that a list has the length of another one.
pub(crate) fn check_count(name: &str, given: usize, expected: usize) -> Result<()> {
    if given == expected {
        return Ok(());
    }
    Err(Error::invalid(&format!("option {name}: its length is {given}, but must be {expected}")))
}

/// Converts the length of a list to the type in C.
pub(crate) fn count_of<T>(list: &[T]) -> Result<i32> {
    list.len().try_into().map_err(|_| Error::invalid("a list of options has more than 2^31 items"))
}
