//! The arguments of calls. They borrow the values that are passed.
use crate::object::check;
use crate::value::{Pointer, Value, number};
use crate::view::ValueRef;
use crate::{Array, DType, Device, Error, Function, KvState, Map, Module, Object, Result, Tensor, ffi};
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use ffi::{opd_value, opd_value_u};

/// One argument of a call. [`args!`](crate::args) makes it from numbers, text, `&Tensor`, `&mut Tensor` and other handles.
///
/// It has the library's own representation, so a call needs no conversion and no allocation. Only text of more than 7
/// bytes and shapes are copied. Pass `&Tensor` if the callee reads the tensor, and `&mut Tensor` if it writes the
/// tensor. A tensor that is written must have no other reference and must not be read-only, else the call returns an
/// error. An argument made from `&mut Tensor` can be used for one call only, because the call consumes it: pass it in
/// an array, a tuple or a `Vec`, not in a slice.
#[repr(transparent)]
pub struct Arg<'a> {
    raw: opd_value,
    borrows: PhantomData<&'a ()>,
}
unsafe impl Send for Arg<'_> {} // the types that it can refer to are Send and Sync
unsafe impl Sync for Arg<'_> {}

/// Kind of an argument whose conversion failed. It holds the error, which the call returns.
const FAILED: i32 = -1;
/// Marks a tensor that the callee writes: stored in the length field, which is 0 otherwise. C never sees it.
const WRITTEN: u32 = u32::MAX; // no text in a value is that long

impl<'a> Arg<'a> {
    /// No value.
    pub const NONE: Arg<'static> = Arg { raw: number(ffi::OPD_NONE, 0), borrows: PhantomData };

    #[inline]
    fn of(raw: opd_value) -> Self {
        Self { raw, borrows: PhantomData }
    }
    #[inline]
    fn plain(type_: ffi::opd_type, int64: i64) -> Self {
        Self::of(number(type_, int64))
    }
    /// Makes an argument from a handle that lives for `'a`.
    #[inline]
    fn object(handle: *mut c_void) -> Self {
        Self::of(unsafe { ffi::opd_value_of_object(handle) })
    }
    fn failed(error: Error) -> Self {
        Self::of(opd_value { r#type: FAILED, length: 0, u: opd_value_u { pointer: error.into_raw().cast() } })
    }
    fn made(result: Result<opd_value>) -> Self {
        result.map_or_else(Self::failed, Self::of)
    }
    fn bytes(data: &[u8], small: ffi::opd_type, create: impl FnOnce(&mut opd_value) -> Result<()>) -> Self {
        let mut raw = number(ffi::OPD_NONE, 0);
        if data.len() <= 7 {
            let mut bytes = [0; 8];
            for (to, from) in bytes.iter_mut().zip(data) {
                *to = *from as _;
            }
            return Self::of(opd_value { r#type: small as i32, length: data.len() as u32, u: opd_value_u { bytes } });
        }
        Self::made(create(&mut raw).map(|()| raw))
    }

    /// Whether the argument owns a reference.
    #[inline]
    fn is_owned(&self) -> bool {
        let type_ = self.raw.r#type as ffi::opd_type;
        matches!(type_, ffi::OPD_STRING | ffi::OPD_BYTES | ffi::OPD_SHAPE | ffi::OPD_ERROR) || self.is_failed()
    }
    #[inline]
    fn is_failed(&self) -> bool {
        self.raw.r#type == FAILED
    }
    #[inline]
    fn is_written(&self) -> bool {
        self.raw.length == WRITTEN
    }

    /// Converts the argument to an owned C value.
    #[inline]
    pub(crate) fn into_raw(self) -> Result<opd_value> {
        as_raw(core::slice::from_ref(&self))?;
        if self.is_owned() {
            return Ok(ManuallyDrop::new(self).raw);
        }
        let mut made = number(ffi::OPD_NONE, 0);
        check!(opd_value_retain(&self.raw, &mut made))?;
        Ok(made)
    }
}

impl Drop for Arg<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.is_owned() {
            unsafe { ffi::opd_object_release(self.raw.u.pointer) }
        }
    }
}

impl core::fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.is_failed() {
            return f.write_str("Arg(failed)");
        }
        let length = if self.is_written() { 0 } else { self.raw.length };
        write!(f, "Arg({:?})", unsafe { ValueRef::of(&opd_value { length, ..self.raw }) })
    }
}

