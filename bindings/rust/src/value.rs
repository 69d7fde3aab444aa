//! Values: what goes into a function ([`Arg`], which borrows) and what comes out of one ([`Value`], which owns).
use crate::ffi::{self, opd_value, opd_value_u};
use crate::{Array, Error, Function, Map, Module, Shape, Tensor};
use core::ffi::c_void;
use core::mem::forget;
use core::ptr::null_mut;
use core::slice;

pub(crate) const NONE: opd_value = number(ffi::OPD_NONE, 0);

const fn number(type_: ffi::opd_type, int64: i64) -> opd_value {
    opd_value { r#type: type_ as i32, length: 0, u: opd_value_u { int64 } }
}

/// An object of a kind that has no struct of its own here.
#[derive(Debug)]
pub struct Object(*mut c_void);
unsafe impl Send for Object {}
impl Drop for Object {
    fn drop(&mut self) {
        unsafe { ffi::opd_object_release(self.0) }
    }
}

/// A result, or an argument of a callback.
#[derive(Debug)]
pub enum Value {
    None,
    Int(i64),
    Bool(bool),
    Float(f64),
    Pointer(*mut c_void),
    DType(ffi::DLDataType),
    Device(ffi::DLDevice),
    Text(String),
    Bytes(Vec<u8>),
    Shape(Vec<i64>),
    Tensor(Tensor),
    Function(Function),
    Module(Module),
    Array(Array),
    Map(Map),
    Object(Object),
}

/// An argument: `Arg::from` takes numbers, text and references to handles and values.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    None,
    Int(i64),
    Bool(bool),
    Float(f64),
    Pointer(*mut c_void),
    DType(ffi::DLDataType),
    Device(ffi::DLDevice),
    Text(&'a str),
    Bytes(&'a [u8]),
    Shape(&'a [i64]),
    Tensor(&'a Tensor),
    Function(&'a Function),
    Module(&'a Module),
    Array(&'a Array),
    Map(&'a Map),
    Object(&'a Object),
}

macro_rules! conversions {
    ($($from:ty => $kind:ident),* $(,)?) => {$(
        impl<'a> From<$from> for Arg<'a> {
            fn from(value: $from) -> Self {
                Self::$kind(value.into())
            }
        }
    )*};
}
conversions!(i64 => Int, i32 => Int, bool => Bool, f64 => Float, f32 => Float, &'a str => Text, &'a [u8] => Bytes,
    &'a [i64] => Shape, ffi::DLDataType => DType, ffi::DLDevice => Device, &'a Tensor => Tensor,
    &'a Function => Function, &'a Module => Module, &'a Array => Array, &'a Map => Map, &'a Object => Object);

impl<'a> From<&'a Value> for Arg<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::None => Self::None,
            Value::Int(x) => Self::Int(*x),
            Value::Bool(x) => Self::Bool(*x),
            Value::Float(x) => Self::Float(*x),
            Value::Pointer(x) => Self::Pointer(*x),
            Value::DType(x) => Self::DType(*x),
            Value::Device(x) => Self::Device(*x),
            Value::Text(x) => Self::Text(x),
            Value::Bytes(x) => Self::Bytes(x),
            Value::Shape(x) => Self::Shape(x),
            Value::Tensor(x) => Self::Tensor(x),
            Value::Function(x) => Self::Function(x),
            Value::Module(x) => Self::Module(x),
            Value::Array(x) => Self::Array(x),
            Value::Map(x) => Self::Map(x),
            Value::Object(x) => Self::Object(x),
        }
    }
}

impl Arg<'_> {
    /// As the library sees it; true: a new reference, else a view of the argument.
    fn to_raw(self) -> Result<(opd_value, bool), Error> {
        let mut made = NONE;
        let object = |handle: *mut c_void| unsafe { ffi::opd_value_of_object(handle) };
        let view = match self {
            Self::None => NONE,
            Self::Int(x) => number(ffi::OPD_INT, x),
            Self::Bool(x) => number(ffi::OPD_BOOL, x.into()),
            Self::Float(x) => opd_value { u: opd_value_u { float64: x }, ..number(ffi::OPD_FLOAT, 0) },
            Self::Pointer(x) => opd_value { u: opd_value_u { pointer: x }, ..number(ffi::OPD_POINTER, 0) },
            Self::DType(x) => {
                let mut value = number(ffi::OPD_DTYPE, 0); // the bytes behind it are 0
                value.u.dtype = x;
                value
            }
            Self::Device(x) => opd_value { u: opd_value_u { device: x }, ..number(ffi::OPD_DEVICE, 0) },
            Self::Text(x) => {
                Error::check(unsafe { ffi::opd_string_create(x.as_ptr().cast(), x.len(), &mut made) })?;
                return Ok((made, true));
            }
            Self::Bytes(x) => {
                Error::check(unsafe { ffi::opd_bytes_create(x.as_ptr().cast(), x.len(), &mut made) })?;
                return Ok((made, true));
            }
            Self::Shape(x) => {
                let shape = Shape::create(x)?;
                made = object(shape.as_ptr().cast());
                forget(shape); // the value has its reference
                return Ok((made, true));
            }
            Self::Tensor(x) => object(x.as_ptr().cast()),
            Self::Function(x) => object(x.as_ptr().cast()),
            Self::Module(x) => object(x.as_ptr().cast()),
            Self::Array(x) => object(x.as_ptr().cast()),
            Self::Map(x) => object(x.as_ptr().cast()),
            Self::Object(x) => object(x.0),
        };
        Ok((view, false))
    }
}

/// Arguments as the library sees them, for the time of a call.
pub(crate) struct Views {
    values: Vec<opd_value>,
    owned: Vec<opd_value>,
}

impl Views {
    pub fn of(args: &[Arg<'_>]) -> Result<Self, Error> {
        let mut views = Self { values: Vec::with_capacity(args.len()), owned: Vec::new() };
        for arg in args {
            let (value, is_owned) = arg.to_raw()?;
            views.values.push(value);
            if is_owned {
                views.owned.push(value);
            }
        }
        Ok(views)
    }
    pub fn as_ptr(&self) -> *const opd_value {
        self.values.as_ptr()
    }
    pub fn len(&self) -> usize {
        self.values.len()
    }
}

impl Drop for Views {
    fn drop(&mut self) {
        self.owned.iter_mut().for_each(|value| unsafe { ffi::opd_value_release(value) });
    }
}

impl Value {
    /// Takes an owned value over.
    pub(crate) unsafe fn from_raw(mut raw: opd_value) -> Self {
        unsafe {
            let object = raw.u.pointer;
            match raw.r#type as ffi::opd_type {
                ffi::OPD_NONE => Self::None,
                ffi::OPD_INT => Self::Int(raw.u.int64),
                ffi::OPD_BOOL => Self::Bool(raw.u.int64 != 0),
                ffi::OPD_FLOAT => Self::Float(raw.u.float64),
                ffi::OPD_POINTER => Self::Pointer(raw.u.pointer),
                ffi::OPD_DTYPE => Self::DType(raw.u.dtype),
                ffi::OPD_DEVICE => Self::Device(raw.u.device),
                ffi::OPD_SMALL_STRING | ffi::OPD_STRING | ffi::OPD_SMALL_BYTES | ffi::OPD_BYTES => {
                    let value = Self::text(&raw);
                    ffi::opd_value_release(&mut raw);
                    value
                }
                ffi::OPD_SHAPE => {
                    let shape = Shape::from_raw(object.cast());
                    let mut ndim = 0;
                    let dims = ffi::opd_shape_dims(shape.as_ptr(), &mut ndim);
                    Self::Shape(view(dims, ndim).to_vec())
                }
                ffi::OPD_TENSOR => Self::Tensor(Tensor::from_raw(object.cast())),
                ffi::OPD_FUNCTION => Self::Function(Function::from_raw(object.cast())),
                ffi::OPD_MODULE => Self::Module(Module::from_raw(object.cast())),
                ffi::OPD_ARRAY => Self::Array(Array::from_raw(object.cast())),
                ffi::OPD_MAP => Self::Map(Map::from_raw(object.cast())),
                _ => Self::Object(Object(object)),
            }
        }
    }

    /// Of a borrowed value. A tensor of memory that the caller only lends is valid during the call.
    pub(crate) fn copy(raw: &opd_value) -> Result<Self, Error> {
        let mut made = NONE;
        match raw.r#type as ffi::opd_type {
            ffi::OPD_CSTRING | ffi::OPD_BYTES_VIEW => return Ok(unsafe { Self::text(raw) }),
            ffi::OPD_DLTENSOR => return unsafe { lend(&*raw.u.dltensor) }.map(Self::Tensor),
            _ => Error::check(unsafe { ffi::opd_value_retain(raw, &mut made) })?,
        }
        Ok(unsafe { Self::from_raw(made) })
    }

    /// As an owned value.
    pub(crate) fn into_raw(self) -> Result<opd_value, Error> {
        let (view, is_owned) = Arg::from(&self).to_raw()?;
        if is_owned {
            return Ok(view);
        }
        let mut made = NONE;
        Error::check(unsafe { ffi::opd_value_retain(&view, &mut made) })?;
        Ok(made)
    }

    unsafe fn text(raw: &opd_value) -> Self {
        let (mut data, mut size) = (core::ptr::null(), 0);
        let read = Error::check(unsafe { ffi::opd_string_get(raw, &mut data, &mut size) });
        let bytes = if read.is_ok() { unsafe { view(data.cast::<u8>(), size) } } else { &[] };
        match raw.r#type as ffi::opd_type {
            ffi::OPD_CSTRING | ffi::OPD_SMALL_STRING | ffi::OPD_STRING => {
                Self::Text(String::from_utf8_lossy(bytes).into_owned())
            }
            _ => Self::Bytes(bytes.to_vec()),
        }
    }
}

/// A tensor whose memory stays the caller's.
unsafe fn lend(lent: &ffi::DLTensor) -> Result<Tensor, Error> {
    unsafe extern "C" fn end(managed: *mut ffi::DLManagedTensor) {
        drop(unsafe { Box::from_raw(managed) });
    }
    let managed = ffi::DLManagedTensor { dl_tensor: *lent, manager_ctx: null_mut(), deleter: Some(end) };
    let (managed, mut tensor) = (Box::into_raw(Box::new(managed)), null_mut());
    unsafe {
        Error::check(ffi::opd_tensor_from_dlpack(managed, &mut tensor)).inspect_err(|_| end(managed))?;
        Ok(Tensor::from_raw(tensor))
    }
}

/// `count` elements, of which there may be none.
pub(crate) unsafe fn view<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 { &[] } else { unsafe { slice::from_raw_parts(data, count) } }
}
