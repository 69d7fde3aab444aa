//! Packed functions, which are functions of modules or Rust closures, and C function pointers that call them.
use crate::arg::IntoArgs;
use crate::ffi::opd_value;
use crate::object::{check, create, handle};
use crate::text::{with_optional, with_text};
use crate::value::{FromValue, NONE, Value};
use crate::view::{FromArg, ValueRef};
use crate::{Array, Code, Collector, Device, Error, Result, callback, ffi};
use core::ffi::c_void;
use core::ptr::null_mut;

handle! {
    /// A packed function, which takes any number of values and returns one.
    Function, opd_function
}

impl Function {
    /// Makes a function from a closure of up to six arguments that are numbers, text, handles or [`Value`]s. It may return a
    /// `Result`.
    /// ```
    /// # fn main() -> opdyno::Result<()> {
    /// let power = opdyno::Function::from_fn(|base: f64, exponent: i32| base.powi(exponent))?;
    /// assert_eq!(power.call::<f64>((2.0, 10))?, 1024.0);
    /// # Ok(()) }
    /// ```
    /// If the closure returns an [`Error`], the call returns it unchanged. Any other error becomes an [`Error`] with
    /// the same text and [`source`](core::error::Error::source). A panic becomes an error of kind "Panic". The closure
    /// may be called on any thread, and on several threads at once.
    pub fn from_fn<A>(closure: impl IntoFunction<A>) -> Result<Self> {
        closure.into_function()
    }