/// The arguments as C values, or the error of the first argument that could not be made. If the callee keeps or shares
/// its arguments, a tensor to be written is an error.
#[inline]
pub(crate) fn as_raw<'a>(args: &'a [Arg<'_>]) -> Result<&'a [opd_value]> {
    if args.iter().any(Arg::is_written) { Err(written_in_vain()) } else { as_raw_of_call(args) }
}
#[inline]
fn as_raw_of_call<'a>(args: &'a [Arg<'_>]) -> Result<&'a [opd_value]> {
    if let Some(failed) = args.iter().find(|arg| arg.is_failed()) {
        let error = unsafe { failed.raw.u.pointer };
        unsafe { ffi::opd_object_retain(error) };
        Error::check(error.cast())?;
    }
    i32::try_from(args.len()).map_err(|_| Error::invalid("a call has at most 2^31 - 1 arguments"))?;
    Ok(unsafe { core::slice::from_raw_parts(args.as_ptr().cast(), args.len()) })
}
#[cold]
fn written_in_vain() -> Error {
    let message = "a tensor is passed as &mut, but can be written by one call only, which consumes its arguments; \
                   pass it as & for reading, or the arguments as an array, a tuple or a Vec";
    Error::invalid(message)
}

macro_rules! numbers {
    ($($kind:ident: $($type:ty),*;)*) => {$($(
        impl From<$type> for Arg<'_> {
            #[inline]
            fn from(value: $type) -> Self {
                Self::plain(ffi::$kind, value.into())
            }
        }
    )*)*};
}
numbers!(OPD_INT: i8, i16, i32, i64, u8, u16, u32; OPD_BOOL: bool;);
macro_rules! wide {
    ($($type:ty),*) => {$(
        impl From<$type> for Arg<'_> {
            /// If a number needs more than 63 bits, the call returns an error.
            #[inline]
            fn from(value: $type) -> Self {
                match i64::try_from(value) {
                    Ok(value) => Self::plain(ffi::OPD_INT, value),
                    Err(_) => Self::failed(Error::new(crate::Code::OutOfRange, "", &format!("{value} does not fit an int64"))),
                }
            }
        }
    )*};
}
wide!(u64, usize, isize);

