//! Values, which are results of calls and own their objects, and their conversion to Rust types.
use crate::arg::Arg;
use crate::object::{check, given};
use crate::text::slice_of;
use crate::{Array, DType, Device, Error, Function, Map, Module, Result, Tensor, ffi};
use core::ffi::c_void;
use ffi::{opd_value, opd_value_u};

pub(crate) const NONE: opd_value = number(ffi::OPD_NONE, 0);

#[inline]
pub(crate) const fn number(type_: ffi::opd_type, int64: i64) -> opd_value {
    opd_value { r#type: type_ as i32, length: 0, u: opd_value_u { int64 } }
}

/// An address that only the code that made it can interpret. To pass the address is safe; to read from it is unsafe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointer(pub *mut c_void);
unsafe impl Send for Pointer {}
unsafe impl Sync for Pointer {}

/// An object of a kind that has no Rust type of its own.
#[derive(Debug)]
pub struct Object(*mut c_void);
unsafe impl Send for Object {} // references are counted atomically, and an Object has no other methods
unsafe impl Sync for Object {}
impl Object {
    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut c_void {
        self.0
    }
    /// The name of the object's kind, such as "opdyno.Storage".
    pub fn type_key(&self) -> &'static str {
        unsafe { crate::text::borrowed(ffi::opd_type_key(ffi::opd_object_type(self.0))) }
    }
}
impl Clone for Object {
    #[inline]
    fn clone(&self) -> Self {
        Self(unsafe { ffi::opd_object_retain(self.0) })
    }
}
impl Drop for Object {
    #[inline]
    fn drop(&mut self) {
        unsafe { ffi::opd_object_release(self.0) }
    }
}

/// The result of a call. [`FromValue`] converts it: `let y: Tensor = vm.call("main", (&x,))?`.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(missing_docs)] // the names say it
pub enum Value {
    None,
    Int(i64),
    Bool(bool),
    Float(f64),
    Pointer(Pointer),
    DType(DType),
    Device(Device),
    Text(String),
    Bytes(Vec<u8>),
    Shape(Vec<i64>),
    Tensor(Tensor),
    Function(Function),
    Module(Module),
    Array(Array),
    Map(Map),
    Error(Error),
    Object(Object),
}

impl Value {
    /// Takes ownership of a value.
    pub(crate) unsafe fn from_raw(mut raw: opd_value) -> Self {
        unsafe {
            let object = raw.u.pointer;
            match raw.r#type as ffi::opd_type {
                ffi::OPD_NONE => Self::None,
                ffi::OPD_INT => Self::Int(raw.u.int64),
                ffi::OPD_BOOL => Self::Bool(raw.u.int64 != 0),
                ffi::OPD_FLOAT => Self::Float(raw.u.float64),
                ffi::OPD_POINTER => Self::Pointer(Pointer(raw.u.pointer)),
                ffi::OPD_DTYPE => Self::DType(raw.u.dtype.into()),
                ffi::OPD_DEVICE => Self::Device(raw.u.device.into()),
                ffi::OPD_SMALL_STRING | ffi::OPD_STRING | ffi::OPD_SMALL_BYTES | ffi::OPD_BYTES => {
                    let value = Self::text(&raw);
                    ffi::opd_value_release(&mut raw);
                    value
                }
                ffi::OPD_SHAPE => {
                    let dims = shape_of(object.cast()).to_vec();
                    ffi::opd_value_release(&mut raw);
                    Self::Shape(dims)
                }
                ffi::OPD_TENSOR => Self::Tensor(given(Tensor::from_raw(object.cast()))),
                ffi::OPD_FUNCTION => Self::Function(given(Function::from_raw(object.cast()))),
                ffi::OPD_MODULE => Self::Module(given(Module::from_raw(object.cast()))),
                ffi::OPD_ARRAY => Self::Array(given(Array::from_raw(object.cast()))),
                ffi::OPD_MAP => Self::Map(given(Map::from_raw(object.cast()))),
                ffi::OPD_ERROR => Error::check(object.cast()).map_or_else(Self::Error, |()| Self::None),
                _ if raw.r#type >= ffi::OPD_OBJECT as i32 => Self::Object(Object(object)),
                _ => Self::Pointer(Pointer(object)), // borrowed, of an unknown kind; no function should return it
            }
        }
    }

    /// Makes a value of text or bytes, which are copied.
    pub(crate) unsafe fn text(raw: &opd_value) -> Self {
        let bytes = unsafe { text_bytes(raw) };
        match raw.r#type as ffi::opd_type {
            ffi::OPD_CSTRING | ffi::OPD_SMALL_STRING | ffi::OPD_STRING => {
                Self::Text(String::from_utf8_lossy(bytes).into_owned())
            }
            _ => Self::Bytes(bytes.to_vec()),
        }
    }

    #[inline]
    pub(crate) fn into_raw(self) -> Result<opd_value> {
        Arg::from(&self).into_raw()
    }

    /// The name of the value's kind, as in error messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Int(_) => "an int",
            Self::Bool(_) => "a bool",
            Self::Float(_) => "a float",
            Self::Pointer(_) => "a pointer",
            Self::DType(_) => "a dtype",
            Self::Device(_) => "a device",
            Self::Text(_) => "a string",
            Self::Bytes(_) => "bytes",
            Self::Shape(_) => "a shape",
            Self::Tensor(_) => "a tensor",
            Self::Function(_) => "a function",
            Self::Module(_) => "a module",
            Self::Array(_) => "an array",
            Self::Map(_) => "a map",
            Self::Error(_) => "an error",
            Self::Object(object) => object.type_key(),
        }
    }

    /// Converts the value to the type `T`.
    #[inline]
    pub fn to<T: FromValue>(self) -> Result<T> {
        T::from_value(self)
    }
}

