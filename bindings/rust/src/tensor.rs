//! Tensors and slices. Elements are copied.
use crate::{Error, Tensor, ffi};
use core::slice;

/// What a tensor's element can be. Implemented for the plain numbers.
///
/// # Safety
/// `DTYPE` has the size and meaning of the type, all of whose bit patterns are values.
pub unsafe trait Element: Copy + Default {
    const DTYPE: ffi::DLDataType;
}
macro_rules! elements {
    ($($type:ty: $code:ident),*) => {$(
        unsafe impl Element for $type {
            const DTYPE: ffi::DLDataType =
                ffi::DLDataType { code: ffi::$code as u8, bits: <$type>::MAX.to_ne_bytes().len() as u8 * 8, lanes: 1 };
        }
    )*};
}
elements!(f32: kDLFloat, f64: kDLFloat, i8: kDLInt, i16: kDLInt, i32: kDLInt, i64: kDLInt);
elements!(u8: kDLUInt, u16: kDLUInt, u32: kDLUInt, u64: kDLUInt);

impl Tensor {
    /// A tensor in the CPU's memory.
    pub fn from_slice<T: Element>(elements: &[T], shape: &[i64]) -> Result<Self, Error> {
        let cpu = ffi::DLDevice { device_type: ffi::kDLCPU, device_id: 0 };
        let tensor = Self::create(shape, T::DTYPE, cpu)?;
        tensor.copy_from_bytes(unsafe { slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) })?;
        Ok(tensor)
    }

    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        if self.dtype() != T::DTYPE {
            return Err(Error::new(ffi::OPD_INVALID_ARGUMENT, "TypeError", "the tensor has elements of another type"));
        }
        let bytes = self.bytes() as usize;
        let mut elements = vec![T::default(); bytes / size_of::<T>()];
        let data = elements.as_mut_ptr().cast();
        Error::check(unsafe { ffi::opd_tensor_copy_to_bytes(self.as_ptr(), data, bytes) })?;
        Ok(elements)
    }

    pub fn dtype(&self) -> ffi::DLDataType {
        unsafe { (*ffi::opd_tensor_view(self.as_ptr())).dtype }
    }

    pub fn shape(&self) -> &[i64] {
        let view = unsafe { &*ffi::opd_tensor_view(self.as_ptr()) };
        if view.ndim == 0 { &[] } else { unsafe { slice::from_raw_parts(view.shape, view.ndim as usize) } }
    }
}
