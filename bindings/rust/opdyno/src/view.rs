//! The arguments of a callback, which are values borrowed for the call.
use crate::object::{check, given};
use crate::tensor::{Element, check_dtype, check_element};
use crate::text::slice_of;
use crate::value::{NONE, Pointer, Value, mismatch, shape_of, text_bytes};
use crate::{Array, DType, Device, Function, Map, Module, Result, Tensor, ffi};
use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use ffi::{opd_value, opd_value_u};

/// An argument of a callback, borrowed for the call. It refers to the library's own value, so it costs no conversion
/// and no reference count until it is used.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct ValueRef<'a> {
    raw: opd_value,
    borrows: PhantomData<&'a ()>,
}
unsafe impl Send for ValueRef<'_> {} // the types that it can refer to are Send and Sync
unsafe impl Sync for ValueRef<'_> {}

impl<'a> ValueRef<'a> {
    /// # Safety
    /// The object that the value refers to lives for `'a`.
    #[inline]
    pub(crate) unsafe fn of(raw: &opd_value) -> Self {
        Self { raw: *raw, borrows: PhantomData }
    }
    /// # Safety
    /// `args` are `count` values that live for `'a`.
    #[inline]
    pub(crate) unsafe fn slice(args: *const opd_value, count: i32) -> &'a [Self] {
        unsafe { slice_of(args.cast(), count.max(0) as usize) }
    }
    #[inline]
    pub(crate) fn raw(&self) -> &opd_value {
        &self.raw
    }
    #[inline]
    fn type_(&self) -> ffi::opd_type {
        self.raw.r#type as ffi::opd_type
    }
    #[inline]
    fn object(&self) -> *mut c_void {
        unsafe { self.raw.u.pointer }
    }

    /// The name of the argument's kind, such as "int" or "ffi.Tensor".
    #[inline] // without this, from_arg() copies the value for its errors directly after C wrote it, which stalls
    pub fn kind(&self) -> &'static str {
        unsafe { crate::text::borrowed(ffi::opd_type_key(self.raw.r#type)) }
    }
    /// Whether the argument is none.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.type_() == ffi::OPD_NONE
    }
    /// The text of a string; `None` for other kinds and if the string is not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        let is_text = matches!(self.type_(), ffi::OPD_CSTRING | ffi::OPD_SMALL_STRING | ffi::OPD_STRING);
        if is_text { core::str::from_utf8(unsafe { text_bytes(&self.raw) }).ok() } else { None }
    }
    /// The bytes of a string or byte string.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self.type_() {
            ffi::OPD_CSTRING | ffi::OPD_SMALL_STRING | ffi::OPD_STRING => {}
            ffi::OPD_BYTES_VIEW | ffi::OPD_SMALL_BYTES | ffi::OPD_BYTES => {}
            _ => return None,
        }
        Some(unsafe { text_bytes(&self.raw) })
    }
    /// The numbers of a shape.
    pub fn as_shape(&self) -> Option<&'a [i64]> {
        (self.type_() == ffi::OPD_SHAPE).then(|| unsafe { shape_of(self.object().cast()) })
    }
    /// The tensor. The caller may only lend its memory.
    #[inline]
    pub fn as_tensor(&self) -> Option<TensorRef<'a>> {
        let object = self.object();
        match self.type_() {
            ffi::OPD_DLTENSOR => Some(TensorRef { tensor: unsafe { &*object.cast() }, object: None }),
            ffi::OPD_TENSOR => {
                let tensor = unsafe { &*ffi::opd_tensor_view(object.cast_const().cast()) };
                Some(TensorRef { tensor, object: NonNull::new(object.cast()) })
            }
            _ => None,
        }
    }

    /// Makes an owned value, which may outlive the call. Text is copied, and so is a tensor that the caller only lends.
    pub fn to_value(&self) -> Result<Value> {
        let mut made = NONE;
        match self.type_() {
            ffi::OPD_CSTRING | ffi::OPD_BYTES_VIEW => return Ok(unsafe { Value::text(&self.raw) }),
            ffi::OPD_DLTENSOR => return self.to::<TensorRef<'_>>()?.to_tensor().map(Value::Tensor),
            _ => check!(opd_value_retain(&self.raw, &mut made))?,
        }
        Ok(unsafe { Value::from_raw(made) })
    }
    /// Converts the argument to the requested type: numbers, `String`, [`TensorRef`], handles …
    #[inline]
    pub fn to<T: FromArg<'a>>(&self) -> Result<T> {
        T::from_arg(*self)
    }
}

