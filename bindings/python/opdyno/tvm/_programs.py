"""Loads programs that TVM compiled, and registers the functions of TVM's registry that they call."""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._errors import Code
from .._function import Function, get_global_func, list_global_func_names, register_func
from .._module import Module, load_module
from ..vm import Executable
from ._values import error, find_tvm, function_of

lock = threading.RLock()


def load(executable_or_module: Any) -> Module:
    """Loads a program that TVM compiled in this process.

    `executable_or_module`: a result of `tvm.compile`, `tvm.relax.build` or `tvm.tirx.build`. TVM exports it to a
    temporary library, which needs a C++ compiler, like `export_library`. opdyno loads a copy that is bound to opdyno
    itself, and nothing stays on disk. To keep the program as a file, export it by TVM.

    Functions of TVM's registry that the program calls by name, and that opdyno does not have, are also registered in
    opdyno. They replace those of an earlier `load`.

    Raises TypeError for any other object, and ValueError for a module that cannot be exported, such as one that TVM
    loaded from a file.
    """
    tvm = find_tvm()
    module = _module_of(tvm, executable_or_module)
    names: set[str] = set()
    path, stamp = getattr(module, "_opdyno_file", (None, None))  # set by install()
    if path is not None and stamp == stamp_of(path):
        loaded = load_module(path)
        names.update(_names_in([path]))
        _bridge(tvm, loaded, names)
        return loaded
    _check_exportable(module)
    with tempfile.TemporaryDirectory(prefix="opdyno-tvm-") as directory:
        library = os.path.join(directory, "program.so")
        try:
            module.export_library(library, fcompile=_linker(names), workspace_dir=directory)
        except Exception as failure:
            text = f"TVM cannot export this module of kind {module.kind}: {failure}"
            raise error(Code.UNSUPPORTED, "ValueError", text) from failure
        loaded = load_module(library)
    _bridge(tvm, loaded, names)
    return loaded


def _module_of(tvm: Any, value: Any) -> Any:
    module = value.mod if isinstance(value, tvm.runtime.Executable) else value
    if isinstance(module, tvm.runtime.Module):
        return module
    hint = "; compile it first by tvm.compile" if isinstance(value, getattr(tvm, "IRModule", ())) else ""
    text = f"opdyno.tvm.load takes an executable or a runtime module of TVM, not a {type(value).__name__}{hint}"
    raise error(Code.INVALID_ARGUMENT, "TypeError", text)


def _check_exportable(module: Any) -> None:
    """Refuses modules for which TVM's export would fail with a misleading message."""
    waiting, seen = [module], {module}
    while waiting:
        at = waiting.pop()
        if at.kind == "library":
            text = "TVM cannot export a library that it loaded; load the file itself by opdyno.load_module"
            raise error(Code.UNSUPPORTED, "ValueError", text)
        if not (at.is_compilation_exportable() or at.is_binary_serializable()):
            raise error(Code.UNSUPPORTED, "ValueError", f"a module of kind {at.kind} cannot be exported")
        new = [imported for imported in at.imports if imported not in seen]
        waiting += new
        seen.update(new)


def _linker(names: set[str]) -> Callable[..., Any]:
    """Returns TVM's linker with an addition: it also collects the names in the code that it links."""
    link = importlib.import_module("tvm.support.cc").create_shared

    @functools.wraps(link)
    def collect_and_link(target: str, files: Sequence[str], **options: Any) -> Any:
        # In TVM's file names, lib<number> is code, and devc has the embedded modules with their constants.
        names.update(_names_in(file for file in files if os.path.basename(file).startswith("lib")))
        return link(target, files, **options)

    return collect_and_link


def _names_in(files: Iterable[str | os.PathLike[str]]) -> set[str]:
    """Finds all texts in object files or C sources that could be the name of a function. Compiled code looks functions
    up by text."""
    found: set[str] = set()
    for file in files:
        with open(file, "rb") as opened:
            found.update(text.decode() for text in re.findall(rb'(?<![!#-~])[!#-~]++(?=[\0"])', opened.read()))
    return found


def stamp_of(path: str) -> tuple[int, ...] | None:
    """A value that changes if the file is replaced."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _programs_of(module: Module) -> list[Module]:
    """The VM programs in a tree of modules."""
    found = [program for imported in module.imports for program in _programs_of(imported)]
    return [module, *found] if module.kind == "relax.VMExecutable" else found


_bridged: dict[str, Function] = {}


def _bridge(tvm: Any, loaded: Module, names: set[str]) -> None:
    """Registers TVM functions in opdyno: those that programs call, and those whose names are in compiled code.

    A function is registered only if opdyno has none of that name, or one that was registered here.
    """
    texts: set[str] = set()
    for program in _programs_of(loaded):
        parts = Executable(program).describe()
        names = names.union(parts["packed"])
        texts.update(json.loads(one["value"]) for one in parts["constants"] if one["kind"] == "string")
    with lock:
        known = set(list_global_func_names())
        for name in names & set(sys.modules["tvm_ffi"].registry.list_global_func_names()):
            if name in known and get_global_func(name, True) != _bridged.get(name):
                continue  # registered by opdyno or by the user
            _bridged[name] = function_of(tvm, tvm.get_global_func(name))
            register_func(name, _bridged[name], override=True)
        if "vm.builtin.call_py_func" in names:
            _bridge_py_funcs(tvm, texts)


def _bridge_py_funcs(tvm: Any, names: set[str]) -> None:
    """Registers functions for `R.call_py_func`, which finds them by name in a separate registry of TVM."""
    register = get_global_func("vm.builtin.register_py_func")
    for name in names:
        try:
            function = tvm.get_global_func("vm.builtin.get_py_func")(name)
        except Exception:  # the text is not the name of a function; the exception differs between releases
            continue
        if register is not None:
            register(name, function_of(tvm, function))
