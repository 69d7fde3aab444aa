"""Modules: loaded artifacts that offer functions and import other modules."""

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
    """Exporting embeds its bytes, or keeps its file if it is a library."""
    RUNNABLE = 2
    """Its functions can be called as they are."""
    COMPILATION_EXPORTABLE = 4
    """Exporting compiles or links it."""


class Module(Object):
    """A loaded artifact: a library, a VM program, a C source … `module["name"]` gives a function, `module(…)` calls the
    entry function.

    Made by `load_module`, `load_source`, `load_native`, `load_static_library`, `system_lib` and `Executable.jit`. Any number of
    threads may use it. It stays loaded while anything that came from it lives: functions, results, VMs. Equal to another
    if both are the same native module. Source: TVM's runtime.Module; old and new names are both there.
    """

    __slots__ = ()

    @property
    def kind(self) -> str:
        """Its kind: "library", "relax.VMExecutable", "c", "static_library", "opdyno.native" …"""
        return _native.opd_module_kind(self)

    type_key = kind

    @property
    def format(self) -> str:
        """The format of its content: "so", "c", "o", "vmexec" …; "" if that is not known."""
        return _native.opd_module_format(self)

    @property
    def entry_func(self) -> Function:
        """The function that the module is called by: its "main", or an import's.

        An `Error` if there is none (code NOT_FOUND), or if it needs a VM (UNSUPPORTED).
        """
        return _native.opd_module_get_function(self, None, True)

    @property
    def imports(self) -> list[Module]:
        """The modules that it imports: a list of this moment."""
        return list(_native.opd_module_list_imports(self))

    imported_modules = imports

    @property
    def property_mask(self) -> int:
        """Bits of `ModulePropertyMask`."""
        return _native.opd_module_properties(self)

    def get_property_mask(self) -> int:
        """The same; newer TVM's name."""
        return self.property_mask

    @property
    def is_dso_exportable(self) -> bool:
        """Whether exporting compiles or links it. Older TVM's name."""
        return bool(_native.opd_module_is_dso_exportable(self))

    def is_compilation_exportable(self) -> bool:
        """Whether exporting compiles or links it."""
        return bool(self.property_mask & ModulePropertyMask.COMPILATION_EXPORTABLE)

    def is_binary_serializable(self) -> bool:
        """Whether exporting embeds its bytes."""
        return bool(self.property_mask & ModulePropertyMask.BINARY_SERIALIZABLE)

    def is_runnable(self) -> bool:
        """Whether its functions can be called as they are."""
        return bool(self.property_mask & ModulePropertyMask.RUNNABLE)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether it, or with `query_imports` a module that it imports, has a function of that name.

        Even one that has to be compiled, run by a VM or by an absent device first, so that `get_function` refuses it.
        """
        flags = _native.OPD_LOOKUP_UNCALLABLE | (_native.OPD_LOOKUP_IMPORTS if query_imports else _native.OPD_LOOKUP_OWN)
        return bool(_native.opd_module_has_function(self, name, flags))

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Gives a function of it; with `query_imports` also of the modules that it imports, depth first.

        Without one an AttributeError (code NOT_FOUND) that names close ones. An `Error` with code UNSUPPORTED for a function
        that has to be linked, run by a VM or by a device that this build lacks.
        """
        try:
            return named(_native.opd_module_get_function(self, name, query_imports), name)
        except Error as error:
            if error.code == Code.NOT_FOUND:
                raise _attribute_error(error) from None
            raise

    def __getitem__(self, name: str) -> Function:
        """`get_function(name)`."""
        if not isinstance(name, str):
            raise TypeError("a function is asked for by its name")
        return self.get_function(name)

    def __call__(self, *args: Any) -> Any:
        """Calls `entry_func`."""
        return self.entry_func(*args)

    def function_names(self) -> list[str]:
        """The names of the functions that the module itself offers, sorted."""
        return list(_native.opd_module_list_functions(self))

    def import_module(self, module: Module) -> None:
        """Lets this module look functions up in another, which it keeps loaded. A cycle is a ValueError."""
        _native.opd_module_add_import(self, module)

    def native_function(self, symbol: str, signature: str) -> Function:
        """Gives a C symbol of a shared library as a packed function: `native_function("hypot", "f64(f64, f64)")`.

        A signature's types are void, bool, i8 … i64, u8 … u64, f32, f64, ptr, str, tensor (a DLTensor *), and structs by
        value as {f64, f64}. A wrong signature is a ValueError with the place of the mistake.
        """
        return named(_native.opd_module_native_function(self, symbol, signature), symbol)

    def get_source(self, fmt: str = "") -> str:
        """The source: a C module's text, a VM program's assembly. An `Error` (code UNSUPPORTED) for a binary module."""
        return _native.opd_module_get_source(self, fmt or None)

    inspect_source = get_source

    def get_write_formats(self) -> list[str]:
        """The formats of `save`, the usual one first."""
        return list(_native.opd_module_list_formats(self))

    def save(self, file_name: _Path, fmt: str = "") -> None:
        """Writes a file of this module alone, without its imports; one of that name is replaced.

        `fmt`: one of `get_write_formats()`; without it, by the file's suffix. An `Error` for a format that there is not.
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
        """Writes one file of the module and all that it imports, which opdyno and TVM load.

        `file_name`: ends in `.so` for a shared library, in `.tar` for an archive of objects; else a ValueError.
        `addons`: further objects, archives of them and C sources. `workspace_dir`: keeps intermediate files; else that
        lies in a temporary directory.

        `fcompile(target, files, **kwargs)` links in place of the compiler; its result is returned. It gets objects; an
        attribute `object_format` of it can only be "o". Without it, `kwargs` may be `cc`, the compiler in place of $CC or
        cc, and `options`, a list of its flags in place of "-O2"; an `Error` with its message if it fails. Source: TVM's
        Module.export_library.
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
        """Makes a function that times `self[func_name]`: it takes that function's arguments, and gives a `BenchmarkResult`.

        The function is called 1 + number × repeat times, the first call not being measured; each of the `repeat` results is
        the mean of `number` calls, in seconds. `dev`: the device that is waited for before the clock is read; cpu:0 without
        one. `min_repeat_ms` raises `number` until one repeat lasts that long, in ms. `limit_zero_time_iterations` ends the
        tries where the clock reads 0. After every `repeats_to_cooldown` repeats it sleeps `cooldown_interval_ms`.
        `cache_flush_bytes` are copied before each repeat, to empty the caches. `f_preproc`, a callable or the name of a
        registered function, is called with the arguments before each repeat. One thread at a time may call the result.

        Beyond TVM's: `warmup` calls come before the measured ones; with `steady_ms` further ones until their times are
        steady, for no longer than that (docs/benchmarks.md has the rule). `concurrency` threads call at once, each of which
        returns a result for each repeat; the function must bear that, as those of a `VirtualMachine` do.
        Exceptions of the function come out. Source: TVM's Module.time_evaluator.
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
        """Describes the module and its imports by dicts and lists: kind, file, TVM release if known, functions, imports."""
        return json.loads(_native.opd_module_to_json(self))

    def __repr__(self) -> str:
        try:
            names = brief(self.function_names())
        except Error:  # of another machine, which does not tell, or is gone
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
    """Links with the caller's function: what the library would link is made as an archive of objects first."""
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

    A shared library with its embedded modules, a VM executable, a C source, or objects (`.o`, `.a`, `.tar`); the last
    three are compiled and linked first, and the result is kept in a cache. Its kind is found by its content, then by its
    suffix; `fmt` ("so", "vmexec", "c", "o", "a", "tar") sets it instead. `options`: `copy` (0: a library is loaded from a
    private copy, 1: only if its file is in use already, 2: never), `compiler`, `c_flags`, `cache_dir`, `inspect_only` (1: the
    file is read, and none of its code runs: the module can be described and exported, not called), `build_timeout_ms`.

    Raises an `Error`: FileNotFoundError without such a file; ValueError for bytes that are not what they claim to be;
    RuntimeError with the compiler's message, or naming a dependency that this machine lacks; TypeError for an
    unknown option. Source: TVM's load_module.
    """
    if isinstance(path, (bytes, bytearray, memoryview)):
        return _native.opd_module_load_bytes(path, None, _options(fmt, **options))
    return _native.opd_module_load(os.fspath(path), _options(fmt, **options))


def load_source(source: str, **options: Any) -> Module:
    """Compiles and loads C source. `options` are those of `load_module`.

    Functions named `__tvm_ffi_<name>` are offered as `<name>`, others by `Module.native_function`. An `Error` with the
    compiler's message if it does not compile.
    """
    return _native.opd_module_load_bytes(source.encode(), None, _options("c", **options))


def load_static_library(path: _Path, func_names: Iterable[str]) -> Module:
    """Keeps an object file (`.o`), or an archive of them (`.a`), as it is: a module of kind "static_library".

    It is not run, but linked into what a tree that imports it is exported to. `func_names`: the functions that it
    implements. Source: TVM's load_static_library.
    """
    return _native.opd_module_load_static_library(os.fspath(path), list(func_names))


def load_native(path: _Path, functions: Mapping[str, str], **options: Any) -> Module:
    """Loads functions of any C library by their signatures: `load_native("./libfft.so", {"norm": "f64(f64, f64)"})`.

    Signatures are those of `Module.native_function`, `options` those of `load_module`. An `Error` for a function that is
    not there (code NOT_FOUND) or a wrong signature.
    """
    return _native.opd_module_load_native(os.fspath(path), dict(functions), _options(**options))


# Each takes a program over from another package, or gives back what is none of that package's.
takers: list[Callable[[Any], Any]] = []


def module_of(value: Any) -> Module:
    """A module, also one that a taker makes of another package's program."""
    if not isinstance(value, Module):
        for take in takers:
            value = take(value)
    module: Module = value  # what else there is, the caller refuses
    return module


def system_lib(prefix: str = "") -> Module:
    """The module of what is linked into the program and registered itself at its start; the same each time.

    `prefix`: the system_lib_prefix that it was compiled with. Without any such object the module is empty. It lives as long
    as the process. Source: TVM's system_lib.
    """
    return _native.opd_module_system_lib(prefix)


def enabled(target: str) -> bool:
    """Whether this build can run artifacts for a target: "llvm", "cpu", "c", "cuda", "gpu", "opencl" …, with or without
    options after a space. False for an unknown one. Source: TVM's enabled.
    """
    return bool(_native.opd_module_enabled(target))


_native.register_class("Module", Module)