impl fmt::Debug for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::text::text!(opd_value_to_string(&self.raw)) {
            Ok(text) => f.write_str(&text),
            Err(_) => f.write_str(self.kind()),
        }
    }
}

/// A tensor among the arguments of a callback. It can be copied but not kept, because the caller may only lend its
/// memory.
#[derive(Clone, Copy)]
pub struct TensorRef<'a> {
    tensor: &'a ffi::DLTensor,
    object: Option<NonNull<ffi::opd_tensor>>, // None: the caller lends the tensor
}
unsafe impl Send for TensorRef<'_> {} // like &Tensor
unsafe impl Sync for TensorRef<'_> {}

impl<'a> TensorRef<'a> {
    #[inline]
    pub(crate) fn of(tensor: &'a Tensor) -> Self {
        let view = unsafe { &*ffi::opd_tensor_view(tensor.as_ptr()) };
        Self { tensor: view, object: NonNull::new(tensor.as_ptr()) }
    }
    #[inline]
    pub(crate) fn raw(&self) -> opd_value {
        match self.object {
            Some(object) => unsafe { ffi::opd_value_of_object(object.as_ptr().cast()) },
            None => {
                let dltensor = core::ptr::from_ref(self.tensor).cast_mut();
                opd_value { r#type: ffi::OPD_DLTENSOR as i32, length: 0, u: opd_value_u { dltensor } }
            }
        }
    }

    /// The number of elements along each axis.
    #[inline]
    pub fn shape(&self) -> &'a [i64] {
        unsafe { slice_of(self.tensor.shape, self.tensor.ndim.max(0) as usize) }
    }
    /// The stride of each axis, in elements.
    pub fn strides(&self) -> Vec<i64> {
        let shape = self.shape();
        if !self.tensor.strides.is_null() {
            return unsafe { slice_of(self.tensor.strides, shape.len()) }.to_vec();
        }
        // A lent view without strides is in row-major order.
        let step = |axis| shape[axis + 1..].iter().fold(1, |step: i64, &dim| step.saturating_mul(dim.max(1)));
        (0..shape.len()).map(step).collect()
    }
    /// The type of its elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.tensor.dtype.into()
    }
    /// The device of its elements.
    #[inline]
    pub fn device(&self) -> Device {
        self.tensor.device.into()
    }
    /// The number of elements.
    pub fn len(&self) -> usize {
        if self.shape().contains(&0) {
            return 0; // one size is 0, so the product of the others, which may overflow, is not needed
        }
        self.shape().iter().map(|&dim| dim.max(0) as usize).product()
    }
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Whether the elements are in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        if self.tensor.strides.is_null() || self.is_empty() {
            return true;
        }
        let strides = unsafe { slice_of(self.tensor.strides, self.shape().len()) };
        let mut expected = 1;
        for (&dim, &stride) in self.shape().iter().zip(strides).rev() {
            if dim != 1 && stride != expected {
                return false;
            }
            expected *= dim;
        }
        true
    }

    /// The elements in row-major order. It is an error if the tensor has another dtype, strides, or memory that is not
    /// the host's.
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T]> {
        check_element::<T>(self)?;
        Ok(unsafe { slice_of(self.data::<T>(), self.len()) })
    }
    pub(crate) fn is_aligned<T>(&self) -> bool {
        self.is_empty() || self.data::<T>().is_aligned()
    }
    pub(crate) fn data<T>(&self) -> *mut T {
        self.tensor.data.wrapping_byte_add(self.tensor.byte_offset as usize).cast()
    }
    /// The elements, for writing.
    ///
    /// # Safety
    /// The caller of the callback passed this tensor as an output, so no other code reads or writes it during the call.
    #[allow(clippy::mut_from_ref)] // the memory belongs to the caller of the callback
    pub unsafe fn as_mut_slice<T: Element>(&self) -> Result<&'a mut [T]> {
        check_element::<T>(self)?;
        if self.object.is_some_and(|object| unsafe { ffi::opd_tensor_is_read_only(object.as_ptr()) } != 0) {
            return Err(crate::tensor::read_only());
        }
        Ok(if self.is_empty() { &mut [] } else { unsafe { core::slice::from_raw_parts_mut(self.data(), self.len()) } })
    }
    /// The address of the first element, and the strides. A negative stride is an error.
    #[cfg(feature = "ndarray")]
    pub(crate) fn strided<T: Element>(&self) -> Result<(*const T, Vec<usize>)> {
        check_dtype::<T>(self.dtype())?;
        if !self.device().is_cpu() {
            return Err(crate::Error::invalid("the tensor does not lie on the host; copy it"));
        }
        if !self.is_aligned::<T>() {
            return Err(crate::tensor::not_aligned::<T>());
        }
        let strides = unsafe { slice_of(self.tensor.strides, self.shape().len()) };
        let step = |&stride: &i64| usize::try_from(stride).map_err(|_| crate::Error::invalid("a stride is negative"));
        Ok((self.data::<T>(), strides.iter().map(step).collect::<Result<_>>()?))
    }
    /// A copy of the elements, in row-major order, from any device.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if self.device().is_cpu() && self.is_contiguous() && self.is_aligned::<T>() {
            return self.as_slice().map(<[T]>::to_vec);
        }
        check_dtype::<T>(self.dtype())?;
        let copy = Tensor::copy_of(self.tensor, Device::CPU)?;
        TensorRef::of(&copy).as_slice().map(<[T]>::to_vec)
    }
    /// Makes a tensor that may outlive the call. It shares the memory. If the caller only lends the memory, it is a
    /// copy.
    pub fn to_tensor(&self) -> Result<Tensor> {
        match self.object {
            Some(object) => {
                let retained = unsafe { ffi::opd_object_retain(object.as_ptr().cast()) };
                Ok(given(unsafe { Tensor::from_raw(retained.cast()) }))
            }
            None => Tensor::copy_of(self.tensor, self.device()),
        }
    }
}

