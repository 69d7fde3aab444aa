"""Modules: loaded artefacts that offer functions and import other modules."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _native
from ._benchmark import BenchmarkResult, evaluator
from ._errors import Code, Error
from ._function import Function
from ._objects import Object
from ._types import Device

_Path = str | os.PathLike[str]


class ModulePropertyMask:
    """What can be done with a module, as bits."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    COMPILATION_EXPORTABLE = 4


class Module(Object):
    """A loaded artefact. `module["name"]` gives a function, `module(…)` calls the entry function.

    Any number of threads may use it. Functions keep it loaded.
    """

    __slots__ = ()

    @property
    def kind(self) -> str:
        """"library", "relax.VMExecutable", "c" …"""
        return str(_native.opd_module_kind(self))

    type_key = kind

    @property
    def format(self) -> str:
        """Format of what it holds: "so", "c", "o", "vmexec" …; "" if that is not known."""
        return str(_native.opd_module_format(self))

    @property
    def entry_func(self) -> Function:
        """The function that the module is called by: its "main"."""
        made: Function = _native.opd_module_entry_function(self)
        return made

    @property
    def imports(self) -> list[Module]:
        """The modules that it imports."""
        return list(_native.opd_module_list_imports(self))

    imported_modules = imports

    @property
    def property_mask(self) -> int:
        """Bits of `ModulePropertyMask`."""
        return int(_native.opd_module_properties(self))

    def get_property_mask(self) -> int:
        """The same; newer TVM's name."""
        return self.property_mask

    @property
    def is_dso_exportable(self) -> bool:
        """Whether exporting links it."""
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
        """Whether it has a function of that name, even one that must be compiled first."""
        return bool(_native.opd_module_implements_function(self, name, query_imports))

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Gives a function; an AttributeError that names close ones if there is none."""
        try:
            made: Function = _native.opd_module_get_function(self, name, query_imports)
            return made
        except Error as error:
            if error.code == Code.NOT_FOUND:
                raise _attribute_error(error) from None
            raise

    def __getitem__(self, name: str) -> Function:
        if not isinstance(name, str):
            raise TypeError("a function is asked for by its name")
        return self.get_function(name)

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)

    def function_names(self) -> list[str]:
        """The names of the functions that the module itself offers, sorted."""
        return list(_native.opd_module_list_functions(self))

    def import_module(self, module: Module) -> None:
        """Lets this module look functions up in another. A cycle is a ValueError."""
        _native.opd_module_add_import(self, module)

    def native_function(self, symbol: str, signature: str) -> Function:
        """Gives a C symbol of a shared library as a packed function, as `native_function("hypot", "f64(f64, f64)")`."""
        made: Function = _native.opd_module_native_function(self, symbol, signature)
        return made

    def get_source(self, fmt: str = "") -> str:
        """The source: a C module's text, a VM program's assembly."""
        return str(_native.opd_module_get_source(self, fmt or None))

    inspect_source = get_source

    def get_write_formats(self) -> list[str]:
        """The formats of `save`, the usual one first."""
        return list(_native.opd_module_list_formats(self))

    def save(self, file_name: _Path, fmt: str = "") -> None:
        """Writes a file of this module alone, without its imports."""
        _native.opd_module_save(self, os.fspath(file_name), fmt or None)

    write_to_file = save

    def export_library(
        self,
        file_name: _Path,
        fcompile: Callable[..., Any] | None = None,
        addons: Iterable[_Path] | None = None,
        workspace_dir: _Path | None = None,
        *,
        cc: str | None = None,
        options: Iterable[str] | None = None,
    ) -> Any:
        """Writes one library of the module and all that it imports: `.so`, or `.tar` of objects.

        `fcompile(target, files, **kwargs)` may link in place of the compiler: it gets the archive's objects. Its result
        is returned.
        """
        arguments = {
            "addons": [os.fspath(a) for a in addons] if addons else None,
            "workspace_dir": os.fspath(workspace_dir) if workspace_dir is not None else None,
            "compiler": cc,
            "c_flags": " ".join(options) if options else None,
        }
        path = os.fspath(file_name)
        if fcompile is None:
            return _native.opd_module_export(self, path, arguments)
        return _export_with(self, path, fcompile, arguments)

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
    ) -> Callable[..., BenchmarkResult]:
        """Makes a function that times `module[func_name]` with its arguments. See `BenchmarkResult`."""
        return evaluator(
            self.get_function(func_name, True),
            dev,
            number,
            repeat,
            min_repeat_ms,
            limit_zero_time_iterations,
            cooldown_interval_ms,
            repeats_to_cooldown,
            cache_flush_bytes,
            f_preproc,
        )

    def describe(self) -> Any:
        """What the module and its imports are, as dicts and lists."""
        return json.loads(_native.opd_module_to_json(self))

    def __repr__(self) -> str:
        return f'<Module "{self.kind}" at {self._address:#x}, functions: {self.function_names()}>'


def _attribute_error(error: Error) -> Error:
    from ._errors import class_of

    made = class_of("AttributeError")(*error.args)
    made._facts = (error.code, "AttributeError", error.native_cause, error.native_backtrace)
    return made


def _export_with(module: Module, path: str, fcompile: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Links with the caller's function: what the library would link is made as an archive of objects first."""
    import tarfile
    import tempfile

    suffix = getattr(fcompile, "object_format", "o")
    if suffix == "tar":
        raise ValueError("fcompile.object_format must be that of objects, as o")
    with tempfile.TemporaryDirectory() as folder:
        archive = os.path.join(folder, "objects.tar")
        _native.opd_module_export(module, archive, arguments)
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
            files = [os.path.join(folder, member.name) for member in tar.getmembers() if member.isfile()]
        return fcompile(path, files)


def _options(fmt: str = "", **more: Any) -> dict[str, Any]:
    return {"format": fmt or None, **more}


def load_module(path: _Path | bytes, fmt: str = "", **options: Any) -> Module:
    """Loads a library, VM executable, C source, object file or archive of them; from a file, or from bytes.

    `options`: copy (0 always, 1 when_shared, 2 never), compiler, c_flags, cache_dir. Raises FileNotFoundError,
    ValueError for bytes that are not what they claim to be.
    """
    if isinstance(path, (bytes, bytearray, memoryview)):
        made: Module = _native.opd_module_load_bytes(path, None, _options(fmt, **options))
    else:
        made = _native.opd_module_load(os.fspath(path), _options(fmt, **options))
    return made


def load_source(source: str, **options: Any) -> Module:
    """Compiles and loads C source; functions named `__tvm_ffi_<name>` are offered as `<name>`."""
    made: Module = _native.opd_module_load_source(source, _options(**options))
    return made


def load_static_library(path: _Path, func_names: Iterable[str]) -> Module:
    """Keeps an object file as it is, to be linked into what the tree is exported to."""
    made: Module = _native.opd_module_load_static_library(os.fspath(path), list(func_names))
    return made


def load_native(path: _Path, functions: Mapping[str, str], **options: Any) -> Module:
    """Loads functions of any C library by their signatures: `load_native("libm.so.6", {"hypot": "f64(f64, f64)"})`."""
    made: Module = _native.opd_module_load_native(os.fspath(path), dict(functions), _options(**options))
    return made


def system_lib(prefix: str = "") -> Module:
    """The functions that are linked into the program and registered themselves at its start."""
    made: Module = _native.opd_module_system_lib(prefix)
    return made


def enabled(target: str) -> bool:
    """Whether this build can run artefacts for a target, as "llvm" or "cuda"."""
    return bool(_native.opd_module_enabled(target))


_native.register_class("Module", Module)
