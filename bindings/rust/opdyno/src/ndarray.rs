//! Conversions between tensors and arrays of the crate `ndarray`.
use crate::tensor::{Element, check_dtype};
use crate::{Error, Result, Tensor, TensorRef};
use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension, IxDyn, ShapeBuilder};

impl Tensor {
    /// Makes a tensor with a copy of the elements, in row-major order. The array may have any order.
    /// ```
    /// # fn main() -> opdyno::Result<()> {
    /// let array = ndarray::arr2(&[[1.0_f32, 2.0], [3.0, 4.0]]);
    /// let tensor = opdyno::Tensor::from_array(&array.t())?;
    /// assert_eq!(tensor.as_slice::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
    /// assert_eq!(tensor.as_array::<f32>()?, array.t().into_dyn());
    /// # Ok(()) }
    /// ```
    pub fn from_array<T: Element, S: Data<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>) -> Result<Self> {
        match array.as_slice() {
            Some(elements) => Self::from_slice(elements, array.shape()),
            None => Self::from_slice(&array.iter().copied().collect::<Vec<T>>(), array.shape()),
        }
    }
    /// The elements as an array that borrows them. The tensor may have strides. It is an error if the tensor has
    /// another dtype, negative strides, or memory that is not the host's.
    pub fn as_array<T: Element>(&self) -> Result<ArrayViewD<'_, T>> {
        self.view().as_array()
    }
    /// An array with a copy of the elements, from any device.
    pub fn to_array<T: Element>(&self) -> Result<ArrayD<T>> {
        let shape: Vec<usize> = self.shape().iter().map(|&dim| dim as usize).collect();
        ArrayD::from_shape_vec(IxDyn(&shape), self.to_vec()?).map_err(|error| Error::invalid(&error.to_string()))
    }
}

impl<'a> TensorRef<'a> {
    /// Like [`Tensor::as_array`].
    pub fn as_array<T: Element>(&self) -> Result<ArrayViewD<'a, T>> {
        check_dtype::<T>(self.dtype())?;
        let shape: Vec<usize> = self.shape().iter().map(|&dim| dim as usize).collect();
        if self.is_contiguous() {
            let shape = IxDyn(&shape);
            return ArrayViewD::from_shape(shape, self.as_slice()?).map_err(|error| Error::invalid(&error.to_string()));
        }
        let (first, strides) = self.strided::<T>()?;
        let shape = IxDyn(&shape).strides(IxDyn(&strides));
        // No slice is made, because it would include the memory between the elements, which other code may write.
        Ok(unsafe { ArrayViewD::from_shape_ptr(shape, first) })
    }
}
