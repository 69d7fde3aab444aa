"""Modules, which are loaded artifacts with functions. They may import other modules."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _native
from ._benchmark import BenchmarkResult, evaluator
from ._device import Device
from ._errors import Code, Error
from ._function import Function, named
from ._objects import Object, brief

_Path = str | os.PathLike[str]


class ModulePropertyMask:
    """Whether a module can be embedded, called or linked: bits of `Module.property_mask`. Source: tvm-ffi's ModulePropertyMask."""

    BINARY_SERIALIZABLE = 1
    """An export embeds the module's bytes or, if the module is a library, keeps its file."""
    RUNNABLE = 2
    """The module's functions can be called without compiling or linking it."""
    COMPILATION_EXPORTABLE = 4
    """An export compiles or links the module."""


class Module(Object):
    """A loaded artifact: a library, a VM program, a C source … `module["name"]` returns a function, `module(…)` calls
    the entry function.

    Made by `load_module`, `load_source`, `load_native`, `load_static_library`, `system_lib` and `Executable.jit`. Any
    number of threads may use it. It stays loaded as long as an object from it exists, such as a function, result or VM.
    Two modules are equal if they are the same native module. Source: TVM's runtime.Module, with its old and new names.
    """

    __slots__ = ()

    @property
    def kind(self) -> str:
        """The kind of the module: "library", "relax.VMExecutable", "c", "static_library", "opdyno.native" …"""
        return _native.opd_module_kind(self)

    type_key = kind

    @property
    def format(self) -> str:
        """The format of its content: "so", "c", "o", "vmexec" …; "" if it is not known."""
        return _native.opd_module_format(self)

    @property
    def entry_func(self) -> Function:
        """The entry function: "main" of the module or of an import.

        `Error` if there is none (code NOT_FOUND), or if it needs a VM (code UNSUPPORTED).
        """
        return _native.opd_module_get_function(self, None, True)

    @property
    def imports(self) -> list[Module]:
        """A snapshot of the imported modules."""
        return list(_native.opd_module_list_imports(self))

    imported_modules = imports

    @property
    def property_mask(self) -> int:
        """Bits of `ModulePropertyMask`."""
        return _native.opd_module_properties(self)

    def get_property_mask(self) -> int:
        """`property_mask`, under the name of newer TVM."""
        return self.property_mask

    @property
    def is_dso_exportable(self) -> bool:
        """Whether an export compiles or links the module, under the name of older TVM."""
        return bool(_native.opd_module_is_dso_exportable(self))

    def is_compilation_exportable(self) -> bool:
        """Whether an export compiles or links the module."""
        return bool(self.property_mask & ModulePropertyMask.COMPILATION_EXPORTABLE)

    def is_binary_serializable(self) -> bool:
        """Whether an export embeds the module's bytes."""
        return bool(self.property_mask & ModulePropertyMask.BINARY_SERIALIZABLE)

    def is_runnable(self) -> bool:
        """Whether the module's functions can be called without compiling or linking it."""
        return bool(self.property_mask & ModulePropertyMask.RUNNABLE)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether the module, or with `query_imports` an imported module, has a function of that name.

        It is also true for functions that `get_function` refuses, because they must first be compiled, or need a VM or
        an absent device.
        """
        flags = _native.OPD_LOOKUP_UNCALLABLE | (_native.OPD_LOOKUP_IMPORTS if query_imports else _native.OPD_LOOKUP_OWN)
        return bool(_native.opd_module_has_function(self, name, flags))

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Returns a function of the module. With `query_imports`, it also searches imported modules, depth first.

        If there is none, AttributeError (code NOT_FOUND) that lists similar names. `Error` with code UNSUPPORTED for a
        function that must first be linked, or needs a VM or a device that this build lacks.
        """
        try:
            return named(_native.opd_module_get_function(self, name, query_imports), name)
        except Error as error:
            if error.code == Code.NOT_FOUND:
                raise _attribute_error(error) from None
            raise

    def __getitem__(self, name: str) -> Function:
        """Returns `get_function(name)`."""
        if not isinstance(name, str):
            raise TypeError("the name of a function must be a str")
        return self.get_function(name)

    def __call__(self, *args: Any) -> Any:
        """Calls `entry_func`."""
        return self.entry_func(*args)

    def function_names(self) -> list[str]:
        """The sorted names of the module's own functions."""
        return list(_native.opd_module_list_functions(self))

    def import_module(self, module: Module) -> None:
        """Lets this module look functions up in another module, which it keeps loaded. ValueError for a cycle."""
        _native.opd_module_add_import(self, module)

    def native_function(self, symbol: str, signature: str) -> Function:
        """Makes a packed function from a C function of a shared library: `native_function("hypot", "f64(f64, f64)")`.

        A signature's types are void, bool, i8 … i64, u8 … u64, f32, f64, ptr, str, tensor (a DLTensor *), and structs
        by value as {f64, f64}. ValueError for a wrong signature; the message has the place of the mistake.
        """
        return named(_native.opd_module_native_function(self, symbol, signature), symbol)

    def get_source(self, fmt: str = "") -> str:
        """Returns the source, such as the text of a C module or the assembly of a VM program. `Error` (code
        UNSUPPORTED) for a binary module."""
        return _native.opd_module_get_source(self, fmt or None)

    inspect_source = get_source

    def get_write_formats(self) -> list[str]:
        """The formats of `save`, the usual one first."""
        return list(_native.opd_module_list_formats(self))

    def save(self, file_name: _Path, fmt: str = "") -> None:
        """Writes a file of this module alone, without its imports. An existing file is replaced.

        `fmt`: one of `get_write_formats()`. Default: the format of the file's suffix. `Error` for an unknown format.
        """
        _native.opd_module_save(self, os.fspath(file_name), fmt or None)

    write_to_file = save

    def export_library(
        self,
        file_name: _Path,
        fcompile: Callable[..., Any] | None = None,
        addons: Iterable[_Path] | None = None,
        workspace_dir: _Path | None = None,
        **kwargs: Any,
    ) -> Any:
        """Writes the module and all its imports to one file, which opdyno and TVM can load.

        `file_name`: ends in `.so` for a shared library, or in `.tar` for an archive of objects; else ValueError.
        `addons`: further objects, archives of objects and C sources. `workspace_dir`: directory for intermediate files,
        which are kept. Default: a temporary directory.

        `fcompile(target, files, **kwargs)` links instead of the compiler, and its result is returned. It gets object
        files; its attribute `object_format`, if any, must be "o". Without `fcompile`, `kwargs` may be `cc`, the
        compiler instead of $CC or cc, and `options`, a list of flags instead of "-O2". If the compiler fails, `Error`
        with its message. Source: TVM's Module.export_library.
        """
        arguments: dict[str, Any] = {
            "addons": [os.fspath(a) for a in addons] if addons else None,
            "workspace_dir": os.fspath(workspace_dir) if workspace_dir is not None else None,
        }
        path = os.fspath(file_name)
        if fcompile is not None:
            return _export_with(self, path, functools.partial(_checked(fcompile), **kwargs), arguments)
        unknown = kwargs.keys() - {"cc", "options"}
        if unknown:
            raise TypeError(f"export_library has no parameter {min(unknown)}, unless for an fcompile")
        flags = kwargs.get("options")
        arguments |= {"compiler": kwargs.get("cc"), "c_flags": " ".join(flags) if flags else None}
        _native.opd_module_export(self, path, arguments)
        return None

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str | Callable[..., Any] = "",
        *,
        warmup: int = 1,
        steady_ms: int = 0,
        concurrency: int = 1,
    ) -> Callable[..., BenchmarkResult]:
        """Makes a function that times `self[func_name]`. It takes that function's arguments, and returns a
        `BenchmarkResult`.

        The function is called 1 + number × repeat times; the first call is not measured. Each of the `repeat` results
        is the mean of `number` calls, in seconds. `dev`: the device that is synchronised before the clock is read.
        Default: cpu:0. `min_repeat_ms`: least duration of a repeat, in ms; a shorter repeat is made again with more
        calls. `limit_zero_time_iterations`: limit of attempts at a repeat whose time is 0. After every
        `repeats_to_cooldown` repeats it pauses for `cooldown_interval_ms`. `cache_flush_bytes` are copied before each
        repeat, to flush the caches. `f_preproc`, a callable or the name of a registered function, is called with the
        arguments before each repeat. One thread at a time may call the result.

        Parameters that TVM lacks: `warmup` calls are made before the measured calls. With `steady_ms`, further calls
        are made until their times are steady, for at most this time (docs/benchmarks.md has the rule). `concurrency`
        threads call at once, and each gives a result for each repeat. The function must be thread-safe, like those of a
        `VirtualMachine`. Exceptions of the function are passed on. Source: TVM's Module.time_evaluator.
        """
        return evaluator(
            self.get_function(func_name, True),
            dev,
            f_preproc,
            number=number,
            repeat=repeat,
            min_repeat_ms=min_repeat_ms,
            limit_zero_time_iterations=limit_zero_time_iterations,
            cooldown_interval_ms=cooldown_interval_ms,
            repeats_to_cooldown=repeats_to_cooldown,
            cache_flush_bytes=cache_flush_bytes,
            warmup=warmup,
            steady_ms=steady_ms,
            concurrency=concurrency,
        )

    def describe(self) -> Any:
        """Describes the module and its imports as dicts and lists: kind, file, functions, imports, and the TVM release
        if it is known."""
        return json.loads(_native.opd_module_to_json(self))

    def __repr__(self) -> str:
        try:
            names = brief(self.function_names())
        except Error:  # the module is on another machine, which does not tell the kind or is not reachable
            names = "not known"
        return f'<Module "{self.kind}" at {self._address:#x}, functions: {names}>'


