//! Macros that define handles, which are counted references to objects of the library, and macros that call C
//! functions.

/// A number of items as the C API takes it. The C API refuses -1, which stands for a number that does not fit.
pub(crate) fn num_of(len: usize) -> i32 {
    len.try_into().unwrap_or(-1)
}

/// Defines the struct of a handle. `Clone` adds a reference, `Drop` releases it. All handles are `Send` and `Sync`:
/// references are counted atomically, and by the headers every function behind a `&self` method is thread-safe.
macro_rules! handle {
    ($(#[$about:meta])* $name:ident, $raw:ident) => {
        $crate::object::unique_handle! { $(#[$about])* $name, $raw }
        impl Clone for $name {
            /// Another reference to the same object.
            #[inline]
            fn clone(&self) -> Self {
                unsafe { $crate::ffi::opd_object_retain(self.0.as_ptr().cast()) };
                Self(self.0)
            }
        }
    };
}
pub(crate) use handle;

/// Defines the struct of a handle without `Clone`, for an object that only one thread at a time may change, through
/// `&mut self`.
macro_rules! unique_handle {
    ($(#[$about:meta])* $name:ident, $raw:ident) => {
        $(#[$about])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name(core::ptr::NonNull<$crate::ffi::$raw>);
        unsafe impl Send for $name {}
        unsafe impl Sync for $name {}
        impl Drop for $name {
            #[inline]
            fn drop(&mut self) {
                unsafe { $crate::ffi::opd_object_release(self.0.as_ptr().cast()) }
            }
        }
        impl $name {
            /// Takes ownership of the reference; `None` for null.
            ///
            /// # Safety
            /// `raw` is null, or a reference to an object of this kind that the caller owns.
            pub unsafe fn from_raw(raw: *mut $crate::ffi::$raw) -> Option<Self> {
                core::ptr::NonNull::new(raw).map(Self)
            }
            /// The C handle, borrowed.
            #[inline]
            pub fn as_ptr(&self) -> *mut $crate::ffi::$raw {
                self.0.as_ptr()
            }
            /// The C handle. The caller owns its reference.
            #[inline]
            pub fn into_raw(self) -> *mut $crate::ffi::$raw {
                let raw = self.0.as_ptr();
                core::mem::forget(self);
                raw
            }
        }
    };
}
pub(crate) use unique_handle;

/// Makes a handle of the output of a C function that succeeded.
#[inline]
pub(crate) fn given<T>(handle: Option<T>) -> T {
    handle.expect("a function that succeeded gives a handle")
}

/// Calls a C function whose last parameter is an `out_` handle: `create!(Tensor, opd_tensor_create(a, b))`.
macro_rules! create {
    ($kind:ident, $function:ident($($argument:expr),* $(,)?)) => {{
        let mut out = core::ptr::null_mut();
        $crate::Error::check(unsafe { $crate::ffi::$function($($argument,)* &mut out) })
            .map(|()| $crate::object::given(unsafe { $kind::from_raw(out) }))
    }};
}
pub(crate) use create;

/// Calls a C function that returns an error or null: `check!(opd_vm_trim(a))`.
macro_rules! check {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::Error::check(unsafe { $crate::ffi::$function($($argument),*) })
    };
}
pub(crate) use check;
