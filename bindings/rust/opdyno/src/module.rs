//! Modules, which are loaded artifacts of TVM and plain compilers, and executables, the VM programs in them.
use crate::object::{check, create, handle};
use crate::options::Kept;
use crate::text::{Texts, borrowed, bytes, c_path, text, with_optional, with_text};
use crate::{Array, ExecutableFormat, ExportOptions, Function, ModuleOptions, Result, VirtualMachine, ffi};
use std::path::Path;

handle! {
    /// A loaded artifact with the modules that it imports. It may be a library, a VM program, a C source …
    Module, opd_module
}

impl Module {
    /// Loads a file: a shared library, a C source, object files and archives, or a VM executable.
    ///
    /// # Safety
    /// Loading a library runs its initialisers, and calls run its code, which cannot be checked. So the caller must
    /// guarantee that the native code in the file and in its imported modules follows the rules below. Code compiled by
    /// Apache TVM does.
    ///
    /// - A function is memory-safe for all arguments: it checks their kinds, dtypes and shapes.
    /// - It writes only elements of its outputs, which callers pass as `&mut Tensor`. It does not write elements of a
    ///   tensor that is passed as `&Tensor`: a slice of it may be borrowed during the call
    ///   ([`Tensor::as_slice`](crate::Tensor::as_slice)), and other threads may read it.
    /// - After it has returned, it does not write any tensor that it was given, even if it keeps the tensor.
    /// - It may be called on any thread, and on several at once.
    ///
    /// For a file that is not trusted, use [`Module::inspect`].
    pub unsafe fn load(path: impl AsRef<Path>) -> Result<Self> {
        unsafe { Self::load_with(path, &ModuleOptions::new()) }
    }
    /// [`Module::load`] with options.
    ///
    /// # Safety
    /// The rules of [`Module::load`] apply.
    pub unsafe fn load_with(path: impl AsRef<Path>, options: &ModuleOptions<'_>) -> Result<Self> {
        Self::opened(path.as_ref(), options)
    }
    /// Reads a file without running, compiling or linking any part of it. The module lists its functions, but a request
    /// for one is an error.
    pub fn inspect(path: impl AsRef<Path>, options: &ModuleOptions<'_>) -> Result<Self> {
        Self::opened(path.as_ref(), &options.inspect_only(true))
    }
    fn opened(path: &Path, options: &ModuleOptions<'_>) -> Result<Self> {
        let (path, mut kept) = (c_path(path)?, Kept::default());
        create!(Module, opd_module_load(path.as_ptr(), &options.raw(&mut kept, 0)?))
    }
    /// Loads the bytes of a file. Messages use `name`.
    ///
    /// # Safety
    /// The rules of [`Module::load`] apply.
    pub unsafe fn load_bytes(data: &[u8], name: Option<&str>, options: &ModuleOptions<'_>) -> Result<Self> {
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, 0)?;
        with_optional(name, |name| {
            create!(Module, opd_module_load_bytes(data.as_ptr().cast(), data.len(), name, &options))
        })
    }
    /// Makes a module of an object file, which stays unchanged. If a module that imports it is exported, the object
    /// file is linked into the exported file.
    pub fn load_static_library(path: impl AsRef<Path>, functions: &[&str]) -> Result<Self> {
        let (path, names) = (c_path(path.as_ref())?, Texts::of(functions.iter().copied())?);
        create!(
            Module,
            opd_module_load_static_library(path.as_ptr(), names.as_ptr(), crate::object::num_of(names.len()))
        )
    }
    /// Loads C functions of a shared library by their names and signatures.
    ///
    /// # Safety
    /// The C functions have these signatures; see [`Function::from_c`]. Loading runs the library's initialisers.
    pub unsafe fn load_native(
        path: impl AsRef<Path>,
        functions: &[(&str, &str)],
        options: &ModuleOptions<'_>,
    ) -> Result<Self> {
        let (path, mut kept) = (c_path(path.as_ref())?, Kept::default());
        let names = Texts::of(functions.iter().map(|function| function.0))?;
        let signatures = Texts::of(functions.iter().map(|function| function.1))?;
        let (options, count) = (options.raw(&mut kept, 0)?, crate::object::num_of(names.len()));
        create!(Module, opd_module_load_native(path.as_ptr(), names.as_ptr(), signatures.as_ptr(), count, &options))
    }
    /// The module of object files that are linked into the program. They register themselves at start-up.
    ///
    /// # Safety
    /// Their code follows the rules of [`Module::load`].
    pub unsafe fn system_lib(prefix: Option<&str>) -> Result<Self> {
        with_optional(prefix, |prefix| create!(Module, opd_module_system_lib(prefix)))
    }
    /// Whether this build can run artifacts for a target: "llvm", "cuda" …
    pub fn enabled(target: &str) -> bool {
        with_text(target, |target| Ok(unsafe { ffi::opd_module_enabled(target) } != 0)).unwrap_or(false)
    }

    /// Makes a VM of the program in this module, with all defaults: on the CPU.
    pub fn vm(&self) -> Result<VirtualMachine> {
        VirtualMachine::new(self)
    }

    /// A function of this module, not of its imports. If there is none, the error lists similar names.
    pub fn function(&self, name: &str) -> Result<Function> {
        with_text(name, |name| create!(Function, opd_module_get_function(self.as_ptr(), name, 0)))
    }
    /// A function of this module or of imported modules, which are searched depth first.
    pub fn find_function(&self, name: &str) -> Result<Function> {
        with_text(name, |name| create!(Function, opd_module_get_function(self.as_ptr(), name, 1)))
    }
    /// The entry function, "main".
    pub fn main(&self) -> Result<Function> {
        create!(Function, opd_module_get_function(self.as_ptr(), core::ptr::null(), 1))
    }
    /// Makes a function of a C function in a shared library.
    ///
    /// # Safety
    /// The C function has this signature; see [`Function::from_c`].
    pub unsafe fn native_function(&self, symbol: &str, signature: &str) -> Result<Function> {
        with_text(symbol, |symbol| {
            with_text(signature, |signature| {
                create!(Function, opd_module_native_function(self.as_ptr(), symbol, signature))
            })
        })
    }
    /// Whether this module or its imports have a callable function of that name.
    pub fn has_function(&self, name: &str) -> bool {
        let flags = ffi::OPD_LOOKUP_IMPORTS as i32;
        let found = |name| Ok(unsafe { ffi::opd_module_has_function(self.as_ptr(), name, flags) } != 0);
        with_text(name, found).unwrap_or(false)
    }
    /// The sorted names of the module's own functions.
    pub fn list_functions(&self) -> Result<Vec<String>> {
        create!(Array, opd_module_list_functions(self.as_ptr()))?.into_texts()
    }

    /// The kind of the module: "library", "relax.VMExecutable", "c" …
    pub fn kind(&self) -> &str {
        unsafe { borrowed(ffi::opd_module_kind(self.as_ptr())) }
    }
    /// The format of its content: "so", "c", "o", "vmexec" …, "" if it is not known.
    pub fn format(&self) -> &str {
        unsafe { borrowed(ffi::opd_module_format(self.as_ptr())) }
    }
    fn has_property(&self, property: ffi::opd_module_property) -> bool {
        unsafe { ffi::opd_module_properties(self.as_ptr()) as u32 & property != 0 }
    }
    /// Whether an export embeds the module's bytes or, if the module is a library, keeps its file.
    pub fn is_serializable(&self) -> bool {
        self.has_property(ffi::OPD_MODULE_SERIALIZABLE)
    }
    /// Whether the module's functions can be called without compiling or linking it.
    pub fn is_runnable(&self) -> bool {
        self.has_property(ffi::OPD_MODULE_RUNNABLE)
    }
    /// Whether an export compiles or links the module.
    pub fn is_compilation_exportable(&self) -> bool {
        self.has_property(ffi::OPD_MODULE_COMPILATION_EXPORTABLE)
    }
    /// The source, such as the text of a C module or the assembly of a VM executable. `None`: the usual format.
    pub fn source(&self, format: Option<&str>) -> Result<String> {
        with_optional(format, |format| text!(opd_module_get_source(self.as_ptr(), format)))
    }
    /// Describes the module and its imports as JSON: kind, file, functions, imports, and the TVM release if it is
    /// known.
    pub fn to_json(&self) -> Result<String> {
        text!(opd_module_to_json(self.as_ptr()))
    }
    /// The imported modules.
    pub fn imports(&self) -> Result<Vec<Module>> {
        create!(Array, opd_module_list_imports(self.as_ptr()))?.iter().map(|item| item?.to()).collect()
    }
    /// Lets this module look functions up in another one. A cycle is an error.
    pub fn add_import(&self, imported: &Module) -> Result<()> {
        check!(opd_module_add_import(self.as_ptr(), imported.as_ptr()))
    }

    /// The formats of [`Module::save`], the usual one first.
    pub fn list_formats(&self) -> Result<Vec<String>> {
        create!(Array, opd_module_list_formats(self.as_ptr()))?.into_texts()
    }
    /// Writes a file of this module alone. `None`: the format of the path's suffix.
    pub fn save(&self, path: impl AsRef<Path>, format: Option<&str>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        with_optional(format, |format| check!(opd_module_save(self.as_ptr(), path.as_ptr(), format)))
    }
    /// Writes the whole tree to one file; the suffix selects a library or a tar archive.
    pub fn export(&self, path: impl AsRef<Path>, options: &ExportOptions<'_>) -> Result<()> {
        let (path, mut kept) = (c_path(path.as_ref())?, Kept::default());
        check!(opd_module_export(self.as_ptr(), path.as_ptr(), &options.raw(&mut kept, 0)?))
    }
}