impl core::fmt::Display for Value {
    /// Writes the text that the library shows to users.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let arg = [Arg::from(self)];
        let text = crate::arg::as_raw(&arg).and_then(|raw| crate::text::text!(opd_value_to_string(raw.as_ptr())));
        f.write_str(&text.map_err(|_| core::fmt::Error)?)
    }
}

// A generic implementation for every FromValue is not possible: it would conflict with the standard library's TryFrom
// for every `Into`.
macro_rules! try_from {
    ($($type:ty),* $(,)?) => {$(
        impl TryFrom<Value> for $type {
            type Error = Error;
            #[inline]
            fn try_from(value: Value) -> Result<Self> {
                Self::from_value(value)
            }
        }
    )*};
}
try_from!((), bool, i8, i16, i32, i64, u8, u16, u32, u64, usize, isize, f32, f64, String, Vec<u8>, Vec<i64>);
try_from!(Pointer, DType, Device, Tensor, Function, Module, Array, Map, crate::KvState, Error, Object);
try_from!(Vec<Value>, Vec<Tensor>, Vec<String>);

/// The content of a text or byte string of any kind. A short content is stored in the value itself.
pub(crate) unsafe fn text_bytes(raw: &opd_value) -> &[u8] {
    let (mut data, mut size) = (core::ptr::null(), 0);
    match check!(opd_string_get(raw, &mut data, &mut size)) {
        Ok(()) => unsafe { slice_of(data.cast(), size) },
        Err(_) => &[],
    }
}

pub(crate) unsafe fn shape_of<'a>(shape: *const ffi::opd_shape) -> &'a [i64] {
    let mut ndim = 0;
    unsafe { slice_of(ffi::opd_shape_dims(shape, &mut ndim), ndim as usize) }
}

pub(crate) fn mismatch(expected: &str, given: &str) -> Error {
    Error::new(crate::Code::InvalidArgument, "TypeError", &format!("expected {expected}, but got {given}"))
}

/// Types to which the result of a call can be converted. An error names the expected and the actual kind. All these
/// types except `Option` also implement `TryFrom<Value>`.
pub trait FromValue: Sized {
    /// Converts the value.
    fn from_value(value: Value) -> Result<Self>;

    /// Converts an owned C value; plain kinds need no intermediate [`Value`]. The value is passed by reference, because
    /// a copy of the whole value directly after C wrote its fields would stall.
    ///
    /// # Safety
    /// The value is owned, and no other code uses it from now on.
    #[doc(hidden)]
    #[inline]
    unsafe fn from_c(raw: &opd_value) -> Result<Self> {
        Self::from_value(unsafe { Value::from_raw(*raw) })
    }
}
impl FromValue for Value {
    fn from_value(value: Value) -> Result<Self> {
        Ok(value)
    }
}
impl FromValue for () {
    /// Accepts any value and drops it.
    fn from_value(_: Value) -> Result<Self> {
        Ok(())
    }
    #[inline]
    unsafe fn from_c(raw: &opd_value) -> Result<Self> {
        if raw.r#type as ffi::opd_type >= ffi::OPD_OBJECT {
            unsafe { ffi::opd_object_release(raw.u.pointer) }
        }
        Ok(())
    }
}
impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self> {
        if matches!(value, Value::None) { Ok(None) } else { T::from_value(value).map(Some) }
    }
}
// Frequent kinds are converted directly from the C value by its tag, without a Value.
macro_rules! plain {
    ($($type:ty: $expected:literal, $kind:ident $(, $tag:ident as $raw:ident => $content:expr)?;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: Value) -> Result<Self> {
                match value {
                    Value::$kind(content) => Ok(content),
                    other => Err(mismatch($expected, other.kind())),
                }
            }
            $(#[inline]
            unsafe fn from_c($raw: &opd_value) -> Result<Self> {
                if $raw.r#type as ffi::opd_type == ffi::$tag {
                    return Ok($content);
                }
                Self::from_value(unsafe { Value::from_raw(*$raw) })
            })?
        }
        impl From<$type> for Value {
            #[inline]
            fn from(content: $type) -> Self {
                Self::$kind(content)
            }
        }
    )*};
}
plain!(Pointer: "a pointer", Pointer; DType: "a dtype", DType; Device: "a device", Device;
    String: "a string", Text; Vec<u8>: "bytes", Bytes; Vec<i64>: "a shape", Shape;
    Function: "a function", Function; Module: "a module", Module; Array: "an array", Array; Map: "a map", Map;
    Error: "an error", Error; Object: "an object", Object;
    i64: "an int", Int, OPD_INT as raw => unsafe { raw.u.int64 };
    Tensor: "a tensor", Tensor, OPD_TENSOR as raw => given(unsafe { Tensor::from_raw(raw.u.pointer.cast()) }););