impl fmt::Debug for TensorRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}{:?}, {})", self.dtype(), self.shape(), self.device())
    }
}

/// Types to which an argument of a callback can be converted.
pub trait FromArg<'a>: Sized {
    /// Converts the argument.
    fn from_arg(arg: ValueRef<'a>) -> Result<Self>;
}
impl<'a> FromArg<'a> for ValueRef<'a> {
    #[inline]
    fn from_arg(arg: ValueRef<'a>) -> Result<Self> {
        Ok(arg)
    }
}
impl<'a> FromArg<'a> for TensorRef<'a> {
    #[inline]
    fn from_arg(arg: ValueRef<'a>) -> Result<Self> {
        arg.as_tensor().ok_or_else(|| mismatch("a tensor", arg.kind()))
    }
}
impl<'a> FromArg<'a> for i64 {
    #[inline]
    fn from_arg(arg: ValueRef<'a>) -> Result<Self> {
        match arg.type_() {
            ffi::OPD_INT | ffi::OPD_BOOL => Ok(unsafe { arg.raw.u.int64 }),
            _ => Err(mismatch("an int", arg.kind())),
        }
    }
}
impl<'a> FromArg<'a> for f64 {
    #[inline]
    fn from_arg(arg: ValueRef<'a>) -> Result<Self> {
        match arg.type_() {
            ffi::OPD_FLOAT => Ok(unsafe { arg.raw.u.float64 }),
            ffi::OPD_INT | ffi::OPD_BOOL => Ok(unsafe { arg.raw.u.int64 } as f64),
            _ => Err(mismatch("a float", arg.kind())),
        }
    }
}
impl<'a, T: FromArg<'a>> FromArg<'a> for Option<T> {
    #[inline]
    fn from_arg(arg: ValueRef<'a>) -> Result<Self> {
        if arg.is_none() { Ok(None) } else { T::from_arg(arg).map(Some) }
    }
}
macro_rules! by_value {
    ($($type:ty),*) => {$(
        impl<'a> FromArg<'a> for $type {
            #[inline]
            fn from_arg(arg: ValueRef<'a>) -> Result<Self> {
                arg.to_value()?.to()
            }
        }
    )*};
}
by_value!(i8, i16, i32, u8, u16, u32, u64, usize, isize, f32, bool, String, Vec<u8>, Vec<i64>, Pointer, DType, Device);
by_value!(Tensor, Function, Module, Array, Map, Value);