handle! {
    /// A verified VM program.
    Executable, opd_executable
}

impl Executable {
    /// Reads an executable's bytes and verifies it. If it is damaged, the error names the place.
    pub fn load_bytes(data: &[u8]) -> Result<Self> {
        create!(Executable, opd_executable_load_bytes(data.as_ptr().cast(), data.len()))
    }
    /// The program as bytes, in the format that TVM 0.23 and newer read.
    pub fn save_bytes(&self) -> Result<Vec<u8>> {
        bytes!(opd_executable_save_bytes(self.as_ptr()))
    }
    /// Assembles text. An error names line and column.
    pub fn assemble(text: &str) -> Result<Self> {
        create!(Executable, opd_executable_assemble(text.as_ptr().cast(), text.len()))
    }
    /// The program as text.
    pub fn write(&self, format: ExecutableFormat) -> Result<String> {
        text!(opd_executable_write(self.as_ptr(), format as _))
    }
    /// Gets the program of a module of kind "relax.VMExecutable".
    pub fn from_module(module: &Module) -> Result<Self> {
        create!(Executable, opd_executable_from_module(module.as_ptr()))
    }
    /// Makes a module of the program. It imports what the module of [`Executable::from_module`] imported. Add other
    /// modules with kernels by [`Module::add_import`].
    pub fn to_module(&self) -> Result<Module> {
        create!(Module, opd_executable_to_module(self.as_ptr()))
    }
}