impl FromValue for bool {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Bool(x) => Ok(x),
            Value::Int(x @ (0 | 1)) => Ok(x == 1),
            other => Err(mismatch("a bool", other.kind())),
        }
    }
}
impl From<bool> for Value {
    #[inline]
    fn from(content: bool) -> Self {
        Self::Bool(content)
    }
}
impl FromValue for f64 {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Float(x) => Ok(x),
            Value::Int(x) => Ok(x as f64),
            other => Err(mismatch("a float", other.kind())),
        }
    }
    #[inline]
    unsafe fn from_c(raw: &opd_value) -> Result<Self> {
        if raw.r#type as ffi::opd_type == ffi::OPD_FLOAT {
            return Ok(unsafe { raw.u.float64 });
        }
        Self::from_value(unsafe { Value::from_raw(*raw) })
    }
}
impl From<f64> for Value {
    #[inline]
    fn from(content: f64) -> Self {
        Self::Float(content)
    }
}
impl FromValue for f32 {
    fn from_value(value: Value) -> Result<Self> {
        f64::from_value(value).map(|x| x as f32)
    }
}
impl From<f32> for Value {
    #[inline]
    fn from(content: f32) -> Self {
        Self::Float(content.into())
    }
}
impl From<()> for Value {
    #[inline]
    fn from((): ()) -> Self {
        Self::None
    }
}
impl From<&str> for Value {
    #[inline]
    fn from(content: &str) -> Self {
        Self::Text(content.to_owned())
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    #[inline]
    fn from(content: Option<T>) -> Self {
        content.map_or(Self::None, T::into)
    }
}
macro_rules! narrow {
    ($($type:ty),*) => {$(
        impl FromValue for $type {
            fn from_value(value: Value) -> Result<Self> {
                let wide = i64::from_value(value)?;
                wide.try_into().map_err(|_| {
                    let message = format!(concat!("{} does not fit ", stringify!($type)), wide);
                    Error::new(crate::Code::OutOfRange, "OverflowError", &message)
                })
            }
        }
    )*};
}
narrow!(i8, i16, i32, u8, u16, u32, u64, usize, isize);
macro_rules! int_values {
    ($($type:ty),*) => {$(
        impl From<$type> for Value {
            #[inline]
            fn from(content: $type) -> Self {
                Self::Int(content.into())
            }
        }
    )*};
}
int_values!(i8, i16, i32, u8, u16, u32);

macro_rules! tuples {
    ($($count:literal: $($name:ident $place:literal),+;)*) => {$(
        impl<$($name: FromValue),+> FromValue for ($($name,)+) {
            fn from_value(value: Value) -> Result<Self> {
                let array = Array::from_value(value)?;
                if array.len() != $count {
                    return Err(mismatch(concat!("a tuple of ", $count), &format!("one of {}", array.len())));
                }
                Ok(($(array.get($place)?.to::<$name>()?,)+))
            }
        }
        impl<$($name: FromValue),+> TryFrom<Value> for ($($name,)+) {
            type Error = Error;
            fn try_from(value: Value) -> Result<Self> {
                Self::from_value(value)
            }
        }
    )*};
}
tuples!(1: A 0; 2: A 0, B 1; 3: A 0, B 1, C 2; 4: A 0, B 1, C 2, D 3; 5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;);

/// The items of an array.
impl FromValue for Vec<Value> {
    fn from_value(value: Value) -> Result<Self> {
        Array::from_value(value)?.iter().collect()
    }
}
impl FromValue for Vec<Tensor> {
    fn from_value(value: Value) -> Result<Self> {
        Array::from_value(value)?.iter().map(|item| item?.to()).collect()
    }
}
impl FromValue for Vec<String> {
    fn from_value(value: Value) -> Result<Self> {
        Array::from_value(value)?.iter().map(|item| item?.to()).collect()
    }
}
