//! Closures as callbacks of C: a box, a function that calls it, one that drops it. Panics become errors.
use crate::ffi::{OPD_INTERNAL, opd_error, opd_log_level, opd_value};
use crate::value::view;
use crate::{Error, Value};
use core::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub fn begin<F>(callback: F) -> *mut c_void {
    Box::into_raw(Box::new(callback)).cast()
}

pub unsafe extern "C" fn end<F>(callback: *mut c_void) {
    let drop_it = AssertUnwindSafe(|| drop(unsafe { Box::from_raw(callback.cast::<F>()) }));
    let _ = catch_unwind(drop_it); // nobody could be told
}

pub unsafe extern "C" fn call<F: Fn(&[Value]) -> Result<Value, Error>>(
    callback: *mut c_void,
    args: *const opd_value,
    num_args: i32,
    out_result: *mut opd_value,
) -> *mut opd_error {
    let run = || {
        let callback = unsafe { &*callback.cast::<F>() };
        let args = unsafe { view(args, num_args as usize) };
        let args = args.iter().map(Value::copy).collect::<Result<Vec<_>, _>>()?;
        callback(&args)?.into_raw()
    };
    match caught(run) {
        Ok(result) => {
            unsafe { out_result.write(result) };
            core::ptr::null_mut()
        }
        Err(error) => error.into_raw(),
    }
}

/// What the user's code gives, a panic as an error.
pub fn caught<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(error_of(&*panic)))
}

fn error_of(panic: &(dyn core::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    Error::new(OPD_INTERNAL, "Panic", text.unwrap_or("a callback panicked"))
}

pub unsafe extern "C" fn log<F: Fn(opd_log_level, &str)>(
    callback: *mut c_void,
    level: opd_log_level,
    message: *const c_char,
) {
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy();
    let run = || unsafe { &*callback.cast::<F>() }(level, &text);
    let _ = catch_unwind(AssertUnwindSafe(run)); // who would log it?
}
