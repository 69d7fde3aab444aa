//! Closures as C callbacks: a boxed closure, a function that calls it, and a function that drops it. Panics become
//! errors.
use crate::ffi::{opd_error, opd_log_level, opd_value};
use crate::view::ValueRef;
use crate::{Code, Error, LogLevel, Result};
use core::any::Any;
use core::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) fn begin<F>(callback: F) -> *mut c_void {
    Box::into_raw(Box::new(callback)).cast()
}

pub(crate) unsafe extern "C" fn end<F>(callback: *mut c_void) {
    let _ = caught(|| {
        drop(unsafe { Box::from_raw(callback.cast::<F>()) });
        Ok(())
    }); // an error is ignored, because no caller could receive it
}

pub(crate) unsafe extern "C" fn call<F: Fn(&[ValueRef<'_>], &mut opd_value) -> Result<()>>(
    callback: *mut c_void,
    args: *const opd_value,
    num_args: i32,
    out_result: *mut opd_value,
) -> *mut opd_error {
    let run = || {
        let callback = unsafe { &*callback.cast::<F>() };
        callback(unsafe { ValueRef::slice(args, num_args) }, unsafe { &mut *out_result })
    };
    caught(run).map_or_else(Error::into_raw, |()| core::ptr::null_mut())
}

/// Runs the user's code. A panic becomes an error.
#[inline]
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(error_of(panic)))
}

#[cold]
fn error_of(panic: Box<dyn Any + Send>) -> Error {
    let error = Error::new(Code::Internal, "Panic", text_of(&*panic).unwrap_or("a callback panicked"));
    // Dropping the panic's payload may panic again, and unwinding must not reach C. The payload of the second panic is
    // leaked, because its drop might panic, too.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        if text_of(&*again).is_none() {
            core::mem::forget(again);
        }
    }
    error
}

fn text_of(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied())
}

pub(crate) unsafe extern "C" fn log<F: Fn(LogLevel, &str)>(
    callback: *mut c_void,
    level: opd_log_level,
    message: *const c_char,
) {
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy();
    let level = LogLevel::of(level).unwrap_or(LogLevel::Error);
    let _ = caught(|| {
        let callback = unsafe { &*callback.cast::<F>() };
        callback(level, &text);
        Ok(())
    }); // an error is ignored, because it could not be logged
}
