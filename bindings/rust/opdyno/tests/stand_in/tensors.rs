//! The stand-in's tensors in host memory, which is their own or that of a DLPack tensor.
use super::*;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// The memory of the elements, which several tensors may share.
pub enum Memory {
    Own(*mut c_void, usize), // the address and the number of 64-bit words
    Managed(*mut DLManagedTensorVersioned),
}
unsafe impl Send for Memory {}
unsafe impl Sync for Memory {}
impl Drop for Memory {
    fn drop(&mut self) {
        match *self {
            Self::Own(data, words) => drop(unsafe { Vec::from_raw_parts(data.cast::<u64>(), 0, words) }),
            Self::Managed(managed) => unsafe { (*managed).deleter.unwrap()(managed) },
        }
    }
}

pub struct Tensor {
    view: DLTensor,
    memory: Arc<Memory>,
    _dims: Vec<i64>, // the shape, then the strides
}

fn make_tensor(memory: Arc<Memory>, mut view: DLTensor, shape: &[i64], strides: Option<&[i64]>) -> *mut opd_tensor {
    let mut dims = shape.to_vec();
    let compact: Vec<i64> = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect();
    dims.extend(strides.unwrap_or(&compact));
    view.ndim = shape.len() as i32;
    view.shape = dims.as_mut_ptr();
    view.strides = view.shape.wrapping_add(shape.len());
    make(OPD_TENSOR as i32, Content::Tensor(Box::new(Tensor { view, memory, _dims: dims })))
}
unsafe fn tensor<'a>(handle: *const opd_tensor) -> &'a Tensor {
    match &unsafe { object(handle) }.content {
        Content::Tensor(tensor) => tensor,
        _ => panic!("no tensor"),
    }
}
unsafe fn shape_of(view: &DLTensor) -> &[i64] {
    unsafe { items(view.shape, view.ndim as usize) }
}
unsafe fn count_of(view: &DLTensor) -> usize {
    unsafe { shape_of(view) }.iter().product::<i64>() as usize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn opd_tensor_create(
    dims: *const i64,
    ndim: i32,
    dtype: DLDataType,
    device: DLDevice,
    out: *mut *mut opd_tensor,
) -> *mut opd_error {
    let shape = unsafe { items(dims, ndim as usize) };
    let words = (shape.iter().product::<i64>() as usize * dtype.bits as usize).div_ceil(64).max(1);
    let mut data = ManuallyDrop::new(Vec::<u64>::with_capacity(words)); // uninitialised, like the library's memory
    let data = data.as_mut_ptr().cast();
    let view = DLTensor { data, device, ndim, dtype, shape: null_mut(), strides: null_mut(), byte_offset: 0 };
    unsafe { out.write(make_tensor(Arc::new(Memory::Own(data, words)), view, shape, None)) };
    null_mut()
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opd_tensor_view(handle: *const opd_tensor) -> *mut DLTensor {
    (&raw const unsafe { tensor(handle) }.view).cast_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_tensor_bytes(handle: *const opd_tensor) -> u64 {
    let view = unsafe { &tensor(handle).view };
    unsafe { count_of(view) as u64 * u64::from(view.dtype.bits) / 8 }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_tensor_is_read_only(handle: *const opd_tensor) -> i32 {
    match *unsafe { tensor(handle) }.memory {
        Memory::Own(..) => 0,
        Memory::Managed(managed) => unsafe { (*managed).flags as i32 & 1 },
    }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_tensor_is_unique(handle: *const opd_tensor) -> i32 {
    let is_alone = references(unsafe { object(handle) }) == 1;
    (is_alone && Arc::strong_count(&unsafe { tensor(handle) }.memory) == 1).into()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_tensor_copy_from_bytes(
    handle: *mut opd_tensor,
    data: *const c_void,
    size: usize,
) -> *mut opd_error {
    if unsafe { opd_tensor_bytes(handle) } != size as u64 {
        return failed(OPD_INVALID_ARGUMENT, "another size");
    }
    unsafe { tensor(handle).view.data.cast::<u8>().copy_from_nonoverlapping(data.cast(), size) };
    null_mut()
}
/// The stand-in supports only 4-byte elements and up to two dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opd_tensor_copy(from: *const DLTensor, to: *mut opd_tensor) -> *mut opd_error {
    let (from, to) = unsafe { (&*from, &tensor(to).view) };
    let (shape, count) = unsafe { (shape_of(from), count_of(from)) };
    let columns = shape.last().copied().unwrap_or(1) as usize;
    let start = from.data.wrapping_byte_add(from.byte_offset as usize).cast::<u32>();
    for i in 0..count {
        let place = if from.strides.is_null() {
            i
        } else {
            let strides = unsafe { items(from.strides, shape.len()) };
            let row = if shape.len() == 2 { i / columns * strides[0] as usize } else { 0 };
            row + i % columns * strides[shape.len() - 1] as usize
        };
        unsafe { to.data.cast::<u32>().add(i).write(start.add(place).read()) };
    }
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_tensor_reshape(
    handle: *mut opd_tensor,
    dims: *const i64,
    ndim: i32,
    out: *mut *mut opd_tensor,
) -> *mut opd_error {
    let from = unsafe { tensor(handle) };
    let shape = unsafe { items(dims, ndim as usize) };
    unsafe { out.write(make_tensor(from.memory.clone(), from.view, shape, None)) };
    null_mut()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn opd_tensor_from_dlpack_versioned(
    managed: *mut DLManagedTensorVersioned,
    out: *mut *mut opd_tensor,
) -> *mut opd_error {
    let view = unsafe { (*managed).dl_tensor };
    if unsafe { shape_of(&view) }.iter().any(|dim| *dim < 0) {
        return failed(OPD_INVALID_ARGUMENT, "a negative size");
    }
    let (shape, memory) = (unsafe { shape_of(&view) }, Arc::new(Memory::Managed(managed)));
    let strides = (!view.strides.is_null()).then(|| unsafe { items(view.strides, shape.len()) });
    unsafe { out.write(make_tensor(memory, view, shape, strides)) };
    null_mut()
}
unsafe extern "C" fn end(managed: *mut DLManagedTensorVersioned) {
    let managed = unsafe { Box::from_raw(managed) };
    unsafe { opd_object_release(managed.manager_ctx) };
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_tensor_to_dlpack_versioned(
    handle: *mut opd_tensor,
    out: *mut *mut DLManagedTensorVersioned,
) -> *mut opd_error {
    let manager_ctx = unsafe { opd_object_retain(handle.cast()) };
    let version = DLPackVersion { major: 1, minor: 3 };
    let dl_tensor = unsafe { tensor(handle) }.view;
    let made = DLManagedTensorVersioned { version, manager_ctx, deleter: Some(end), flags: 0, dl_tensor };
    unsafe { out.write(Box::into_raw(Box::new(made))) };
    null_mut()
}