    /// Makes a function from a closure that gets all arguments in one slice, without conversion and allocation.
    /// ```
    /// # fn main() -> opdyno::Result<()> {
    /// use opdyno::{Function, ValueRef, args};
    /// let count = Function::from_args(|args: &[ValueRef<'_>]| args.len() as i64)?;
    /// assert_eq!(count.call::<i64>(args![1, "two", 3.0])?, 3);
    /// # Ok(()) }
    /// ```
    pub fn from_args<F, R>(closure: F) -> Result<Self>
    where
        F: Fn(&[ValueRef<'_>]) -> R + Send + Sync + 'static,
        R: IntoResult,
    {
        Self::of(move |args: &[ValueRef<'_>], out: &mut opd_value| closure(args).into_c(Out(out)))
    }

    fn of<F: Fn(&[ValueRef<'_>], &mut opd_value) -> Result<()> + Send + Sync + 'static>(closure: F) -> Result<Self> {
        let data = callback::begin(closure);
        create!(Function, opd_function_create(Some(callback::call::<F>), data, Some(callback::end::<F>)))
            .inspect_err(|_| unsafe { callback::end::<F>(data) }) // C owns the closure only on success
    }

    /// Makes a function from a C function and its signature: the types of the result and the parameters, such as "f64(f64, ptr,
    /// i32)".
    ///
    /// # Safety
    /// The C function has this signature, lives as long as the result, and is memory-safe for the arguments of later
    /// calls, because calls check only the kinds of values. It follows the rules of [`Module::load`](crate::Module::load): it
    /// writes only elements of tensors that callers pass as `&mut Tensor`, and keeps no address of them. `keep_alive` is null or
    /// a handle.
    pub unsafe fn from_c(
        pointer: *mut c_void,
        signature: &str,
        name: Option<&str>,
        keep_alive: *mut c_void,
    ) -> Result<Self> {
        with_text(signature, |signature| {
            with_optional(name, |name| {
                create!(Function, opd_function_create_native(pointer, signature, name, keep_alive))
            })
        })
    }

    /// Calls the function. `R` is the type of the result: `()`, numbers, `String`, [`Tensor`](crate::Tensor), tuples …
    pub fn call<'a, R: FromValue>(&self, args: impl IntoArgs<'a>) -> Result<R> {
        let args = args.into_args();
        let raw = args.raw()?;
        let mut result = NONE;
        check!(opd_function_call(self.as_ptr(), raw.as_ptr(), crate::object::num_of(raw.len()), &mut result))?;
        unsafe { R::from_c(&result) }
    }

    /// Registers the function under a name for the whole process.
    pub fn register(&self, name: &str, override_existing: bool) -> Result<()> {
        with_text(name, |name| check!(opd_function_register(name, self.as_ptr(), override_existing.into())))
    }
    /// A registered function; if there is none, the error lists similar names. A builtin that works in place writes its
    /// tensor: pass that tensor as `&mut`. Examples are `vm.builtin.apply_softmax_with_temperature` and
    /// `tvm.contrib.sort.sort`.
    pub fn global(name: &str) -> Result<Self> {
        with_text(name, |name| create!(Function, opd_function_get_global(name)))
    }
    /// Removes a registered function. Programs that have looked it up keep it.
    pub fn remove_global(name: &str) -> Result<()> {
        with_text(name, |name| check!(opd_function_remove_global(name)))
    }
    /// The registered names, sorted.
    pub fn list_global() -> Result<Vec<String>> {
        create!(Array, opd_function_list_global())?.into_texts()
    }

    /// Makes a function that calls this one with the same arguments, measures the call with the collectors, and returns
    /// a map of their metrics.
    pub fn profile(&self, device: Device, collectors: &[&Collector], warmup_iters: i32) -> Result<Self> {
        let pointers: Vec<_> = collectors.iter().map(|each| each.as_ptr()).collect();
        let count = crate::object::num_of(pointers.len());
        create!(Function, opd_function_profile(self.as_ptr(), device.into(), pointers.as_ptr(), count, warmup_iters))
    }
}

/// The types that a closure may return: types that can become a [`Value`], and `Result`s of them.
pub trait IntoResult: Sized {
    /// Converts it to the result of a packed function.
    fn into_result(self) -> Result<Value>;

    /// Writes the result as an owned C value; plain kinds need no intermediate [`Value`]. The value is written field by
    /// field, because a copy of a whole value that was just written would stall. Other crates cannot name `Out`, so
    /// they cannot write an invalid value.
    #[doc(hidden)]
    #[inline]
    fn into_c(self, out: Out<'_>) -> Result<()> {
        *out.0 = self.into_result()?.into_raw()?;
        Ok(())
    }
}
/// The place for the result of a callback.
#[allow(missing_debug_implementations)]
pub struct Out<'a>(&'a mut opd_value);
macro_rules! plain_result {
    ($tag:ident $field:ident: $($type:ty),*) => {$(
        impl IntoResult for $type {
            fn into_result(self) -> Result<Value> {
                Ok(self.into())
            }
            #[inline]
            fn into_c(self, out: Out<'_>) -> Result<()> {
                out.0.r#type = ffi::$tag as i32;
                out.0.u.$field = self.into();
                Ok(())
            }
        }
    )*};
}
plain_result!(OPD_INT int64: i8, i16, i32, i64, u8, u16, u32);
plain_result!(OPD_BOOL int64: bool);
plain_result!(OPD_FLOAT float64: f32, f64);
macro_rules! into_result {
    ($($type:ty),*) => {$(
        impl IntoResult for $type {
            fn into_result(self) -> Result<Value> {
                Ok(self.into())
            }
        }
    )*};
}
impl IntoResult for () {
    fn into_result(self) -> Result<Value> {
        Ok(Value::None)
    }
    #[inline]
    fn into_c(self, _: Out<'_>) -> Result<()> {
        Ok(()) // the output is already `None`
    }
}
into_result!(Value, String, &str, Vec<u8>, Vec<i64>, crate::Pointer);
into_result!(crate::DType, Device, crate::Tensor, Function, crate::Module, Array, crate::Map, crate::Object);
macro_rules! wide_results {
    ($($type:ty),*) => {$(
        impl IntoResult for $type {
            /// If a number needs more than 63 bits, the result is an error.
            fn into_result(self) -> Result<Value> {
                let narrow = i64::try_from(self).map(Value::Int);
                narrow.map_err(|_| Error::new(Code::OutOfRange, "OverflowError", &format!("{self} does not fit an int64")))
            }
        }
    )*};
}
wide_results!(u64, usize, isize);
impl<T: IntoResult> IntoResult for Option<T> {
    fn into_result(self) -> Result<Value> {
        self.map_or(Ok(Value::None), T::into_result)
    }
    #[inline]
    fn into_c(self, out: Out<'_>) -> Result<()> {
        self.map_or(Ok(()), |content| content.into_c(out))
    }
}
impl<T: IntoResult, E: Into<Box<dyn core::error::Error + Send + Sync>>> IntoResult for core::result::Result<T, E> {
    fn into_result(self) -> Result<Value> {
        self.map_err(error_of)?.into_result()
    }
    #[inline]
    fn into_c(self, out: Out<'_>) -> Result<()> {
        self.map_err(error_of)?.into_c(out)
    }
}
fn error_of(error: impl Into<Box<dyn core::error::Error + Send + Sync>>) -> Error {
    match error.into().downcast::<Error>() {
        Ok(own) => *own,
        Err(other) => Error::of_any(&*other),
    }
}

/// Closures that can be packed functions; see [`Function::from_fn`].
pub trait IntoFunction<A> {
    /// Makes a packed function from the closure.
    fn into_function(self) -> Result<Function>;
}
macro_rules! closures {
    ($($count:literal: $($name:ident)*;)*) => {$(
        impl<F, R, $($name),*> IntoFunction<($($name,)*)> for F
        where
            F: Fn($($name),*) -> R + Send + Sync + 'static,
            R: IntoResult,
            $($name: for<'a> FromArg<'a>,)*
        {
            #[allow(non_snake_case)]
            fn into_function(self) -> Result<Function> {
                Function::of(move |args: &[ValueRef<'_>], out: &mut opd_value| {
                    let [$($name),*] = args else {
                        let message = format!("the function takes {} arguments, but got {}", $count, args.len());
                        return Err(Error::new(Code::InvalidArgument, "TypeError", &message));
                    };
                    self($(argument::<$name>($name, args)?),*).into_c(Out(out))
                })
            }
        }
    )*};
}
closures!(0: ; 1: A; 2: A B; 3: A B C; 4: A B C D; 5: A B C D E; 6: A B C D E G;);

/// Converts one of `args`. If this fails, the error names the argument's index.
fn argument<'a, T: FromArg<'a>>(arg: &ValueRef<'a>, args: &[ValueRef<'a>]) -> Result<T> {
    arg.to().map_err(|error| {
        let place = args.iter().position(|each| core::ptr::eq(each, arg)).unwrap_or(0);
        Error::made(
            error.code(),
            error.kind(),
            &format!("argument {place}: {}", error.message()),
            error.cause().cloned(),
        )
    })
}

handle! {
    /// A C function pointer that calls a packed function.
    Closure, opd_closure
}

impl Closure {
    /// Makes a C function pointer with a signature as for [`Function::from_c`].
    pub fn new(function: &Function, signature: &str) -> Result<Self> {
        with_text(signature, |signature| create!(Closure, opd_closure_create(function.as_ptr(), signature)))
    }
    /// The C function pointer; valid while the closure lives.
    pub fn pointer(&self) -> *mut c_void {
        unsafe { ffi::opd_closure_pointer(self.as_ptr()) }
    }
    /// Returns and clears the first error of calls through the pointer, which cannot return errors.
    pub fn take_error(&self) -> Option<Error> {
        Error::check(unsafe { ffi::opd_closure_take_error(self.as_ptr()) }).err()
    }
}

/// Sets the log, which gets the library's warnings. It is called on the thread that causes the warning. `None`: no log.
pub fn set_log<F: Fn(crate::LogLevel, &str) + Send + Sync + 'static>(log: Option<F>) {
    match log {
        Some(log) => unsafe {
            ffi::opd_log_set_callback(Some(callback::log::<F>), callback::begin(log), Some(callback::end::<F>));
        },
        None => unsafe { ffi::opd_log_set_callback(None, null_mut(), None) },
    }
}
