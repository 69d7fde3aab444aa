//! What the raw structs of options point to, for the time of a call.
use crate::text::Texts;
use crate::{Error, ffi};
use core::ffi::{c_char, c_void};

#[derive(Default)]
pub(crate) struct Kept {
    texts: Vec<Texts>,
    handles: Vec<Vec<*mut c_void>>,
}

impl Kept {
    pub fn text(&mut self, text: &str) -> Result<*const c_char, Error> {
        let pointers = self.texts([text])?;
        Ok(unsafe { *pointers })
    }

    pub fn texts<'a>(
        &mut self,
        texts: impl IntoIterator<Item = impl Into<Option<&'a str>>>,
    ) -> Result<*const *const c_char, Error> {
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

/// Of a list whose length something else gives.
pub(crate) fn check_count(name: &str, given: usize, expected: usize) -> Result<(), Error> {
    if given == expected {
        return Ok(());
    }
    let message = format!("option {name}: its length is {given}, but must be {expected}");
    Err(Error::new(ffi::OPD_INVALID_ARGUMENT, "ValueError", &message))
}
