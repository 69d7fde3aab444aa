//! Params: named tensors in a file or in memory.
use crate::containers::place;
use crate::object::{check, create, unique_handle};
use crate::options::Kept;
use crate::text::{bytes, c_path, with_text};
use crate::{ParamsOptions, ParamsStats, Result, Tensor, TensorInfo, ffi};
use core::ffi::c_void;
use std::path::Path;

unique_handle! {
    /// An ordered set of named tensors, from a TVM param dict or tensor cache, or from .npy, .npz and .safetensors
    /// files.
    Params, opd_params
}

impl Params {
    /// Makes an empty set.
    pub fn new() -> Result<Self> {
        create!(Params, opd_params_create())
    }
    /// Reads a file, whose content decides the format. Use [`Params::map`] to avoid copies.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &ParamsOptions::new())
    }
    /// [`Params::open`] with options. The tensors are copies, even without [`ParamsOptions::copy`].
    pub fn open_with(path: impl AsRef<Path>, options: &ParamsOptions) -> Result<Self> {
        Self::opened(path.as_ref(), &options.copy(true))
    }
    /// Maps a file. A tensor is made at its first use, as a view of the file if possible. Writes to it stay in this process.
    ///
    /// # Safety
    /// As long as the set or its tensors exist, no code, here or in another process, writes to the file or truncates
    /// it: slices would change, or reading them would kill the process. The file may be replaced by another file, as
    /// [`Params::save`] does, or removed.
    pub unsafe fn map(path: impl AsRef<Path>, options: &ParamsOptions) -> Result<Self> {
        Self::opened(path.as_ref(), options)
    }
    fn opened(path: &Path, options: &ParamsOptions) -> Result<Self> {
        let (path, mut kept) = (c_path(path)?, Kept::default());
        create!(Params, opd_params_open(path.as_ptr(), &options.raw(&mut kept, 0)?))
    }
    /// Opens the bytes of a file. The set owns them, and tensors may be views of them.
    pub fn from_bytes(data: Vec<u8>, options: &ParamsOptions) -> Result<Self> {
        unsafe extern "C" fn end(data: *mut c_void) {
            drop(unsafe { Box::from_raw(data.cast::<Vec<u8>>()) });
        }
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, 0)?;
        let data = Box::into_raw(Box::new(data));
        let (start, size) = unsafe { ((*data).as_mut_ptr(), (*data).len()) };
        create!(Params, opd_params_open_bytes(start.cast(), size, &options, data.cast(), Some(end)))
            .inspect_err(|_| unsafe { end(data.cast()) }) // C does not call the deleter after an error
    }
    /// Writes a file. Its name decides the format: .npz, .safetensors, .npy, tensor-cache.json; any other name: a TVM
    /// param dict.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        check!(opd_params_save(self.as_ptr(), path.as_ptr()))
    }
    /// The set as the bytes of a TVM param dict.
    pub fn save_bytes(&self) -> Result<Vec<u8>> {
        bytes!(opd_params_save_bytes(self.as_ptr()))
    }
    /// The number of tensors.
    pub fn len(&self) -> usize {
        unsafe { ffi::opd_params_count(self.as_ptr()) as usize }
    }
    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Describes the tensor at an index; an error if the index is beyond the last tensor.
    pub fn info(&self, index: usize) -> Result<TensorInfo> {
        TensorInfo::of(|raw| unsafe { ffi::opd_params_get_info(self.as_ptr(), place(index), raw) })
    }
    /// The names in their order.
    pub fn names(&self) -> Result<Vec<String>> {
        (0..self.len()).map(|index| self.info(index).map(|info| info.name)).collect()
    }
    /// Counts of how the tensors were made so far.
    pub fn stats(&self) -> Result<ParamsStats> {
        ParamsStats::of(|raw| unsafe { ffi::opd_params_get_stats(self.as_ptr(), raw) })
    }
    /// The tensor of a name. It shares its elements with the set. If there is none, the error lists similar names.
    pub fn get(&self, name: &str) -> Result<Tensor> {
        with_text(name, |name| create!(Tensor, opd_params_get(self.as_ptr(), name)))
    }
    /// Adds a tensor at the end. If the set has a tensor of that name, the new tensor takes its place.
    pub fn set(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        with_text(name, |name| check!(opd_params_set(self.as_ptr(), name, tensor.as_ptr())))
    }
}