impl From<f64> for Arg<'_> {
    #[inline]
    fn from(value: f64) -> Self {
        Self::of(opd_value { u: opd_value_u { float64: value }, ..number(ffi::OPD_FLOAT, 0) })
    }
}
impl From<f32> for Arg<'_> {
    #[inline]
    fn from(value: f32) -> Self {
        f64::from(value).into()
    }
}
impl From<()> for Arg<'_> {
    #[inline]
    fn from((): ()) -> Self {
        Self::NONE
    }
}
impl From<Pointer> for Arg<'_> {
    #[inline]
    fn from(value: Pointer) -> Self {
        Self::of(opd_value { u: opd_value_u { pointer: value.0 }, ..number(ffi::OPD_POINTER, 0) })
    }
}
impl From<DType> for Arg<'_> {
    #[inline]
    fn from(value: DType) -> Self {
        let mut raw = number(ffi::OPD_DTYPE, 0); // the bytes after the dtype are 0
        raw.u.dtype = value.into();
        Self::of(raw)
    }
}
impl From<Device> for Arg<'_> {
    #[inline]
    fn from(value: Device) -> Self {
        Self::of(opd_value { u: opd_value_u { device: value.into() }, ..number(ffi::OPD_DEVICE, 0) })
    }
}
impl<'a> From<&'a str> for Arg<'a> {
    #[inline]
    fn from(value: &'a str) -> Self {
        Self::bytes(value.as_bytes(), ffi::OPD_SMALL_STRING, |made| {
            check!(opd_string_create(value.as_ptr().cast(), value.len(), made))
        })
    }
}
impl<'a> From<&'a String> for Arg<'a> {
    #[inline]
    fn from(value: &'a String) -> Self {
        value.as_str().into()
    }
}
impl<'a> From<&'a [u8]> for Arg<'a> {
    #[inline]
    fn from(value: &'a [u8]) -> Self {
        Self::bytes(value, ffi::OPD_SMALL_BYTES, |made| {
            check!(opd_bytes_create(value.as_ptr().cast(), value.len(), made))
        })
    }
}
impl<'a> From<&'a [i64]> for Arg<'a> {
    /// A shape.
    #[inline]
    fn from(value: &'a [i64]) -> Self {
        let mut shape = core::ptr::null_mut();
        let made = check!(opd_shape_create(value.as_ptr(), crate::object::num_of(value.len()), &mut shape));
        Self::made(made.map(|()| unsafe { ffi::opd_value_of_object(shape.cast()) }))
    }
}
impl<'a> From<&'a mut Tensor> for Arg<'a> {
    /// A tensor that the callee writes. If it has other references or is read-only, the call returns an error.
    #[inline]
    fn from(value: &'a mut Tensor) -> Self {
        match value.require_writable() {
            Ok(()) => {
                let mut written = Self::object(value.as_ptr().cast());
                written.raw.length = WRITTEN;
                written
            }
            Err(error) => Self::failed(error),
        }
    }
}
impl<'a, T> From<Option<T>> for Arg<'a>
where
    Arg<'a>: From<T>,
{
    #[inline]
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::NONE, Self::from)
    }
}
macro_rules! handles {
    ($($type:ty),*) => {$(
        impl<'a> From<&'a $type> for Arg<'a> {
            #[inline]
            fn from(value: &'a $type) -> Self {
                Self::object(value.as_ptr().cast())
            }
        }
    )*};
}
handles!(Tensor, Function, Module, Array, Map, KvState, Object);

impl<'a> From<&'a Error> for Arg<'a> {
    #[inline]
    fn from(value: &'a Error) -> Self {
        Self::object(value.clone().into_raw().cast()) // owned: the kind of the value says so
    }
}
impl<'a> From<&'a Value> for Arg<'a> {
    #[inline]
    fn from(value: &'a Value) -> Self {
        match value {
            Value::None => Self::NONE,
            Value::Int(x) => (*x).into(),
            Value::Bool(x) => (*x).into(),
            Value::Float(x) => (*x).into(),
            Value::Pointer(x) => (*x).into(),
            Value::DType(x) => (*x).into(),
            Value::Device(x) => (*x).into(),
            Value::Text(x) => x.into(),
            Value::Bytes(x) => x.as_slice().into(),
            Value::Shape(x) => x.as_slice().into(),
            Value::Tensor(x) => x.into(),
            Value::Function(x) => x.into(),
            Value::Module(x) => x.into(),
            Value::Array(x) => x.into(),
            Value::Map(x) => x.into(),
            Value::Error(x) => x.into(),
            Value::Object(x) => x.into(),
        }
    }
}
impl<'a> From<ValueRef<'a>> for Arg<'a> {
    /// Passes an argument of a callback on.
    #[inline]
    fn from(value: ValueRef<'a>) -> Self {
        let view = Self::of(*value.raw());
        if !view.is_owned() {
            return view;
        }
        let view = ManuallyDrop::new(view);
        let mut made = number(ffi::OPD_NONE, 0);
        Self::made(check!(opd_value_retain(&view.raw, &mut made)).map(|()| made))
    }
}
impl<'a> From<crate::TensorRef<'a>> for Arg<'a> {
    #[inline]
    fn from(value: crate::TensorRef<'a>) -> Self {
        Self::of(value.raw())
    }
}

