//! Tensors of memory that Rust code owns: vectors, and other owners of elements.
use crate::object::create;
use crate::tensor::{Dims, Element};
use crate::{Error, Result, Tensor, callback, ffi};
use core::ptr::null_mut;

/// Programs require that an argument's data begins at a multiple of this number of bytes.
const ALIGNMENT: usize = 64;
const READ_ONLY: u64 = 1; // DLPACK_FLAG_BITMASK_READ_ONLY

impl Tensor {
    /// Makes a writable tensor of a vector's elements. If the vector's memory begins at a multiple of 64 bytes, as
    /// programs require, the tensor takes ownership of the memory. Otherwise the elements are copied.
    /// ```
    /// # fn main() -> opdyno::Result<()> {
    /// let tensor = opdyno::Tensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0], [2, 2])?;
    /// assert_eq!(tensor.as_slice::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok(()) }
    /// ```
    pub fn from_vec<T: Element>(elements: Vec<T>, shape: impl Dims) -> Result<Self> {
        if elements.is_empty() || elements.as_ptr().addr() % ALIGNMENT != 0 {
            return Self::from_slice(&elements, shape);
        }
        Owned::new(elements, 0).into_tensor(shape, |elements: *mut Vec<T>| {
            let elements = unsafe { &mut *elements };
            (elements.as_mut_ptr(), elements.len())
        })
    }

    /// Makes a read-only tensor of elements that an owner holds, such as an `Arc` or a mapped file. Nothing is copied.
    /// The owner is dropped after the last tensor of these elements, by the thread that drops that tensor.
    /// ```
    /// # fn main() -> opdyno::Result<()> {
    /// let weights: std::sync::Arc<[f32]> = [1.0, 2.0].into();
    /// let tensor = opdyno::Tensor::from_owner::<f32, _>(weights.clone(), [2])?;
    /// assert!(tensor.is_read_only() && tensor.as_slice::<f32>()?.as_ptr() == weights.as_ptr());
    /// # Ok(()) }
    /// ```
    /// Programs refuse a tensor whose data does not begin at a multiple of 64 bytes. [`Tensor::to_device`] makes an
    /// aligned copy.
    pub fn from_owner<T: Element, O: AsRef<[T]> + Send + 'static>(owner: O, shape: impl Dims) -> Result<Self> {
        Owned::new(owner, READ_ONLY).into_tensor(shape, |owner: *mut O| {
            // The elements are borrowed until the owner is dropped. No other code has access to the owner, so none can
            // end the borrow.
            let elements = unsafe { &*owner }.as_ref();
            (elements.as_ptr().cast_mut(), elements.len())
        })
    }
}

/// A DLPack tensor with its owner and its shape, in one allocation.
#[repr(C)] // the DLPack deleter gets a pointer to the first field
struct Content<O> {
    managed: ffi::DLManagedTensorVersioned,
    dims: Vec<i64>,
    owner: O,
}

const NOTHING: ffi::DLTensor = ffi::DLTensor {
    data: null_mut(),
    device: ffi::DLDevice { device_type: ffi::kDLCPU, device_id: 0 },
    ndim: 0,
    dtype: ffi::DLDataType { code: 0, bits: 0, lanes: 0 },
    shape: null_mut(),
    strides: null_mut(),
    byte_offset: 0,
};

/// Owns the content until a tensor takes ownership of it.
struct Owned<O>(*mut Content<O>);

impl<O: Send + 'static> Owned<O> {
    fn new(owner: O, flags: u64) -> Self {
        let managed = ffi::DLManagedTensorVersioned {
            version: ffi::DLPackVersion { major: 1, minor: 3 },
            manager_ctx: null_mut(),
            deleter: Some(end::<O>),
            flags,
            dl_tensor: NOTHING,
        };
        Self(Box::into_raw(Box::new(Content { managed, dims: Vec::new(), owner })))
    }

    /// `elements` is called once, after the owner has its final address.
    fn into_tensor<T: Element>(
        self,
        shape: impl Dims,
        elements: impl FnOnce(*mut O) -> (*mut T, usize),
    ) -> Result<Tensor> {
        // Fields are borrowed separately, because elements inside the owner are borrowed at the same time.
        let dims = unsafe { &mut (*self.0).dims };
        *dims = shape.to_dims()?;
        let ndim = dims.len().try_into().map_err(|_| Error::invalid("a tensor has at most 2^31 - 1 axes"))?;
        let (dtype, shape) = (T::DTYPE.into(), dims.as_mut_ptr());
        let (data, count) = elements(unsafe { &raw mut (*self.0).owner });
        unsafe { (*self.0).managed.dl_tensor = ffi::DLTensor { data: data.cast(), ndim, dtype, shape, ..NOTHING } };
        let tensor = create!(Tensor, opd_tensor_from_dlpack_versioned(self.0.cast()))?;
        core::mem::forget(self); // the tensor owns the content now
        if tensor.len() != count {
            return Err(Error::invalid(&format!("{count} elements do not fill {:?}", tensor.shape())));
        }
        Ok(tensor)
    }
}

impl<O> Drop for Owned<O> {
    fn drop(&mut self) {
        unsafe { callback::end::<Content<O>>(self.0.cast()) }
    }
}

unsafe extern "C" fn end<O>(managed: *mut ffi::DLManagedTensorVersioned) {
    unsafe { callback::end::<Content<O>>(managed.cast()) }
}
