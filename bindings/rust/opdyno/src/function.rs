//! Packed functions: those of modules, and closures of Rust.
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
    /// A packed function: any number of values in, one out.
    Function, opd_function
}

impl Function {
    /// Of a closure of up to six arguments that are numbers, text, handles or [`Value`]s. It may return `Result`s.
    /// ```
    /// # fn main() -> opdyno::Result<()> {
    /// let power = opdyno::Function::from_fn(|base: f64, exponent: i32| base.powi(exponent))?;
    /// assert_eq!(power.call::<f64>((2.0, 10))?, 1024.0);
    /// # Ok(()) }
    /// ```
    /// Its error comes out of the call as itself if it is an [`Error`], else as one of its text, whose
    /// [`source`](core::error::Error::source) is the error's. A panic is an error of kind "Panic". It may be called on any
    /// thread, and on several at once.
    pub fn from_fn<A>(closure: impl IntoFunction<A>) -> Result<Self> {
        closure.into_function()
    }

    /// Of a closure that gets all arguments as they are, without a conversion or an allocation.
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
            .inspect_err(|_| unsafe { callback::end::<F>(data) }) // taken over on success only
    }

    /// Of a C function by its signature: the result's type and those of the parameters, as "f64(f64, ptr, i32)".
    ///
    /// # Safety
    /// The C function has that signature, lives as long as the result, and does nothing with the arguments of later calls that
    /// breaks memory: calls are not checked beyond the kinds of values. It keeps to the rules of
    /// [`Module::load`](crate::Module::load), so it writes the elements only of tensors that callers pass as `&mut Tensor`, and
    /// keeps no address of them. `keep_alive` is null or a handle.
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

    /// Calls it. `R` is the type of the result: `()`, numbers, `String`, [`Tensor`](crate::Tensor), tuples …
    pub fn call<'a, R: FromValue>(&self, args: impl IntoArgs<'a>) -> Result<R> {
        let args = args.into_args();
        let raw = args.raw()?;
        let mut result = NONE;
        check!(opd_function_call(self.as_ptr(), raw.as_ptr(), raw.len() as i32, &mut result))?;
        unsafe { R::from_c(&result) }
    }

    /// Registers it for the whole process.
    pub fn register(&self, name: &str, override_existing: bool) -> Result<()> {
        with_text(name, |name| check!(opd_function_register(name, self.as_ptr(), override_existing.into())))
    }
    /// A registered function; an error with close names if there is none. A builtin that works in place, as
    /// `vm.builtin.apply_softmax_with_temperature` and `tvm.contrib.sort.sort` do, writes the tensor that it gets: pass that one
    /// as `&mut`.
    pub fn global(name: &str) -> Result<Self> {
        with_text(name, |name| create!(Function, opd_function_get_global(name)))
    }
    /// Removes a registered function. Programs that hold it keep it.
    pub fn remove_global(name: &str) -> Result<()> {
        with_text(name, |name| check!(opd_function_remove_global(name)))
    }
    /// The registered names, sorted.
    pub fn list_global() -> Result<Vec<String>> {
        create!(Array, opd_function_list_global())?.into_texts()
    }

    /// A function of the same arguments that measures a call of this one by collectors, and returns a map of their metrics.
    pub fn profile(&self, device: Device, collectors: &[&Collector], warmup_iters: i32) -> Result<Self> {
        let pointers: Vec<_> = collectors.iter().map(|each| each.as_ptr()).collect();
        let count = pointers.len() as i32;
        create!(Function, opd_function_profile(self.as_ptr(), device.into(), pointers.as_ptr(), count, warmup_iters))
    }
}

/// The types that a closure may return: those that [`Value`] can be made of, and `Result`s of them.
pub trait IntoResult: Sized {
    /// Makes it.
    fn into_result(self) -> Result<Value>;

    /// The same, written as an owned value of C; plain kinds need no [`Value`] on the way. Written field by field: a copy of
    /// the whole right after that would stall. Since `Out` has no name elsewhere, no other code can write a value that is none.
    #[doc(hidden)]
    #[inline]
    fn into_c(self, out: Out<'_>) -> Result<()> {
        *out.0 = self.into_result()?.into_raw()?;
        Ok(())
    }
}
/// Where the result of a callback belongs.
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
        Ok(()) // it holds none already
    }
}
into_result!(Value, String, &str, Vec<u8>, Vec<i64>, crate::Pointer);
into_result!(crate::DType, Device, crate::Tensor, Function, crate::Module, Array, crate::Map, crate::Object);
macro_rules! wide_results {
    ($($type:ty),*) => {$(
        impl IntoResult for $type {
            /// A number beyond 63 bits is an error.
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
    /// Makes it.
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

/// An argument, or an error that names it.
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
    /// Of a signature as [`Function::from_c`] takes it.
    pub fn new(function: &Function, signature: &str) -> Result<Self> {
        with_text(signature, |signature| create!(Closure, opd_closure_create(function.as_ptr(), signature)))
    }
    /// The C function pointer; valid while the closure lives.
    pub fn pointer(&self) -> *mut c_void {
        unsafe { ffi::opd_closure_pointer(self.as_ptr()) }
    }
    /// The first error since the last call of this function: C has no way to pass it on.
    pub fn take_error(&self) -> Option<Error> {
        Error::check(unsafe { ffi::opd_closure_take_error(self.as_ptr()) }).err()
    }
}

/// The log: where warnings of the library go; each on the thread that met it. `None`: nowhere.
pub fn set_log<F: Fn(crate::LogLevel, &str) + Send + Sync + 'static>(log: Option<F>) {
    match log {
        Some(log) => unsafe {
            ffi::opd_log_set_callback(Some(callback::log::<F>), callback::begin(log), Some(callback::end::<F>));
        },
        None => unsafe { ffi::opd_log_set_callback(None, null_mut(), None) },
    }
}