def _attribute_error(error: Error) -> Error:
    from ._errors import class_of

    made = class_of("AttributeError")(*error.args)
    made._facts = (error.code, "AttributeError", error.native_cause, error.native_backtrace)
    return made


def _checked(fcompile: Callable[..., Any]) -> Callable[..., Any]:
    found = getattr(fcompile, "object_format", "o")
    if found != "o":
        raise ValueError(f"fcompile.object_format must be 'o', not {found!r}: there are only objects to link")
    return fcompile


def _export_with(module: Module, path: str, fcompile: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Links with the caller's function. The objects are first written to an archive."""
    import contextlib
    import tarfile
    import tempfile

    workspace = arguments["workspace_dir"]
    with tempfile.TemporaryDirectory() if workspace is None else contextlib.nullcontext(workspace) as directory:
        archive = os.path.join(directory, "objects.tar")
        _native.opd_module_export(module, archive, arguments)
        with tarfile.open(archive) as tar:
            tar.extractall(directory, filter="data")
            files = [os.path.join(directory, member.name) for member in tar.getmembers() if member.isfile()]
        return fcompile(path, files)


def _options(fmt: str = "", **more: Any) -> dict[str, Any]:
    return {"format": fmt or None, **more}


def load_module(path: _Path | bytes, fmt: str = "", **options: Any) -> Module:
    """Loads an artifact from a file, or from bytes.

    It may be a shared library with embedded modules, a VM executable, a C source, or objects (`.o`, `.a`, `.tar`).
    Sources and objects are first compiled and linked, and the result is kept in a cache. The kind is found by the
    content, then by the suffix; `fmt` ("so", "vmexec", "c", "o", "a", "tar") sets it instead. `options`: `copy` (0: a
    library is loaded from a private copy, 1: only if its file is in use already, 2: never), `compiler`, `c_flags`,
    `cache_dir`, `inspect_only` (1: the file is read, and none of its code runs: the module can be described and
    exported, not called), `build_timeout_ms`.

    Raises an `Error`: FileNotFoundError if there is no such file; ValueError if the bytes are damaged or of another
    format; RuntimeError with the compiler's message, or with the name of a dependency that this machine lacks;
    TypeError for an unknown option. Source: TVM's load_module.
    """
    if isinstance(path, (bytes, bytearray, memoryview)):
        return _native.opd_module_load_bytes(path, None, _options(fmt, **options))
    return _native.opd_module_load(os.fspath(path), _options(fmt, **options))


def load_source(source: str, **options: Any) -> Module:
    """Compiles and loads C source. `options` are those of `load_module`.

    Functions named `__tvm_ffi_<name>` have the name `<name>`. Use `Module.native_function` for other functions. If the
    source does not compile, `Error` with the compiler's message.
    """
    return _native.opd_module_load_bytes(source.encode(), None, _options("c", **options))


def load_static_library(path: _Path, func_names: Iterable[str]) -> Module:
    """Makes a module of kind "static_library" from an object file (`.o`) or an archive (`.a`), which stays unchanged.

    The module cannot run. If a module that imports it is exported, it is linked into the exported file. `func_names`:
    the functions that it implements. Source: TVM's load_static_library.
    """
    return _native.opd_module_load_static_library(os.fspath(path), list(func_names))


def load_native(path: _Path, functions: Mapping[str, str], **options: Any) -> Module:
    """Loads functions of any C library by their signatures: `load_native("./libfft.so", {"norm": "f64(f64, f64)"})`.

    Signatures are those of `Module.native_function`, `options` those of `load_module`. `Error` for a missing function
    (code NOT_FOUND) or a wrong signature.
    """
    return _native.opd_module_load_native(os.fspath(path), dict(functions), _options(**options))


# Functions that convert a program of another package. For any other argument, they return the argument.
takers: list[Callable[[Any], Any]] = []


def module_of(value: Any) -> Module:
    """Converts an argument to a module. One of the takers converts a program of another package."""
    if not isinstance(value, Module):
        for take in takers:
            value = take(value)
    module: Module = value  # callers refuse other objects
    return module


def system_lib(prefix: str = "") -> Module:
    """Returns the module of object files that are linked into the program. They register themselves at its start. Each
    call returns the same module.

    `prefix`: the system_lib_prefix with which they were compiled. If there is no such object file, the module is empty.
    The module lives as long as the process. Source: TVM's system_lib.
    """
    return _native.opd_module_system_lib(prefix)


def enabled(target: str) -> bool:
    """Whether this build can run artifacts for a target: "llvm", "cpu", "c", "cuda", "gpu", "opencl" …, with or without
    options after a space. False for an unknown one. Source: TVM's enabled.
    """
    return bool(_native.opd_module_enabled(target))


_native.register_class("Module", Module)