/// Several arguments: an array of [`Arg`], made by [`args!`](crate::args), a `Vec` or slice of them, or a tuple: `(&x, 3)`.
pub trait IntoArgs<'a> {
    /// The storage of the arguments during the call.
    type Array: AsRef<[Arg<'a>]>;
    /// Converts the value to the arguments of one call.
    fn into_args(self) -> CallArgs<Self::Array>;
}

/// The arguments of one call.
#[derive(Debug)]
pub struct CallArgs<A> {
    args: A,
    is_owned: bool,
    written: Option<u32>, // the index of an argument that the callee writes
}

impl<A> CallArgs<A> {
    /// Makes the arguments of a call that owns them. A tensor that is written is still unique, because no other code
    /// has had access to its argument.
    #[inline]
    fn owned<'a>(mut args: A) -> Self
    where
        A: AsMut<[Arg<'a>]>,
    {
        let mut written = None;
        for (place, arg) in args.as_mut().iter_mut().enumerate() {
            if arg.is_written() {
                arg.raw.length = 0;
                written = Some(place as u32);
            }
        }
        Self { args, is_owned: true, written }
    }
    /// Makes the arguments of a call from shared ones. Other code may use them during the call, so the callee may write
    /// none.
    #[inline]
    fn shared(args: A) -> Self {
        Self { args, is_owned: false, written: None }
    }
    /// The C values for a call.
    #[inline]
    pub(crate) fn raw<'s, 'a: 's>(&'s self) -> Result<&'s [opd_value]>
    where
        A: AsRef<[Arg<'a>]>,
    {
        let args = self.args.as_ref();
        if self.is_owned { as_raw_of_call(args) } else { as_raw(args) }
    }
    /// The C values for a callee that keeps its arguments or uses them in several calls or on several threads. So it
    /// may write none of them.
    pub(crate) fn raw_to_share<'s, 'a: 's>(&'s self) -> Result<&'s [opd_value]>
    where
        A: AsRef<[Arg<'a>]>,
    {
        if let Some(place) = self.written {
            return Err(Error::invalid(&format!(
                "argument {place} is a &mut Tensor, but not for one call only; pass &"
            )));
        }
        self.raw()
    }
}

impl<'a, const N: usize> IntoArgs<'a> for [Arg<'a>; N] {
    type Array = Self;
    #[inline]
    fn into_args(self) -> CallArgs<Self> {
        CallArgs::owned(self)
    }
}
impl<'a> IntoArgs<'a> for Vec<Arg<'a>> {
    type Array = Self;
    fn into_args(self) -> CallArgs<Self> {
        CallArgs::owned(self)
    }
}
/// The callee can only read these arguments.
impl<'a> IntoArgs<'a> for &[Arg<'a>] {
    type Array = Self;
    #[inline]
    fn into_args(self) -> CallArgs<Self> {
        CallArgs::shared(self)
    }
}
/// The callee can only read these arguments.
impl<'a, 'b> IntoArgs<'a> for &'b Vec<Arg<'a>> {
    type Array = &'b [Arg<'a>];
    #[inline]
    fn into_args(self) -> CallArgs<Self::Array> {
        CallArgs::shared(self)
    }
}
impl<'a> IntoArgs<'a> for () {
    type Array = [Arg<'a>; 0];
    #[inline]
    fn into_args(self) -> CallArgs<Self::Array> {
        CallArgs::shared([])
    }
}
macro_rules! tuples {
    ($($($name:ident)+;)*) => {$(
        impl<'a, $($name: Into<Arg<'a>>),+> IntoArgs<'a> for ($($name,)+) {
            type Array = [Arg<'a>; [$(stringify!($name)),+].len()];
            #[allow(non_snake_case)]
            #[inline]
            fn into_args(self) -> CallArgs<Self::Array> {
                let ($($name,)+) = self;
                CallArgs::owned([$($name.into()),+])
            }
        }
    )*};
}
tuples!(A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H;);

/// Makes the arguments of a call from values of any kinds: `args![&x, 3, "text"]`.
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => { [$($crate::Arg::from($arg)),*] };
}
