//! Tensors, their dtypes, and devices.
use crate::object::{check, create, handle};
use crate::text::with_text;
use crate::{Code, Error, Result, TensorRef, ffi};
use core::fmt;
use core::str::FromStr;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DType {
    /// The kind, a `kDL…` of DLPack.
    pub code: u8,
    /// The size of one lane in bits.
    pub bits: u8,
    /// The number of lanes, 1 for plain elements.
    pub lanes: u16,
}
impl DType {
    /// The size of an element in bytes, rounded up.
    pub const fn item_size(&self) -> usize {
        (self.bits as usize * self.lanes as usize).div_ceil(8)
    }
}
macro_rules! dtypes {
    ($($name:ident: $code:ident $bits:literal;)*) => {
        #[allow(missing_docs)] // the names say it
        impl DType {
            $(pub const $name: Self = Self { code: ffi::$code as u8, bits: $bits, lanes: 1 };)*
        }
    };
}
dtypes!(BOOL: kDLBool 8; FLOAT16: kDLFloat 16; FLOAT32: kDLFloat 32; FLOAT64: kDLFloat 64; BFLOAT16: kDLBfloat 16;
    INT8: kDLInt 8; INT16: kDLInt 16; INT32: kDLInt 32; INT64: kDLInt 64;
    UINT8: kDLUInt 8; UINT16: kDLUInt 16; UINT32: kDLUInt 32; UINT64: kDLUInt 64;);

impl From<ffi::DLDataType> for DType {
    #[inline]
    fn from(raw: ffi::DLDataType) -> Self {
        Self { code: raw.code, bits: raw.bits, lanes: raw.lanes }
    }
}
impl From<DType> for ffi::DLDataType {
    #[inline]
    fn from(dtype: DType) -> Self {
        Self { code: dtype.code, bits: dtype.bits, lanes: dtype.lanes }
    }
}
impl fmt::Display for DType {
    /// The text as TVM writes it: "float32", "int8x4" …
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::Value::DType(*self).fmt(f)
    }
}
impl FromStr for DType {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let mut raw = ffi::DLDataType { code: 0, bits: 0, lanes: 0 };
        with_text(text, |text| check!(opd_dtype_from_string(text, &mut raw)))?;
        Ok(raw.into())
    }
}

/// The device of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Device {
    /// The kind, a `kDL…` of DLPack.
    pub device_type: u32,
    /// The index among the devices of that kind.
    pub device_id: i32,
}
impl Device {
    /// "cpu:0".
    pub const CPU: Self = Self { device_type: ffi::kDLCPU, device_id: 0 };
    /// Whether the device's memory is that of the host.
    pub fn is_cpu(&self) -> bool {
        self.device_type == ffi::kDLCPU
    }
}
impl From<ffi::DLDevice> for Device {
    #[inline]
    fn from(raw: ffi::DLDevice) -> Self {
        Self { device_type: raw.device_type, device_id: raw.device_id }
    }
}
impl From<Device> for ffi::DLDevice {
    #[inline]
    fn from(device: Device) -> Self {
        Self { device_type: device.device_type, device_id: device.device_id }
    }
}
impl fmt::Display for Device {
    /// "cpu:0".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::Value::Device(*self).fmt(f)
    }
}
impl FromStr for Device {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let mut raw = Device::CPU.into();
        with_text(text, |text| check!(opd_device_from_string(text, &mut raw)))?;
        Ok(raw.into())
    }
}

/// Rust types of a tensor's elements. The trait is implemented for the primitive numbers.
///
/// # Safety
/// `DTYPE` has the size and meaning of the type. Every bit pattern is a valid value of the type.
pub unsafe trait Element: Copy + Default + Send + Sync + 'static {
    /// The dtype of the type.
    const DTYPE: DType;
}
macro_rules! elements {
    ($($type:ty: $dtype:ident),*) => {$(
        unsafe impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}
elements!(f32: FLOAT32, f64: FLOAT64, i8: INT8, i16: INT16, i32: INT32, i64: INT64);
elements!(u8: UINT8, u16: UINT16, u32: UINT32, u64: UINT64);

pub(crate) fn check_dtype<T: Element>(dtype: DType) -> Result<()> {
    if dtype == T::DTYPE {
        return Ok(());
    }
    let message = format!("the elements of the tensor are {dtype}, not {}", T::DTYPE);
    Err(Error::new(Code::InvalidArgument, "TypeError", &message))
}

pub(crate) fn not_unique() -> Error {
    let message = "the elements of the tensor are to be written, but something else refers to them; write a copy";
    Error::new(Code::FailedPrecondition, "", message)
}

pub(crate) fn read_only() -> Error {
    Error::invalid("the elements of the tensor are to be written, but the tensor is read-only; write a copy")
}

pub(crate) fn not_aligned<T>() -> Error {
    Error::invalid(&format!("the elements do not lie at a multiple of {} bytes; copy it", align_of::<T>()))
}

/// Returns an error unless the elements can be read as a slice of `T`.
pub(crate) fn check_element<T: Element>(tensor: &TensorRef<'_>) -> Result<()> {
    check_dtype::<T>(tensor.dtype())?;
    if !tensor.device().is_cpu() {
        return Err(Error::invalid(&format!("the tensor lies on {}, not on the host; copy it", tensor.device())));
    }
    if !tensor.is_contiguous() {
        return Err(Error::invalid("the tensor is strided; copy it"));
    }
    if !tensor.is_aligned::<T>() {
        return Err(not_aligned::<T>());
    }
    Ok(())
}

/// Types that can be the sizes of axes: arrays, slices and vectors of integers.
pub trait Dims {
    /// Converts the sizes for the library.
    fn to_dims(&self) -> Result<Vec<i64>>;
}
macro_rules! dims {
    ($($type:ty),*) => {$(
        impl Dims for [$type] {
            fn to_dims(&self) -> Result<Vec<i64>> {
                let narrow = |&dim| i64::try_from(dim).map_err(|_| Error::invalid(&format!("a size of {dim}")));
                self.iter().map(narrow).collect()
            }
        }
        impl<const N: usize> Dims for [$type; N] {
            fn to_dims(&self) -> Result<Vec<i64>> {
                self[..].to_dims()
            }
        }
        impl Dims for Vec<$type> {
            fn to_dims(&self) -> Result<Vec<i64>> {
                self[..].to_dims()
            }
        }
    )*};
}
dims!(i32, i64, u32, u64, usize);
impl<T: Dims + ?Sized> Dims for &T {
    fn to_dims(&self) -> Result<Vec<i64>> {
        (**self).to_dims()
    }
}

handle! {
    /// Elements of one dtype in memory of a device. A clone refers to the same elements, like a clone of an `Arc`, and so does a
    /// reshaped tensor.
    ///
    /// Elements are read through `&Tensor` and written through `&mut Tensor`. They can be written only while the tensor
    /// is unique ([`Tensor::is_unique`]): no clone, reshaped tensor, module or VM refers to them. Otherwise a write is
    /// an error. A write to a read-only tensor ([`Tensor::is_read_only`]) is an error, too.
    Tensor, opd_tensor
}

impl Tensor {
    /// Makes a tensor whose bytes are all 0.
    pub fn zeros(shape: impl Dims, dtype: DType, device: Device) -> Result<Self> {
        let made = Self::uninitialised(&shape.to_dims()?, dtype, device)?;
        let size = made.size_in_bytes() as usize;
        if device.is_cpu() {
            unsafe { made.view().data::<u8>().write_bytes(0, size) };
            return Ok(made);
        }
        let zeros = vec![0_u8; size];
        check!(opd_tensor_copy_from_bytes(made.as_ptr(), zeros.as_ptr().cast(), zeros.len()))?;
        Ok(made)
    }
    fn uninitialised(dims: &[i64], dtype: DType, device: Device) -> Result<Self> {
        let ndim = dims.len().try_into().map_err(|_| Error::invalid("a tensor has at most 2^31 - 1 axes"))?;
        create!(Tensor, opd_tensor_create(dims.as_ptr(), ndim, dtype.into(), device.into()))
    }
    /// Makes a tensor in the host's memory with a copy of the elements.
    pub fn from_slice<T: Element>(elements: &[T], shape: impl Dims) -> Result<Self> {
        let made = Self::uninitialised(&shape.to_dims()?, T::DTYPE, Device::CPU)?;
        let size = size_of_val(elements);
        if made.size_in_bytes() != size as u64 {
            let message = format!("{} elements do not fill {:?}", elements.len(), made.shape());
            return Err(Error::invalid(&message));
        }
        check!(opd_tensor_copy_from_bytes(made.as_ptr(), elements.as_ptr().cast(), size))?;
        Ok(made)
    }
    /// Makes a tensor without axes.
    pub fn scalar<T: Element>(element: T) -> Result<Self> {
        Self::from_slice(&[element], [0_i64; 0])
    }
    pub(crate) fn copy_of(from: &ffi::DLTensor, device: Device) -> Result<Self> {
        let dims = unsafe { crate::text::slice_of(from.shape, from.ndim.max(0) as usize) };
        let made = Self::uninitialised(dims, from.dtype.into(), device)?;
        check!(opd_tensor_copy(from, made.as_ptr()))?;
        Ok(made)
    }
    /// Takes ownership of a tensor of another library.
    ///
    /// # Safety
    /// `managed` is a complete DLPack tensor that no other code uses from now on. As long as this tensor or one that
    /// shares its elements lives, no other code writes the elements. If Rust code writes the elements of a writable
    /// tensor, no other code reads them either.
    pub unsafe fn from_dlpack(managed: *mut ffi::DLManagedTensorVersioned) -> Result<Self> {
        create!(Tensor, opd_tensor_from_dlpack_versioned(managed))
    }
    /// Takes ownership of a tensor in the struct that DLPack had before version 1.
    ///
    /// # Safety
    /// The rules of [`Tensor::from_dlpack`] apply.
    pub unsafe fn from_dlpack_unversioned(managed: *mut ffi::DLManagedTensor) -> Result<Self> {
        create!(Tensor, opd_tensor_from_dlpack(managed))
    }
    /// Exports the tensor to another library, which must call the deleter at the end. Until then this tensor is not
    /// unique, so its elements cannot be written here.
    pub fn to_dlpack(&self) -> Result<*mut ffi::DLManagedTensorVersioned> {
        let mut managed = core::ptr::null_mut();
        check!(opd_tensor_to_dlpack_versioned(self.as_ptr(), &mut managed))?;
        Ok(managed)
    }
    /// Exports the tensor in the struct that DLPack had before version 1.
    pub fn to_dlpack_unversioned(&self) -> Result<*mut ffi::DLManagedTensor> {
        let mut managed = core::ptr::null_mut();
        check!(opd_tensor_to_dlpack(self.as_ptr(), &mut managed))?;
        Ok(managed)
    }

    /// A read-only view of the tensor.
    #[inline]
    pub fn view(&self) -> TensorRef<'_> {
        TensorRef::of(self)
    }
    /// The type of its elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.view().dtype()
    }
    /// The device of its elements.
    #[inline]
    pub fn device(&self) -> Device {
        self.view().device()
    }
    /// The number of elements along each axis.
    #[inline]
    pub fn shape(&self) -> &[i64] {
        self.view().shape()
    }
    /// The stride of each axis, in elements.
    pub fn strides(&self) -> Vec<i64> {
        self.view().strides()
    }
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.view().len()
    }
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
    }
    /// The size of the elements in bytes.
    pub fn size_in_bytes(&self) -> u64 {
        unsafe { ffi::opd_tensor_bytes(self.as_ptr()) }
    }
    /// Whether the elements are in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        unsafe { ffi::opd_tensor_is_contiguous(self.as_ptr()) != 0 }
    }
    /// Whether the elements must not be written, for example because a read-only array shares them.
    pub fn is_read_only(&self) -> bool {
        unsafe { ffi::opd_tensor_is_read_only(self.as_ptr()) != 0 }
    }
    /// Whether no other object refers to the tensor or its elements.
    #[inline]
    pub fn is_unique(&self) -> bool {
        unsafe { ffi::opd_tensor_is_unique(self.as_ptr()) != 0 }
    }
    /// Returns an error unless the elements may be written.
    pub(crate) fn require_writable(&mut self) -> Result<()> {
        if !self.is_unique() {
            return Err(not_unique());
        }
        if self.is_read_only() { Err(read_only()) } else { Ok(()) }
    }

    /// The elements in row-major order. It is an error if the tensor has another dtype, strides, or memory that is not
    /// the host's.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.view().as_slice()
    }
    /// The elements for writing. The errors of [`Tensor::as_slice`] apply. It is also an error if another object refers
    /// to the elements, or if the tensor is read-only.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.require_writable()?;
        unsafe { self.view().as_mut_slice() }
    }
    /// A copy of the elements, in row-major order, from any device.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.view().to_vec()
    }
    /// Copies a slice to the elements. The lengths must be equal. It is an error if another object refers to the
    /// elements, or if the tensor is read-only.
    pub fn copy_from_slice<T: Element>(&mut self, elements: &[T]) -> Result<()> {
        self.require_writable()?;
        check_dtype::<T>(self.dtype())?;
        check!(opd_tensor_copy_from_bytes(self.as_ptr(), elements.as_ptr().cast(), size_of_val(elements)))
    }
    /// Copies the elements of another tensor of the same shape and dtype, which may be on any device. It is an error if
    /// another object refers to the elements of this tensor, or if this tensor is read-only.
    pub fn copy_from(&mut self, from: &Tensor) -> Result<()> {
        self.require_writable()?;
        check!(opd_tensor_copy(ffi::opd_tensor_view(from.as_ptr()), self.as_ptr()))
    }
    /// Copies the tensor to a device.
    pub fn to_device(&self, device: Device) -> Result<Self> {
        Self::copy_of(unsafe { &*ffi::opd_tensor_view(self.as_ptr()) }, device)
    }
    /// A tensor with the same elements and another shape. It shares the elements of this tensor, which must be contiguous.
    pub fn reshape(&self, shape: impl Dims) -> Result<Self> {
        let dims = shape.to_dims()?;
        create!(Tensor, opd_tensor_reshape(self.as_ptr(), dims.as_ptr(), crate::object::num_of(dims.len())))
    }
}
